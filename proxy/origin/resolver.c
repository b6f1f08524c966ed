/* resolver.c - a list of names, each with the time of its next lookup, and threads that take them.
 *
 * A thread that begins a lookup sees to it that another one is there to begin the next, up to a
 * bound: getaddrinfo cannot be cancelled. So each thread is a user of the list, and may outlive the
 * resolver. Those that do not are joined, each by the next one that ends, the last by the resolver:
 * when it is destroyed, nothing of theirs is left, not even what the C library keeps per thread.
 */
#include "proxy/origin/resolver.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/base/network.h"

#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { END_MS = 100 }; /* for lookups that are about to end anyway */

struct lookup {
	struct lookup *next;
	struct addresses *addresses; /* a user of it, beside those who took it */
	int64_t due_ms;
	unsigned failures; /* in a row */
	bool busy, done;   /* it is being looked up; was, once */
};

struct hint {
	struct hint *next;
	char *name;
	unsigned n;
	struct ip at[RESOLVER_HINT_MOST];
};

struct resolver {
	pthread_mutex_t lock; /* all of this */
	pthread_cond_t change;
	resolver_ask_fn *ask;
	int64_t every_ms;
	struct lookup *lookups;
	struct hint *hints;
	unsigned users;		/* threads, and who created it */
	unsigned threads, idle; /* all, and those that wait for something to do */
	unsigned asking;	/* those whose end nobody knows */
	pthread_t ended;	/* the last thread that did, if one waits to be joined */
	bool has_ended;
	bool ending, abandoned; /* no thread is to go on; none is joined any more */
};

/* ---- asking the system ----------------------------------------------------------------------- */

static unsigned
ask_system(const char *name, struct ip out[ADDRESSES_MOST], const char **why)
{
	static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
					      .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *all = NULL;
	unsigned n = 0;
	int error = getaddrinfo(name, NULL, &hints, &all);
	if (error) {
		*why = gai_strerror(error);
		return 0;
	}
	for (struct addrinfo *i = all; i && n < ADDRESSES_MOST; i = i->ai_next)
		if (i->ai_family == AF_INET || i->ai_family == AF_INET6)
			network_of_socket(i->ai_addr, out[n++].bytes);
	freeaddrinfo(all);
	*why = "it has no address";
	return n;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void
say(const struct lookup *l, enum addresses_news news, const struct ip *first, unsigned n)
{
	char text[ADDRESS_HOST_BYTES];
	const char *name = addresses_name(l->addresses);
	addresses_print(first, text);
	if (l->failures)
		log_info("%s can be looked up again", name);
	if (news == ADDRESSES_MOVED && l->done)
		log_info("%s is now at %s%s", name, text, n > 1 ? " and others" : "");
	else if (news != ADDRESSES_SAME)
		log_debug("%s is at %s%s", name, text, n > 1 ? " and others" : "");
}

static void
say_failure(const struct lookup *l, const char *why)
{
	bool known = addresses_is_known(l->addresses);
	if (l->failures == 0)
		log_warning("%s cannot be looked up: %s; %s", addresses_name(l->addresses), why,
			    known ? "its addresses of before are used"
				  : "until it can, requests to it are answered 502, or stale");
}

static int64_t
retry_ms(const struct resolver *r, unsigned failures)
{
	int64_t ms = (int64_t)RESOLVER_FIRST_RETRY_MS << (failures < 16 ? failures : 16);
	return ms < r->every_ms ? ms : r->every_ms;
}

static void
take_result(struct resolver *r, struct lookup *l, const struct ip *found, unsigned n,
	    const char *why)
{
	if (n) {
		say(l, addresses_found(l->addresses, found, n), &found[0], n);
		l->failures = 0;
		l->due_ms = now_ms() + r->every_ms;
	} else {
		say_failure(l, why);
		l->due_ms = now_ms() + retry_ms(r, l->failures++);
	}
	l->busy = false;
	l->done = true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *run(void *arg);

/* Signals are for the thread that waits for them. */
static void
add_thread(struct resolver *r)
{
	pthread_t thread;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->threads++;
	r->users++;
	if (pthread_create(&thread, NULL, run, r) != 0) {
		r->threads--;
		r->users--;
		if (!r->threads)
			log_error("names of origins are not looked up: there is no thread for it");
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Somebody must be there for what is due next. */
static void
provide(struct resolver *r)
{
	bool waits = false;
	for (struct lookup *l = r->lookups; l && !waits; l = l->next)
		waits = !l->busy;
	if (waits && !r->idle && r->threads < RESOLVER_THREADS)
		add_thread(r);
}

static void
free_lookup(struct lookup *l)
{
	addresses_destroy(&l->addresses);
	free(l);
}

static void
free_hint(struct hint *h)
{
	free(h->name);
	free(h);
}

/* Nobody wants them any more. */
static void
drop_unused(struct resolver *r)
{
	for (struct lookup **at = &r->lookups, *l; (l = *at);) {
		if (l->busy || addresses_is_shared(l->addresses)) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		free_lookup(l);
	}
}

/* NULL: none is to come. */
static struct lookup *
find_first(const struct resolver *r)
{
	struct lookup *first = NULL;
	for (struct lookup *l = r->lookups; l; l = l->next)
		if (!l->busy && (!first || l->due_ms < first->due_ms))
			first = l;
	return first;
}

/* With the lock held, but not while it asks. */
static void
look_up(struct resolver *r, struct lookup *l)
{
	struct ip found[ADDRESSES_MOST];
	const char *why = "";
	l->busy = true;
	provide(r);
	r->asking++;
	pthread_mutex_unlock(&r->lock);
	unsigned n = r->ask(addresses_name(l->addresses), found, &why);
	pthread_mutex_lock(&r->lock);
	r->asking--;
	take_result(r, l, found, n, why);
	pthread_cond_broadcast(&r->change);
}

static void
wait_until(struct resolver *r, int64_t at_ms)
{
	int64_t ms = at_ms - now_ms();
	struct timespec until = now_and_ms(ms < 1 ? 1 : ms < 60000 ? (unsigned)ms : 60000);
	r->idle++;
	pthread_cond_timedwait(&r->change, &r->lock, &until);
	r->idle--;
}

/* The last user goes: without the lock, which goes with it. */
static void
leave(struct resolver *r)
{
	bool last = --r->users == 0;
	pthread_cond_broadcast(&r->change);
	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	for (struct lookup *l; (l = r->lookups); free_lookup(l))
		r->lookups = l->next;
	for (struct hint *h; (h = r->hints); free_hint(h))
		r->hints = h->next;
	pthread_cond_destroy(&r->change);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* With the lock held. True: that thread is for whoever called to join, without the lock. */
static bool
take_ended(struct resolver *r, pthread_t *thread)
{
	*thread = r->ended;
	bool has_ended = r->has_ended;
	r->has_ended = false;
	return has_ended;
}

/* A thread's last step, with the lock held. */
static void
end(struct resolver *r)
{
	pthread_t before;
	bool joins = take_ended(r, &before);
	if (r->abandoned) {
		pthread_detach(pthread_self());
	} else {
		r->ended = pthread_self();
		r->has_ended = true;
	}
	r->threads--;
	leave(r);
	if (joins)
		pthread_join(before, NULL);
}

static void *
run(void *arg)
{
	struct resolver *r = arg;
	pthread_setname_np(pthread_self(), "resolver");
	pthread_mutex_lock(&r->lock);
	while (!r->ending) {
		drop_unused(r);
		struct lookup *first = find_first(r);
		if (first && first->due_ms <= now_ms())
			look_up(r, first);
		else if (first || r->idle == 0)
			wait_until(r, first ? first->due_ms : INT64_MAX);
		else
			break; /* one that waits is enough */
	}
	end(r);
	return NULL;
}

/* ---- the calls ------------------------------------------------------------------------------- */

struct resolver *
resolver_create(resolver_ask_fn *ask, int64_t every_ms)
{
	struct resolver *r = NEW(struct resolver);
	clock_condition_init(&r->change);
	pthread_mutex_init(&r->lock, NULL);
	r->ask = ask ? ask : ask_system;
	r->every_ms = every_ms;
	r->users = 1;
	return r;
}

void
resolver_every(struct resolver *r, int64_t every_ms)
{
	pthread_mutex_lock(&r->lock);
	r->every_ms = every_ms;
	for (struct lookup *l = r->lookups; l; l = l->next)
		if (l->due_ms > now_ms() + every_ms)
			l->due_ms = now_ms() + every_ms;
	pthread_cond_broadcast(&r->change);
	pthread_mutex_unlock(&r->lock);
}

void
resolver_hint(struct resolver *r, const char *name, const struct ip *at, unsigned n)
{
	struct hint *h = NEW(struct hint);
	assert(n > 0 && n <= RESOLVER_HINT_MOST);
	h->name = mem_strdup(name);
	h->n = n;
	memcpy(h->at, at, n * sizeof *at);
	pthread_mutex_lock(&r->lock);
	h->next = r->hints;
	r->hints = h;
	pthread_mutex_unlock(&r->lock);
}

static struct lookup *
begin_lookup(struct resolver *r, const char *name)
{
	struct lookup *l = NEW(struct lookup);
	struct hint **at = &r->hints, *h;
	*l = (struct lookup){.next = r->lookups, .addresses = addresses_create(name)};
	while ((h = *at) && strcasecmp(h->name, name) != 0)
		at = &h->next;
	if (h) { /* it is true once: whoever takes the name later looks it up */
		addresses_found(l->addresses, h->at, h->n);
		*at = h->next;
		free_hint(h);
	}
	r->lookups = l;
	return l;
}

struct addresses *
resolver_take(struct resolver *r, const char *name)
{
	pthread_mutex_lock(&r->lock);
	struct lookup *l = r->lookups;
	while (l && strcasecmp(addresses_name(l->addresses), name) != 0)
		l = l->next;
	if (!l)
		l = begin_lookup(r, name);
	struct addresses *taken = addresses_ref(l->addresses);
	provide(r);
	pthread_cond_broadcast(&r->change);
	pthread_mutex_unlock(&r->lock);
	return taken;
}

static bool
all_done(const struct resolver *r)
{
	for (const struct lookup *l = r->lookups; l; l = l->next)
		if (!l->done && !addresses_is_known(l->addresses))
			return false;
	return true;
}

void
resolver_wait(struct resolver *r, int64_t most_ms)
{
	struct timespec until = now_and_ms((unsigned)most_ms);
	pthread_mutex_lock(&r->lock);
	while (r->threads && !all_done(r) &&
	       pthread_cond_timedwait(&r->change, &r->lock, &until) == 0)
		;
	pthread_mutex_unlock(&r->lock);
}

void
resolver_destroy(struct resolver **pr)
{
	struct resolver *r = *pr;
	*pr = NULL;
	if (!r)
		return;
	struct timespec until = now_and_ms(END_MS);
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_broadcast(&r->change);
	while (r->threads && pthread_cond_timedwait(&r->change, &r->lock, &until) == 0)
		;
	while (r->threads > r->asking)
		pthread_cond_wait(&r->change, &r->lock);
	r->abandoned = true;
	pthread_t last;
	bool joins = take_ended(r, &last);
	leave(r);
	if (joins)
		pthread_join(last, NULL);
}
