/* ask.h - asks a cache and waits: what comes by letter is waited for at the asker's mailbox. */
#ifndef KIT_ASK_H
#define KIT_ASK_H

#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/object_read.h"

#include <poll.h>
#include <stddef.h>

static inline void
ask_await(struct mailbox *home, const bool *is_done)
{
	while (!*is_done) {
		struct pollfd p = {home->fd, POLLIN, 0};
		poll(&p, 1, 1000);
		mailbox_run(home, true);
	}
}

struct ask_object {
	struct cache_lookup l;
	struct object *came;
	bool is_done;
};

static inline void
ask_on_object(struct cache_lookup *l, struct object *o)
{
	struct ask_object *a = (struct ask_object *)((char *)l - offsetof(struct ask_object, l));
	a->came = o;
	a->is_done = true;
}

/* Returns the key's object, or NULL; a reference is the caller's. */
static inline struct object *
ask_look_up(struct cache *c, struct mailbox *home, struct twice_key_hash hash, struct str key)
{
	struct ask_object a = {.l = {.home = home, .done = ask_on_object}};
	if (cache_lookup(c, &a.l, hash, key, &a.came) == FOUND_LATER)
		ask_await(home, &a.is_done);
	return a.came;
}

/* A body as it is read: r.p, r.n are its bytes; ended by body_done(&a.r). */
struct ask_body {
	struct body_read r;
	bool is_done;
};

static inline void
ask_on_body(struct body_read *r)
{
	((struct ask_body *)((char *)r - offsetof(struct ask_body, r)))->is_done = true;
}

#define ASK_BODY(from)                                      \
	{                                                   \
		.r = {.home = (from), .done = ask_on_body } \
	}

/* As object_read, but never BODY_LATER. */
static inline enum body_step
ask_read(struct cache *c, struct object *o, struct ask_body *a, uint64_t at, uint64_t most)
{
	for (;;) {
		a->is_done = false;
		enum body_step s = object_read(c, o, &a->r, at, most);
		if (s != BODY_LATER)
			return s;
		ask_await(a->r.home, &a->is_done);
	}
}

#endif
