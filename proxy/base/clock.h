/* clock.h - the three clocks of the program, read in one place.
 *
 * Policy takes the time as an argument; who owns an event asks here, once per event.
 *
 * Names     bare (now_s, not clock_now_s), because they stand in formulas.
 * Threads   any.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

int64_t now_s(void);  /* wall clock, unix time: for dates and lifetimes */
int64_t now_ms(void); /* monotonic, behind by up to a tick of the kernel (4 ms): time limits */
int64_t now_us(void); /* monotonic and exact: durations for the log */
int64_t now_exact_ms(void); /* now_us in milliseconds: where 4 ms too early would be wrong */

/* That many milliseconds from now, for waits on CLOCK_MONOTONIC. */
struct timespec now_and_ms(unsigned ms);

#endif
