/* clock.h - the three clocks of the program, read in one place.
 *
 * Policy takes the time as an argument; the owner of an event asks here, once per event.
 *
 * Names     bare (now_s, not clock_now_s), because they are parts of formulas.
 * Threads   any.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Wall clock, unix time: for dates and lifetimes. An event reads it once, so that a second which another
 * thread noted may be ahead of it, by CLOCK_APART_S at most while no clock is set. */
int64_t now_s(void);
enum { CLOCK_APART_S = 2 };
int64_t now_ms(void); /* monotonic, behind by up to a tick of the kernel (4 ms): time limits */
/* Monotonic and exact: durations for the log. Between clock_begin_event and clock_end_event it is
 * read once: a request asks eight times, at tens of nanoseconds each, in three events that take
 * microseconds. */
int64_t now_us(void);
int64_t now_exact_ms(void); /* now_us in milliseconds: where 4 ms too early would be wrong */

/* Around the handling of one event of a loop, on its thread; they do not nest. */
void clock_begin_event(void);
void clock_end_event(void);

/* Adds ms milliseconds to now, for waits on CLOCK_MONOTONIC. */
struct timespec now_and_ms(unsigned ms);
/* A condition whose waits are by that clock; one wait, which may also end for no reason. */
void clock_condition_init(pthread_cond_t *c);
void clock_condition_wait(pthread_cond_t *c, pthread_mutex_t *lock, unsigned ms);

#endif
