/* tally.h - what each answer counts as: one outcome (answers.h), one verdict (cache/admission/admissions.h),
 * and its bytes.
 *
 * Threads   the worker's own.
 */
#ifndef SERVE_TALLY_H
#define SERVE_TALLY_H

struct txn;

/* Once for each request, when it is over. */
void tally_answer(const struct txn *t);

#endif
