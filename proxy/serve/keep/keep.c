/* keep.c - what stays of an origin's answer: is it storable, was its URL seen before, under which
 * key does it lie, what does it replace, and when does it count?
 */
#include "proxy/serve/keep/keep_inside.h"

#include "config/config.h"
#include "filter/hash_equal.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_variants.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/serve/agree.h"
#include "proxy/serve/bill.h"
#include "proxy/serve/packing.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/http/head.h"
#include "proxy/serve/rules/passes.h"

#include <assert.h>

enum { PASSES_REMEMBER_S = 60, ERRORS_REMEMBER_S = 10 };

/* To RAM alone first, if it is to be packed, and RAM has room. */
static struct object_write *
begin(struct fill *f, struct write_options *o)
{
	struct cache *c = f->serve->shelves->cache;
	if (!o->disk || !packing_is_meant(f->serve, &f->terms, o->body_bytes))
		return cache_write_begin(c, o);
	o->disk = false;
	struct object_write *w = cache_write_begin(c, o);
	f->claims.packs = cache_write_is_alive(w);
	if (f->claims.packs)
		return w;
	cache_write_abandon(&w);
	o->disk = true;
	return cache_write_begin(c, o);
}

static void
begin_write(struct fill *f, const struct flight_head *h)
{
	struct key *key = &f->serve->stored_key;
	keep_key(f, h, key);
	f->filed.hash = key->hash;
	f->filed.key_bytes = key->text.n;
	f->filed.head_bytes = h->head.n;
	f->filed.validator = bill_validator(buf_str(&h->head), &f->terms);
	struct write_options o = {
		.hash = key->hash,
		.key = buf_str(&key->text),
		.head = buf_str(&h->head),
		.tags = buf_str(&f->tags),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_RESPONSE,
		.body_bytes = f->in.stores,
		.disk = f->sighting.writes,
		.written = &f->claims.written,
	};
	if (!f->asked.cold && keep_takes_turn(f))
		f->in.write = begin(f, &o);
	if (f->in.write && o.disk)
		keep_set_aside(f, f->in.stores);
	keep_watch(f);
	if (key->text.cap > FILL_KEY_BYTES)
		key_fini(key);
}

/* The stored object is as good as this error, by RFC 5861 4: it stays, for those who come next too.
 */
static bool
stands_in(const struct fill *f, int status, int64_t now)
{
	static const struct request plain;
	static const struct request_cc nothing;
	return f->object && f->kind == FILL_VALIDATE && policy_is_trouble(status) &&
	       policy_reuse(&f->object->terms, &plain, &nothing, now).stale_on_error;
}

/* A client that wants no copy is answered for itself alone. */
static bool
wants_no_copy(const struct fill *f)
{
	struct request_cc cc;
	request_cc_parse(&f->rq.fields, &cc);
	return cc.no_cache;
}

static bool
would_answer(const struct terms *t, int64_t now)
{
	static const struct request plain;
	static const struct request_cc nothing;
	return policy_reuse(t, &plain, &nothing, now).reuse == REUSE_FRESH;
}

/* An error that nobody waited for ends nothing: the origin may be well again when the next ones come, and
 * they need one fetch. Those who waited for one go all at once, and so do who comes in these seconds. */
static bool
holds_up_others(const struct fill *f, const struct news_facts *news)
{
	return news->status < 400 || flight_readers(f->flight) > 1 ||
	       passes_has(f->serve->shelves->passes, herd_pass_kind(&f->rq), f->key.hash, now_s());
}

/* Would another request be answered with this as it is? Else, where that is the answer's own word,
 * the next ones fetch in parallel for a while. That it took longer to come than it is fresh is not:
 * one client's fields may be why, or an origin under load, which needs no herd. */
void
keep_sharing(struct fill *f, const struct news_facts *news)
{
	struct passes *p = f->serve->shelves->passes;
	int64_t now = now_s(), waited_s = now > f->request_time ? now - f->request_time : 0;
	int64_t remember_s = news->status < 400 ? PASSES_REMEMBER_S : ERRORS_REMEMBER_S;
	bool keeps = f->keeps == KEEPS_ANSWER || (f->keeps == KEEPS_SLICES && !f->as_it_came);
	struct terms waited = terms_for_waiting(&f->terms, waited_s);
	if (keeps && would_answer(&waited, now)) {
		passes_forget(p, herd_pass_kind(&f->rq), f->key.hash);
		if (!would_answer(&f->terms, now)) /* for who waited, and nobody who comes now */
			flights_close(f->flight);
		return;
	}
	flights_close(f->flight);
	if (news_ends_sharing(news) && !wants_no_copy(f) && holds_up_others(f, news))
		passes_remember(p, herd_pass_kind(&f->rq), f->key.hash, now + remember_s);
}

/* names: under which it is filed. */
static enum storable
judge(struct fill *f, const struct response *rs, int64_t now, struct buf *names)
{
	enum storable storable = keep_judge(f, rs, false, now);
	if (!storable_is_yes(storable))
		return storable;
	if (rs->status == 200 && fields_has(&rs->fields, FIELD_CONTENT_RANGE))
		return STORABLE_RANGE; /* a part, by whatever it was asked for */
	return keep_file(f, rs, names);
}

/* The answer is not kept. Of one to HEAD it is said whether one to GET might be, and why not. */
static void
keep_none(struct fill *f, const struct response *rs, const struct news_facts *news, int64_t now,
	  struct flight_head *h)
{
	bool head = f->rq.method == METHOD_HEAD;
	enum storable why = head ? keep_judge_as_get(f, rs, now) : news->storable;
	bool might = head && storable_is_yes(why), elsewhere = backend_is_elsewhere(&f->backend);
	f->sighting = (struct sighting){.verdict = elsewhere ? ADMISSION_ELSEWHERE
						 : might     ? ADMISSION_HEAD
							     : ADMISSION_NOT_STORABLE};
	if (!storable_is_yes(why))
		h->judged = why;
	if (!elsewhere && !keep_range(f, rs, h, now) && (f->kind != FILL_PASS || head))
		bill_fetch(f, GHOST_ASKED, 0, 0);
	enum news_of_copy copy = f->kind == FILL_VALIDATE ? news_of_copy(news) : NEWS_NONE;
	if (copy == NEWS_OUTDATES)
		keep_outdate(f, now);
	else if (copy == NEWS_CONTRADICTS)
		keep_contradict(f, now);
}

/* Nobody but its client reads it, who may also wait for the next of it as long as it likes. */
static bool
is_stream_of_client(const struct fill *f, const struct response *rs)
{
	return f->tunnel || (f->keeps == KEEPS_NOTHING && !f->background &&
			     !flight_is_wanted(f->flight) && policy_is_event_stream(&rs->fields));
}

void
keep_answer(struct fill *f, const struct response *rs, uint64_t length, struct flight_head *h)
{
	int64_t now = now_s();
	assert(f->stage == FILL_ASKING);
	intake_begin(&f->in, length);
	*h = (struct flight_head){.status = rs->status,
				  .body_bytes = f->in.stores,
				  .head = flight_lend_head(f->flight)};
	bool old = stands_in(f, rs->status, now);
	enum storable storable = judge(f, rs, now, &h->vary);
	f->keeps = old ? KEEPS_OLD : storable_is_yes(storable) ? KEEPS_ANSWER : KEEPS_NOTHING;
	struct news_facts news = keep_news(f, rs->status, storable);
	if (f->kind != FILL_PASS)
		keep_hear(f, &news);
	keep_rest(f, rs->status, false);
	bool keeps = f->keeps == KEEPS_ANSWER;
	bool withheld = head_store(rs, now, &h->head, keeps ? &f->terms : NULL);
	h->has_age = fields_has(&rs->fields, FIELD_AGE);
	h->judged = storable;
	if (keeps) {
		if (withheld)
			head_store(rs, now, &h->asker, NULL);
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&h->vary),
				 &h->variant);
		keep_sight(f, rs->status, f->in.stores, buf_str(&h->variant));
		if (!keep_sliced(f, rs, h))
			begin_write(f, h);
	} else {
		keep_none(f, rs, &news, now, h);
	}
	buf_add_str(&h->tags, buf_str(&f->tags));
	h->terms = f->terms;
	h->storable = keeps;
	h->of_owner = policy_has_credentials(&f->rq);
	h->narrow = is_stream_of_client(f, rs);
	h->may_be_coded = keep_may_code(f, rs);
	h->verdict = f->sighting.verdict;
	if (rs->status >= 400)
		h->blame = herd_blame(f->serve->shelves->seed, &f->rq, str_of(f->client_ip));
	h->kept = f->in.write && keeps && cache_write_is_alive(f->in.write);
	if (!h->kept && !h->sliced)
		keep_nowhere(f);
	h->stored = (h->kept || h->sliced) && f->sighting.writes;
	if (f->kind != FILL_PASS)
		keep_sharing(f, &news);
}

/* ---- the body is here ---------------------------------------------------------------------- */

/* Followers that came while it arrived were sightings too. */
static bool
is_seen_again(struct fill *f)
{
	unsigned followers = flight_followers(f->flight);
	if (f->sighting.writes ||
	    (!followers && f->sighting.verdict == ADMISSION_FIRST_SIGHT))
		return false;
	struct sighting end = seen_at_end(f->serve->shelves->seen, f->key.sighting, &f->facts,
					  followers, f->in.stored);
	f->sighting.alone = end.alone;
	return end.writes;
}

static bool
is_variant(const struct fill *f)
{
	return !key_hash_equal(f->filed.hash, f->key.primary);
}

/* Since the head came, variants were stored that differ in more than we knew: what is filed by that now
 * would hide them. */
static bool
would_hide(const struct fill *f)
{
	struct shelves *sh = f->serve->shelves;
	struct object *o = NULL;
	if (f->landed == keep_landed(sh, f->key.primary))
		return false;
	enum found found = cache_peek(sh->cache, f->key.primary, key_primary(&f->key), &o);
	bool hides = found == FOUND_OBJECT && o->kind == OBJECT_MARKER &&
		     !str_eq(o->head, buf_str(&f->variants.names));
	if (found == FOUND_LATER)
		hides = !is_variant(f) && !(f->object && cache_is_current(sh->cache, f->object));
	object_unref(&o);
	return hides;
}

/* It is admitted, and lies in RAM. */
static void
keep_pack(struct fill *f, struct object *o)
{
	struct shelves *sh = f->serve->shelves;
	const struct key *marker = is_variant(f) ? &f->key : NULL;
	if (packing_takes(f->serve, o, &f->sighting, marker) || !cache_admit(sh->cache, o))
		return;
	f->claims.written += cache_record_bytes(o->key.n, o->head.n, o->body_bytes);
}

/* Known at its end alone: a body has no length before, or nobody had asked for it. */
static bool
turns_to_pack(const struct fill *f, bool seen_again)
{
	return packing_is_meant(f->serve, &f->terms, f->in.stored) &&
	       (seen_again || (f->sighting.writes && cache_write_turn(f->in.write)));
}

/* The write is complete: the object is there from now on. */
struct object *
keep_commit(struct fill *f)
{
	assert(f->in.write && f->keeps == KEEPS_ANSWER);
	if (would_hide(f)) {
		keep_no_write(f);
		return NULL;
	}
	bool seen_again = is_seen_again(f);
	bool packs = f->claims.packs || turns_to_pack(f, seen_again);
	struct object *o = cache_write_commit(&f->in.write, seen_again && !packs);
	if (!o)
		keep_nowhere(f);
	else if (packs)
		keep_pack(f, o);
	if (o && f->asked.other)
		agree_look(f->serve, f->settings, f->route, f->asked.other, o);
	keep_count_landed(f);
	keep_settle(f);
	if (o && is_variant(f)) {
		cache_variant_stored(f->serve->shelves->cache, f->key.primary, f->filed.hash,
				     f->settings->config->cache.variants);
		if (o->on_disk)
			keep_admit_marker(f->serve->shelves, &f->key);
	}
	if (f->rq.method == METHOD_GET)
		bill_fetch(f, GHOST_FETCHED, f->in.stored, f->in.came);
	if (!seen_again && f->sighting.verdict == ADMISSION_FIRST_SIGHT)
		metrics_add(f->serve->metrics, METRIC_REFUSED_BYTES, f->in.stored);
	if (!seen_again && f->sighting.verdict == ADMISSION_TOO_SHORT)
		metrics_add(f->serve->metrics, METRIC_SHORT_BYTES, f->in.stored);
	return o;
}
