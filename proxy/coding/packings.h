/* packings.h - what became of a body that was to be packed, one row each. Included with PACKING defined. */
/* clang-format off */
/*      name          word             meaning */
PACKING(DONE,         "packed",        "it is smaller by a sixteenth or more")
PACKING(NOT_SMALLER,  "not-smaller",   "it is not, or a sample of it was not")
PACKING(TOO_LARGE,    "too-large",     "more than 1 MiB")
PACKING(DIFFERS,      "differs",       "its expansion was not the body: a defect of a library, or of memory")
PACKING(NO_MEMORY,    "no-memory",     "there is no memory; another time it may be well")
/* clang-format on */
