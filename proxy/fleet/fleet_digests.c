/* fleet_digests.c - what is on this node's disk is told to nodes of other zones, and theirs is heard.
 *
 * A sibling says in its state which digest it has. Where that is another one than was read last, its parts are asked
 * for, of a few siblings at a time.
 */
#include "proxy/fleet/fleet_inside.h"

#include "filter/family/digest.h"
#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/digest_parts.h"

#include <stdlib.h>

enum { LIMIT_MS = 2000, PAUSE_MS = 5000, WRONG_PAUSE_MS = 60000, AT_ONCE = 4 };

struct digest_reader {
	struct fleet *of;
	struct peer *peer;
	struct peer_question asked;
	struct digest_parts parts;
	char target[DIGEST_PARTS_TARGET];
	uint64_t told, read; /* numbers: as its state says, and of the one that was read */
	int64_t due_ms;
	bool reads, said; /* said: that its digest is none */
};

/* ---- of this node -------------------------------------------------------------------------- */

bool
fleet_has_zones(struct fleet *f)
{
	pthread_mutex_lock(&f->lock);
	bool yes = f->state.zones > 1;
	pthread_mutex_unlock(&f->lock);
	return yes;
}

void
fleet_put_digest(struct fleet *f, const struct twice_digest *d, uint64_t number)
{
	struct buf bytes = {0};
	if (d)
		digest_parts_save(d, &bytes);
	if (bytes.n > DIGEST_PARTS_MOST)
		buf_fini(&bytes);
	pthread_mutex_lock(&f->lock);
	struct buf before = f->digests.own;
	f->digests.own = bytes;
	f->digests.made = bytes.n ? number : 0;
	pthread_mutex_unlock(&f->lock);
	buf_fini(&before);
}

uint64_t
fleet_digest_number(struct fleet *f)
{
	pthread_mutex_lock(&f->lock);
	uint64_t number = f->digests.made;
	pthread_mutex_unlock(&f->lock);
	return number;
}

bool
fleet_answer_digest(struct fleet *f, struct str target, struct buf *out)
{
	uint64_t made, at;
	if (!digest_parts_asked(target, &made, &at))
		return false;
	pthread_mutex_lock(&f->lock);
	digest_parts_answer(buf_str(&f->digests.own), f->digests.made, made, at, out);
	f->digests.facts.told += out->n;
	pthread_mutex_unlock(&f->lock);
	return true;
}

/* ---- of a sibling -------------------------------------------------------------------------- */

static void
set_reading(struct digest_reader *r, bool reads)
{
	r->of->digests.reading += (unsigned)reads - (unsigned)r->reads;
	r->reads = reads;
}

static void
ask(struct digest_reader *r)
{
	digest_parts_target(&r->parts, r->target);
	peer_ask(r->peer, &r->asked, r->target, STR(""), LIMIT_MS);
}

static void
give_up(struct digest_reader *r, const char *why, bool wrong)
{
	struct sibling *s = peer_sibling(r->peer);
	struct fleet_digests *d = &r->of->digests;
	digest_parts_fini(&r->parts);
	set_reading(r, false);
	d->facts.failed++;
	d->facts.wrong += wrong;
	r->due_ms = now_ms() + (wrong ? WRONG_PAUSE_MS : PAUSE_MS);
	if (wrong)
		replica_put(&s->replica, NULL, 0);
	if (wrong && !r->said)
		log_warning("fleet: what %s (%s) says it has on its disk is ignored: %s", s->m.name,
			    s->m.address, why);
	r->said = r->said || wrong;
}

static void
finish(struct digest_reader *r)
{
	struct fleet_digests *d = &r->of->digests;
	const char *why;
	uint64_t number = r->parts.made;
	struct twice_digest *digest = digest_parts_load(&r->parts, &why);
	if (!digest) {
		give_up(r, why, true);
		return;
	}
	set_reading(r, false);
	d->facts.heard++;
	r->read = number;
	r->said = false;
	replica_put(&peer_sibling(r->peer)->replica, digest, now_ms());
}

static void
on_answer(void *ctx, const struct str *content, const char *why)
{
	struct digest_reader *r = ctx;
	if (!content) {
		give_up(r, why, false);
		return;
	}
	switch (digest_parts_take(&r->parts, *content)) {
	case DIGEST_PARTS_MORE:
		ask(r);
		return;
	case DIGEST_PARTS_WHOLE:
		finish(r);
		return;
	case DIGEST_PARTS_NONE:
		give_up(r, "it has none now", false);
		return;
	case DIGEST_PARTS_WRONG:
		give_up(r, "it is no part of one, or of more than 32 MiB", true);
		return;
	}
}

/* ---- all of them --------------------------------------------------------------------------- */

static struct digest_reader *
open_reader(struct fleet *f, struct sibling *s)
{
	struct digest_reader *r = NEW(struct digest_reader);
	*r = (struct digest_reader){.of = f, .asked = {.on_answer = on_answer, .ctx = r}};
	r->peer = peer_open(f->peers, s, LIMIT_MS, 1);
	return r;
}

static void
close_reader(struct digest_reader *r)
{
	set_reading(r, false);
	peer_question_fini(&r->asked);
	digest_parts_fini(&r->parts);
	peer_close(&r->peer);
	free(r);
}

static struct digest_reader *
reader_of(const struct fleet_digests *d, const struct sibling *s)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->of[i] && peer_sibling(d->of[i]->peer) == s)
			return d->of[i];
	return NULL;
}

static void
take_out(struct fleet_digests *d, const struct digest_reader *r)
{
	for (unsigned i = 0; i < d->n; i++)
		if (d->of[i] == r)
			d->of[i] = NULL;
}

void
fleet_digests_settle(struct fleet *f)
{
	struct fleet_digests *d = &f->digests;
	struct digest_reader **of = mem_zalloc((f->roster.n + 1) * sizeof(struct digest_reader *));
	unsigned n = 0;
	for (unsigned i = 0; i < f->roster.n; i++) {
		struct sibling *s = f->siblings[i];
		struct digest_reader *r = reader_of(d, s);
		if (s->is_self || member_is_near(&s->m, &f->me))
			continue;
		of[n++] = r ? r : open_reader(f, s);
		take_out(d, r);
	}
	for (unsigned i = 0; i < d->n; i++)
		if (d->of[i])
			close_reader(d->of[i]);
	free(d->of);
	d->of = of;
	d->n = n;
}

void
fleet_digests_hear_state(struct fleet *f, const struct sibling *s, uint64_t number)
{
	struct digest_reader *r = reader_of(&f->digests, s);
	if (r)
		r->told = number;
}

static void
show(struct fleet *f, int64_t now)
{
	struct fleet_digests *d = &f->digests;
	d->facts.held = d->facts.bytes = 0;
	for (unsigned i = 0; i < d->n; i++) {
		uint64_t bytes;
		d->facts.held += replica_look(&peer_sibling(d->of[i]->peer)->replica, now, &bytes);
		d->facts.bytes += bytes;
	}
}

void
fleet_digests_turn(struct fleet *f, int64_t now)
{
	struct fleet_digests *d = &f->digests;
	for (unsigned i = 0; i < d->n; i++) {
		struct digest_reader *r = d->of[i];
		peer_turn(&r->asked, now);
		if (r->reads || d->reading == AT_ONCE || now < r->due_ms || !r->told ||
		    r->told == r->read || !peer_is_usable(r->peer))
			continue;
		set_reading(r, true);
		ask(r);
	}
	show(f, now);
}

void
fleet_digests_close(struct fleet *f)
{
	struct fleet_digests *d = &f->digests;
	for (unsigned i = 0; i < d->n; i++)
		close_reader(d->of[i]);
	free(d->of);
	d->of = NULL;
	d->n = 0;
	buf_fini(&d->own);
}
