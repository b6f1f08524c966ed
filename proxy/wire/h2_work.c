/* h2_work.c - the requests of a connection, and what lasts of them: what one client may have done at
 * a time. */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/mem.h"

void
h2_work_check(const struct h2_stream *s)
{
	const struct h2 *h2 = s->h2;
	assert(h2->count > 0 && h2->streams && *s->prev == s);
	assert(!s->next || s->next->prev == &s->next);
	assert(h2->lasting.n <= h2->most);
	/* The window of a stream bounds what is not taken (64 KiB), and what was goes in time. */
	assert(s->in.at <= s->in.came.n && s->in.came.n <= H2_BODY_WINDOW);
	assert(s->segment_i <= s->segment_n && s->segment_n <= STREAM_PIECES);
	/* Before its head nothing of an answer was pulled; behind the last byte nothing is owed. */
	assert(s->answering != H2_AWAITED || (s->segment_n == 0 && s->body_sent == 0));
	assert(s->answering != H2_FLOWS || !s->counted || s->left > 0 || s->segment_n == 0);
}

void
h2_work_sweep(struct h2 *h2)
{
	unsigned n = 0;
	size_t held = 0;
	assert(h2->lasting.n <= h2->most);
	for (unsigned i = 0; i < h2->lasting.n; i++)
		if (arena_is_shared(h2->lasting.of[i])) {
			held += arena_held(h2->lasting.of[i]);
			h2->lasting.of[n++] = h2->lasting.of[i];
		} else {
			arena_unref(&h2->lasting.of[i]);
		}
	h2->lasting.n = n;
	h2_held_add(h2, held, h2->lasting.held);
	h2->lasting.held = held;
}

/* A request that a client gave up may go on to be fetched: it counts until that ends, or one
 * connection could cause any number of fetches. */
static void
keep_counting(struct h2 *h2, struct arena *arena)
{
	if (!arena_is_shared(arena) || h2->lasting.n == h2->most) {
		arena_unref(&arena);
		return;
	}
	if (!h2->lasting.of)
		h2->lasting.of = mem_alloc(h2->most * sizeof *h2->lasting.of);
	h2->lasting.of[h2->lasting.n++] = arena;
	h2_held_add(h2, arena_held(arena), 0);
	h2->lasting.held += arena_held(arena);
}

bool
h2_work_is_full(struct h2 *h2)
{
	if (h2->count + h2->lasting.n < h2->most)
		return false;
	h2_work_sweep(h2);
	return h2->count + h2->lasting.n >= h2->most;
}

void
h2_work_add(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	s->next = h2->streams;
	s->prev = &h2->streams;
	if (s->next)
		s->next->prev = &s->next;
	h2->streams = s;
	h2->count++;
}

static void
forget_note(struct h2_stream *s)
{
	struct h2 *h2 = s->h2;
	struct h2_stream **at = &h2->noted;
	while (s->noted && *at != s)
		at = &(*at)->note_next;
	if (!s->noted)
		return;
	*at = s->note_next;
	if (!*at)
		h2->noted_last = at;
}

void
h2_work_done(struct h2_stream *s, enum stream_end how)
{
	struct h2 *h2 = s->h2;
	struct wire *w = h2->conn->wire;
	struct arena *arena = s->arena;
	h2_work_check(s);
	if (s->ctx) {
		conn_enter_serve(w);
		w->o.up->on_done(s->ctx, how, s->body_sent);
		conn_leave_serve(w);
	}
	forget_note(s);
	*s->prev = s->next;
	if (s->next)
		s->next->prev = s->prev;
	assert(h2->count > 0);
	h2->count--;
	h2->answered = true;
	h2_held_begin_more(h2);
	buf_fini(&s->in.came);
	h2_held_add(h2, 0, s->held + h2_send_pulled(s));
	keep_counting(h2, arena);
}
