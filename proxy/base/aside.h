/* aside.h - work that may meet a disk that hangs is done on a thread of its own, or by a process, which is left
 * behind when it stands still.
 *
 * What the kernel holds uses no time of a processor: so it is told from what has much to do. It ends when the disk
 * answers; nothing can wake it before.
 *
 * Threads   each aside belongs to the thread that began it.
 */
#ifndef BASE_ASIDE_H
#define BASE_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aside;

/* run(ctx) begins on a thread. NULL: there is no thread to be had. */
struct aside *aside_begin(void (*run)(void *ctx), void *ctx);
bool aside_is_done(struct aside *a);
/* True: run has returned. False: it has stood still for so long. A pause of the whole process counts little. */
bool aside_wait(struct aside *a, int64_t still_ms);
/* True: run has returned, and ctx is the caller's again. False: drop(ctx) will be called when it has. */
bool aside_end(struct aside **a, void (*drop)(void *ctx));

/* All of that with zeroed memory of its own, in which lies all that run needs and brings. A process does it where
 * this one has no other thread: a thread that hangs would keep this one from ending, and from becoming another user.
 * The process has no descriptors. Where neither can be had it is done here. False: it stands still, and *ctx
 * is gone. */
void *aside_new(size_t bytes);
void aside_free(void **ctx);
bool aside_run(void (*run)(void *ctx), void **ctx, int64_t still_ms);

#endif
