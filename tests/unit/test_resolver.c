/* test_resolver.c - names are looked up on threads, as often as was said, whatever lookups do.
 * rooms: origin http base
 */
#include "proxy/origin/resolver.h"

#include "proxy/base/log.h"
#include "tests/kit/own_clock.h"
#include "tests/kit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { PATIENT_MS = 2 * UNIT_GUARD_S * 1000 }; /* nobody is slow but the machine */

/* Of the name server that is played here. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool open; /* names that begin with "slow" are answered */
	unsigned waiting;
	_Atomic unsigned asked, fails;
	_Atomic unsigned threads, cleaned; /* that ask_and_keep() was called on; that are gone */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void
wait_at_gate(void)
{
	pthread_mutex_lock(&server.lock);
	server.waiting++;
	pthread_cond_broadcast(&server.change);
	while (!server.open)
		pthread_cond_wait(&server.change, &server.lock);
	server.waiting--;
	pthread_mutex_unlock(&server.lock);
}

static void
wait_for_waiting(unsigned n)
{
	pthread_mutex_lock(&server.lock);
	while (server.waiting < n)
		pthread_cond_wait(&server.change, &server.lock);
	pthread_mutex_unlock(&server.lock);
}

static void
open_gate(void)
{
	pthread_mutex_lock(&server.lock);
	server.open = true;
	pthread_cond_broadcast(&server.change);
	pthread_mutex_unlock(&server.lock);
}

static unsigned
ask(const char *name, struct ip out[ADDRESSES_MOST], const char **why)
{
	if (strncmp(name, "slow", 4) == 0)
		wait_at_gate();
	unsigned n = atomic_fetch_add(&server.asked, 1) + 1;
	if (n <= atomic_load(&server.fails)) {
		*why = "as the test wants it";
		return 0;
	}
	memset(&out[0], 0, sizeof out[0]);
	out[0].bytes[15] = (unsigned char)strlen(name);
	return 1;
}

static pthread_key_t kept;

/* Called when a thread has ended its work, and before it is gone. */
static void
clean_slowly(void *what)
{
	static const struct timespec pause = {.tv_nsec = 20000000};
	(void)what;
	nanosleep(&pause, NULL);
	atomic_fetch_add(&server.cleaned, 1);
}

/* Keeps something for each thread, as the C library does. */
static unsigned
ask_and_keep(const char *name, struct ip out[ADDRESSES_MOST], const char **why)
{
	if (!pthread_getspecific(kept)) {
		pthread_setspecific(kept, &server);
		atomic_fetch_add(&server.threads, 1);
	}
	return ask(name, out, why);
}

static void
until_asked(unsigned n)
{
	unit_wait_until(atomic_load(&server.asked) >= n);
}

START_TEST(a_name_has_one_list_for_all)
{
	struct resolver *r = resolver_create(ask, 60000);
	struct addresses *a = resolver_take(r, "a.example"), *b = resolver_take(r, "A.Example"),
			 *c = resolver_take(r, "c.example");
	ck_assert_ptr_eq(a, b);
	ck_assert_ptr_ne(a, c);
	resolver_wait(r, PATIENT_MS);
	ck_assert(addresses_is_known(a) && addresses_is_known(c));
	ck_assert_uint_eq(atomic_load(&server.asked), 2);
	addresses_destroy(&a);
	addresses_destroy(&b);
	addresses_destroy(&c);
	resolver_destroy(&r);
}
END_TEST

START_TEST(it_is_looked_up_again_and_again)
{
	struct resolver *r = resolver_create(ask, 60000);
	struct addresses *a = resolver_take(r, "a.example");
	resolver_wait(r, PATIENT_MS);
	resolver_every(r, 10); /* what is due later comes sooner then */
	until_asked(4);
	addresses_destroy(&a);
	resolver_destroy(&r);
}
END_TEST

START_TEST(a_failure_is_tried_again_soon_and_keeps_what_was_known)
{
	log_set_level(LOG_ERROR);
	atomic_store(&server.fails, 1);
	own_clock_hold();
	struct resolver *r = resolver_create(ask, 60000);
	struct addresses *a = resolver_take(r, "a.example");
	resolver_wait(r, PATIENT_MS);
	ck_assert(!addresses_is_known(a));
	ck_assert_uint_eq(atomic_load(&server.asked), 1);
	own_clock_pass_ms(RESOLVER_FIRST_RETRY_MS); /* a second, not a minute */
	until_asked(2);
	unit_wait_until(addresses_is_known(a));
	atomic_store(&server.fails, 4);
	resolver_every(r, 10);
	unit_wait_until((own_clock_pass_ms(10), atomic_load(&server.asked) >= 4));
	ck_assert(addresses_is_known(a));
	addresses_destroy(&a);
	resolver_destroy(&r);
}
END_TEST

START_TEST(a_lookup_that_hangs_stops_no_other_and_no_end)
{
	char name[] = "slow-0";
	struct resolver *r = resolver_create(ask, 60000);
	struct addresses *slow[RESOLVER_THREADS - 1];
	for (int i = 0; i < COUNT(slow); i++) {
		name[5] = (char)('0' + i);
		slow[i] = resolver_take(r, name);
	}
	wait_for_waiting(COUNT(slow));
	struct addresses *a = resolver_take(r, "a.example");
	until_asked(1);
	unit_wait_until(addresses_is_known(a));
	resolver_wait(r, 10); /* not all are done */
	for (int i = 0; i < COUNT(slow); i++) {
		ck_assert(!addresses_is_known(slow[i]));
		addresses_destroy(&slow[i]);
	}
	addresses_destroy(&a);
	resolver_destroy(&r); /* threads hang on, and clean up when they can */
	open_gate();
	until_asked(1 + COUNT(slow));
}
END_TEST

START_TEST(its_threads_are_gone_when_it_is_destroyed)
{
	pthread_key_create(&kept, clean_slowly);
	struct resolver *r = resolver_create(ask_and_keep, 60000);
	struct addresses *slow[] = {resolver_take(r, "slow-0"), resolver_take(r, "slow-1"),
				    resolver_take(r, "slow-2")};
	wait_for_waiting(COUNT(slow));
	open_gate();
	resolver_wait(r, PATIENT_MS);
	for (int i = 0; i < COUNT(slow); i++)
		addresses_destroy(&slow[i]);
	resolver_destroy(&r);
	ck_assert_uint_eq(atomic_load(&server.threads), COUNT(slow));
	ck_assert_uint_eq(atomic_load(&server.cleaned), COUNT(slow));
	pthread_key_delete(kept);
}
END_TEST

START_TEST(what_nobody_wants_is_not_looked_up)
{
	struct resolver *r = resolver_create(ask, 10);
	struct addresses *a = resolver_take(r, "a.example"), *b = resolver_take(r, "b.example");
	resolver_wait(r, PATIENT_MS);
	addresses_destroy(&a);
	addresses_destroy(&b);
	b = resolver_take(r, "b.example");
	until_asked(5);
	addresses_destroy(&b);
	resolver_destroy(&r);
}
END_TEST

UNIT("resolver", TEST(a_name_has_one_list_for_all), TEST(it_is_looked_up_again_and_again),
     TEST(a_failure_is_tried_again_soon_and_keeps_what_was_known),
     TEST(a_lookup_that_hangs_stops_no_other_and_no_end),
     TEST(its_threads_are_gone_when_it_is_destroyed), TEST(what_nobody_wants_is_not_looked_up))
