/* clock.h - the test's own clock, by which the proxies live: held, advanced, sped up.
 *
 *	clock_hold();			before edge_start: their time stands still from there on
 *	edge_start();
 *	clock_advance(1000);		a second has passed, for them alone
 *
 * The proxies stay the real binary: a library is loaded before the C library (preload/clock.c), and
 * takes the place of its clocks and of its waits that have a limit. The proxies beside, restarts and
 * upgrades live by the same clock. Other programs (`twice reload`) and the test itself live by the
 * machine's, and the origin dates its answers by the proxies'.
 *
 * A pause of up to a tenth of a second by nanosleep or poll is no time but a turn given to others: it
 * takes the machine's. Everything else that a limit of time ends waits for the test.
 *
 * While the kit waits for a proxy to end (edge_stop, edge_restart, edge_becomes, edge_wait_exit, and the
 * end of the scenario), a clock runs as the machine's does, held or sped up before: an end takes some time, and has a limit.
 *
 * Units     milliseconds, of CLOCK_MONOTONIC as the proxies see it; clock_s: unix time in seconds.
 * Errors    all but clock_ms and clock_s fail the scenario when the first of them comes after a proxy
 *           began: that one lives by the machine's clock.
 */
#ifndef KIT_CLOCK_H
#define KIT_CLOCK_H

#include <stdint.h>

/* Time stands still, at the beginning of a second of the clock on the wall (the next, where it ran). */
void clock_hold(void);
/* Waits until each thread of a proxy waits: what the test sent has been read, what was due is done. */
void clock_settle(void);
/* Settles, lets ms pass, and settles again: threads that were due have woken and done their work. */
void clock_advance(int64_t ms);
/* It runs, `times` as fast as the machine's. */
void clock_run(unsigned times);
int64_t clock_ms(void);
int64_t clock_s(void);

#endif
