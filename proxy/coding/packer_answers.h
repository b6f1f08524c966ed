/* packer_answers.h - what the packer says to a job, one row each. Included with ANSWER defined. */
/* clang-format off */
/*     name       meaning */
ANSWER(TAKEN,     "it will be run")
ANSWER(FULL,      "64 jobs, or 16 MiB, wait")
ANSWER(NO_BUDGET, "its share of a core is spent")
ANSWER(BUSY,      "somebody else was at the queue, and nobody waits for it")
/* clang-format on */
