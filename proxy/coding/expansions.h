/* expansions.h - how an expansion is, one row each. Included with EXPANSION defined. All from BOMB on are faults. */
/* clang-format off */
/*        name          word             meaning */
EXPANSION(MORE,         "more",          "all that came is expanded; more is to come, or the end")
EXPANSION(FULL,         "full",          "the room is full; there may be more bytes for another one")
EXPANSION(DONE,         "done",          "the body ended where its coding says")
EXPANSION(BOMB,         "bomb",          "more than 64 KiB, and more than 20 times what came")
EXPANSION(TOO_LARGE,    "too-large",     "more bytes than the caller takes, or a window over 8 MiB")
EXPANSION(CUT,          "cut",           "the body ended before its coding says so")
EXPANSION(TRAILING,     "trailing",      "bytes behind the end that the coding says")
EXPANSION(WRONG_CODING, "wrong-coding",  "it does not begin as that coding does")
EXPANSION(CORRUPT,      "corrupt",       "no decoder makes anything of it, or a checksum is wrong")
EXPANSION(NO_MEMORY,    "no-memory",     "there is no memory; another time it may be well")
/* clang-format on */
