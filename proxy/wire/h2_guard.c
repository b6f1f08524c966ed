/* h2_guard.c - what a client may cost without asking for anything.
 *
 * Two buckets of a connection empty by what is in vain: one by requests that fail or are given up
 * (rapid reset, and the resets that a client makes us send), one by frames that bring nothing
 * (SETTINGS, PING, PRIORITY_UPDATE, WINDOW_UPDATE, empty DATA, unknown ones). Time fills both, a tenth
 * a second; bytes that go either way fill the second, as an honest client's window updates go with
 * them, and so does each message of an origin, however small: its client may answer it with frames. An
 * empty bucket ends the connection.
 */
#include "proxy/wire/h2_stream.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"

/* FORGIVEN: bytes that make up for one frame. UNKNOWN_BYTES: of frames of an unknown kind that count
 * for one. TOLD_MS: between two lines about a client. */
enum { UNIT = 1000, FORGIVEN = 1 << 10, UNKNOWN_BYTES = 16, TOLD_MS = 60000 };

/* False: it was empty. */
static bool
take(struct h2_bucket *b, unsigned size)
{
	int64_t now = now_ms();
	uint64_t most = (uint64_t)size * UNIT;
	/* a tenth of size in a second, in thousandths: size / 10 in a millisecond */
	b->left += (uint64_t)(now - b->filled_ms) * size / 10;
	b->filled_ms = now;
	if (b->left > most)
		b->left = most;
	if (b->left < UNIT)
		return false;
	b->left -= UNIT;
	return true;
}

void
h2_guard_init(struct h2 *h2)
{
	const struct wire_limits *l = &h2->conn->wire->o.limits;
	h2->resets = (struct h2_bucket){now_ms(), (uint64_t)l->h2_resets * UNIT};
	h2->frames = (struct h2_bucket){now_ms(), (uint64_t)l->h2_frames * UNIT};
}

void
h2_guard_reset(struct h2 *h2)
{
	if (!h2->abuse && !take(&h2->resets, h2->conn->wire->o.limits.h2_resets))
		h2->abuse = H2_RESETS;
}

void
h2_guard_frame(struct h2 *h2)
{
	h2->frames.left += h2->useful / FORGIVEN * UNIT;
	h2->useful %= FORGIVEN;
	if (!h2->abuse && !take(&h2->frames, h2->conn->wire->o.limits.h2_frames))
		h2->abuse = H2_FRAMES;
}

void
h2_guard_late(struct h2 *h2, int32_t bytes)
{
	h2->late += bytes > 0 ? bytes : 0;
}

/* libnghttp2 says nothing of frames whose kind it does not know (the shortest has nine bytes), nor of
 * DATA for a stream that is over. Its client could not know that yet, as far as its window went. */
void
h2_guard_unknown(struct h2 *h2)
{
	int64_t late = h2->unknown < h2->late ? h2->unknown : h2->late;
	if (late > 0) {
		h2->unknown -= late;
		h2->late -= late;
	}
	for (; h2->unknown > UNKNOWN_BYTES; h2->unknown -= UNKNOWN_BYTES)
		h2_guard_frame(h2);
}

void
h2_guard_useful(struct h2 *h2, size_t n)
{
	h2->useful += n;
}

void
h2_guard_tell(struct h2 *h2)
{
	static const struct {
		enum metric counter;
		const char *why;
	} kinds[] = {
		[H2_FINE] = {METRIC_H2_ENDED_ERRORS, "broke the protocol"},
		[H2_RESETS] = {METRIC_H2_ENDED_RESETS, "more requests failed than http2.resets"},
		[H2_FRAMES] = {METRIC_H2_ENDED_FRAMES, "more empty frames than http2.frames"},
		[H2_HEADERS] = {METRIC_H2_ENDED_HEADERS, "a head far over limits.head"},
		[H2_MEMORY] = {METRIC_H2_ENDED_MEMORY,
			       "it held most when http2.memory was used up"},
	};
	struct conn *c = h2->conn;
	struct h2_shared *shared = c->wire->h2;
	char peer[STREAM_PEER_BYTES];
	uint64_t who = 1469598103934665603u;
	metrics_add(c->wire->o.metrics, kinds[h2->abuse].counter, 1);
	if (h2->abuse == H2_FINE)
		return;
	conn_peer(c, peer);
	for (const char *p = peer; *p; p++)
		who = (who ^ (unsigned char)*p) * 1099511628211u;
	size_t i = who % (sizeof shared->told / sizeof shared->told[0]);
	int64_t now = now_ms();
	if (shared->told[i].who == who && now - shared->told[i].ms < TOLD_MS)
		return;
	shared->told[i].who = who;
	shared->told[i].ms = now;
	log_warning("an HTTP/2 connection of %s was ended: %s", peer, kinds[h2->abuse].why);
}
