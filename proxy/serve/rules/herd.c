/* herd.c - the rules for those who wait together. */
#include "proxy/serve/rules/herd.h"

/* After so many refusals (4xx) in a row the others stop waiting for each other: a page that is
 * refused to everybody must not be a queue. */
enum { REFUSALS_MOST = 8, PATIENCE_LEAST_MS = 1000, PATIENCE_TIMES = 4, PATIENCE_UNPROVEN = 5 };

static bool
is_refusal(const struct herd_facts *f)
{
	return !f->failed && f->status >= 400 && f->status < 500;
}

enum herd_step
herd_decide(const struct herd_facts *f)
{
	bool waited = f->waited_ms >= f->most_ms;
	if (f->shareable && !f->failed)
		return HERD_SHARE;
	if (!f->failed && f->status < 400)
		return HERD_ALONE;
	if (is_refusal(f))
		return waited || f->same || f->met >= REFUSALS_MOST ? HERD_ALONE : HERD_QUEUE;
	if (f->failed && f->status == 0)
		return waited ? HERD_ALONE : HERD_QUEUE;
	return (f->failed && f->blameless) || f->same || waited ? HERD_INHERIT : HERD_QUEUE;
}

int64_t
herd_patience_ms(int64_t usual_ms, bool several, int64_t most_ms)
{
	int64_t believed_ms = several ? most_ms : most_ms / PATIENCE_UNPROVEN;
	int64_t ms = usual_ms ? usual_ms * PATIENCE_TIMES : believed_ms;
	ms = ms < believed_ms ? ms : believed_ms;
	ms = ms > PATIENCE_LEAST_MS ? ms : PATIENCE_LEAST_MS;
	return ms < most_ms ? ms : most_ms;
}

static uint64_t
mix(uint64_t h, const struct twice_seed *seed, struct str s)
{
	return (h ^ twice_key_hash_of(seed, s.p, s.n).lo) * 0x9e3779b97f4a7c15u;
}

uint64_t
herd_blame(const struct twice_seed *seed, const struct request *r, struct str client)
{
	uint64_t h = mix(1, seed, client);
	h = mix(h, seed, r->method_name);
	h = mix(h, seed, r->authority);
	h = mix(h, seed, r->path_query);
	for (unsigned i = 0; i < r->fields.n; i++) {
		h = mix(h, seed, r->fields.v[i].name);
		h = mix(h, seed, r->fields.v[i].value);
	}
	return h | 1;
}

enum passes_kind
herd_pass_kind(const struct request *r)
{
	bool own =
		fields_has(&r->fields, FIELD_COOKIE) || fields_has(&r->fields, FIELD_AUTHORIZATION);
	return own ? PASSES_ALONE_OWN : PASSES_ALONE;
}
