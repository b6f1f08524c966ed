/* kit.h - the words scenarios are written in: the real proxy, a scripted origin, strict clients.
 *
 *	#include "tests/kit/kit.h"
 *
 *	SCENARIO("two misses for one key are one fetch")
 *	{
 *		struct barrier *go = barrier_new();
 *		origin_says("/x", .body = "hello", .hold_head = go);
 *		edge_start();
 *		struct call *a = call_get("/x"), *b = call_get("/x");
 *		edge_wait_requests(2);
 *		barrier_open(go);
 *		call_expect(a, 200, "hello");
 *		call_expect(b, 200, "hello");
 *		origin_expect_requests(1);
 *	}
 *
 * Each scenario runs in a process of its own, in an empty temporary directory, with a guard against hangs.
 * All that it started (proxy, origin, clients) is ended when it ends, and the proxy must end well.
 * A word that says "expect" ends the scenario with what was expected, what came, and the proxy's
 * stderr. No sleeps: a scenario waits for barriers and for the proxy's own numbers.
 *
 * Memory    nothing is freed; the process ends.
 * Threads   every word may be used from any thread, unless it says otherwise.
 * Environment: TWICE (the binary, build/twice), KIT_TIME (a factor for the guards),
 *           KIT_KEEP (keeps the temporary directories), KIT_ONLY (runs scenarios whose sentence
 *           contains this), KIT_TLS (proxies and clients speak TLS: tls.h), KIT_H2 (asks by HTTP/2
 *           where it can: h2.h), TWICE_LONG (the long form of kill9, idle and the like).
 */
#ifndef KIT_KIT_H
#define KIT_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kit/client.h"
#include "tests/kit/clock.h"
#include "tests/kit/edge.h"
#include "tests/kit/h2.h"
#include "tests/kit/origin.h"

/* ---- scenarios ----------------------------------------------------------------------------- */

/* Each has a guard of a minute of the machine's time, times KIT_TIME; SCENARIO_IN: a longer one, for what
 * works that long. It tells a hang from work, and is no verdict: what waits a minute for nothing is wrong,
 * and a pause of the machine is over by then. The time of a processor would not do: who waits takes none. */
#define SCENARIO(says)		   SCENARIO_AT(says, 60, __LINE__)
#define SCENARIO_IN(seconds, says) SCENARIO_AT(says, seconds, __LINE__)
#define SCENARIO_AT(says, s, line) SCENARIO_AT2(says, s, line)
#define SCENARIO_AT2(says, s, line)                                          \
	static void scenario_##line(void);                                   \
	__attribute__((constructor)) static void scenario_##line##_row(void) \
	{                                                                    \
		kit_add(says, s, __FILE__, line, scenario_##line);           \
	}                                                                    \
	static void scenario_##line(void)

void kit_add(const char *says, int seconds, const char *file, int line, void (*run)(void));

/* ---- saying what should be ------------------------------------------------------------------ */

#define expect(cond)		       ((cond) ? (void)0 : kit_fail(__FILE__, __LINE__, "expected: %s", #cond))
#define expect_that(cond, ...)	       ((cond) ? (void)0 : kit_fail(__FILE__, __LINE__, __VA_ARGS__))
#define expect_int(got, want)	       kit_expect_int(__FILE__, __LINE__, #got, got, want)
#define expect_text(got, want)	       kit_expect_text(__FILE__, __LINE__, #got, got, want)
#define expect_between(got, low, high) kit_expect_between(__FILE__, __LINE__, #got, got, low, high)
#define fail(...)		       kit_fail(__FILE__, __LINE__, __VA_ARGS__)

_Noreturn void
kit_fail(const char *file, int line, const char *says, ...) __attribute__((format(printf, 3, 4)));
void kit_expect_int(const char *file, int line, const char *what, long long got, long long want);
void
kit_expect_text(const char *file, int line, const char *what, const char *got, const char *want);
void kit_expect_between(const char *file, int line, const char *what, double got, double low,
			double high);
/* Ends the scenario as not run, with the reason; it counts neither way. */
_Noreturn void skip(const char *why, ...) __attribute__((format(printf, 1, 2)));
/* The scenario has no meaning, or another one, by TLS (KIT_TLS): it is not run then. Why: its URLs
 * begin with http://, it holds the socket in its own hands, it counts bytes of memory. */
void by_http_only(void);
/* Whether it runs by TLS that the kernel may encrypt (KIT_TLS=kernel): tls.kernel is auto then. */
bool by_kernel(void);
/* The same by HTTP/2 (KIT_H2): it is about chunks, Connection, the case of names, crumbs of cookies. */
void by_h1_only(void);
/* A line shown under the scenario's result whether it passes or fails. */
void note(const char *says, ...) __attribute__((format(printf, 1, 2)));

/* ---- waiting without sleeping --------------------------------------------------------------- */

struct barrier;
struct barrier *barrier_new(void);
void barrier_open(struct barrier *b);		 /* for everybody, for good */
void barrier_pass(struct barrier *b);		 /* waits until it is open */
void barrier_arrivals(struct barrier *b, int n); /* waits until n threads wait at it */

/* Evaluates cond again and again until it is true, however long that takes: nothing that is waited for
 * has a limit of its own. A scenario that hangs is ended by its guard, which tells what each of its
 * threads waits for. */
#define wait_until(cond)                                                                \
	for (struct kit_wait kit_w = kit_wait_begin(__FILE__, __LINE__, #cond);         \
	     !(cond) || (kit_wait_end(&kit_w), false); kit_pause_since(kit_w.begun_ms)) \
	kit_wait_goes_on(&kit_w)
enum { KIT_FOREVER = -1 }; /* as a limit in milliseconds */
int64_t kit_now_ms(void);
int64_t
kit_seconds_since(int64_t begun_ms); /* the most that Age or a ttl may have moved by since */
void kit_pause(void);		     /* 2 ms */
/* The longer it was waited already, the longer: to ask costs the others time. */
void kit_pause_since(int64_t begun_ms);

/* ---- odds and ends ------------------------------------------------------------------------- */

const char *kit_dir(void); /* this scenario's temporary directory */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool kit_long(void); /* TWICE_LONG is set */
/* Bytes that tell their own place: any piece of them shows whether it is the right one. */
void pattern_fill(char *p, size_t n, uint64_t seed, uint64_t at);
char *pattern(uint64_t seed, size_t n);
/* n bytes of it from at on? Takes no memory for that. */
bool is_pattern(const void *p, uint64_t seed, uint64_t at, size_t n);

struct output {
	int status; /* exit status, or -signal */
	char *out, *err;
	size_t out_bytes;
};
/* Runs a program found on PATH; its output is kept. */
struct output run_program(const char *const *argv);
#define program(...) run_program((const char *const[]){__VA_ARGS__, NULL})
/* Bytes that were sent from that port of this machine and are not taken: their readers have no room for them. */
uint64_t kit_not_taken(unsigned port);
/* How many sockets of this machine have asked that address for a connection, and hear nothing. */
int kit_connects_in_vain(const char *address, unsigned port);
void needs(const char *program); /* skips the scenario when it is not installed */

/* Last: it has the compiler tell where the words above are said. */
#include "tests/kit/place.h"

#endif
