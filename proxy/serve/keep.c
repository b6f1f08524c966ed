/* keep.c - what stays of an origin's answer: is it storable, was its URL seen before, under which
 * key does it lie, what does it replace, and when does it count?
 */
#include "proxy/serve/keep_inside.h"

#include "proxy/serve/bill.h"
#include "proxy/serve/herd.h"
#include "proxy/serve/sight.h"
#include "proxy/http/head.h"
#include "proxy/http/syntax.h"

enum { PASSES_REMEMBER_S = 60 };

/* Was anything that covers the key forgotten since the request left? */
static bool
is_forgotten(const struct fill *f)
{
	return !cache_is_clean(f->serve->shelves->cache, f->key.hash, buf_str(&f->key.text),
			       buf_str(&f->tags), f->begun);
}

uint64_t
keep_length(const struct response *rs)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_LENGTH);
	if (v.n == 0 || fields_has(&rs->fields, FIELD_TRANSFER_ENCODING))
		return UINT64_MAX;
	int64_t n = 0;
	return digits_parse(v, &n) ? (uint64_t)n : 0; /* reply.c refuses what is no number */
}

/* What this trip counts for, asked once: under the variant's key, now that it is known. */
void
keep_sight(struct fill *f, int status, struct str variant)
{
	struct shelves *sh = f->serve->shelves;
	struct memory_sight inherited = f->sighting.known;
	f->facts = sight_of(&f->rq, f->route, status, f->client_ip, sh->seed);
	f->facts.body_bytes = f->expected;
	if (f->background)
		f->facts.kind = SIGHTING_BACKGROUND;
	else if (f->reload)
		f->facts.kind = SIGHTING_RELOAD;
	else if (f->kind == FILL_PASS)
		f->facts.kind = SIGHTING_OTHER;
	f->facts.known = inherited;
	f->key.sighting = sighting_key(sh->seed, f->key.primary, variant);
	f->sighting = seen_judge(sh->seen, f->key.sighting, &f->facts);
}

void
keep_charge(struct fill *f, uint64_t body_bytes)
{
	uint64_t bytes =
		body_bytes == UINT64_MAX
			? 0
			: cache_record_bytes(f->stored_key_bytes, f->stored_head_bytes, body_bytes);
	seen_charge(f->serve->shelves->seen, (int64_t)(bytes - f->charged));
	f->charged = bytes;
}

void
keep_no_write(struct fill *f)
{
	if (f->write)
		cache_write_abandon(&f->write);
	if (f->charged)
		seen_charge(f->serve->shelves->seen, -(int64_t)f->charged);
	f->charged = 0;
}

static void
begin_write(struct fill *f, const struct flight_head *h)
{
	struct key *key = &f->serve->stored_key;
	keep_key(f, h, key);
	f->stored_hash = key->hash;
	f->stored_key_bytes = key->text.n;
	f->stored_head_bytes = h->head.n;
	f->validator = bill_validator(buf_str(&h->head), &f->terms);
	struct write_options o = {
		.hash = key->hash,
		.key = buf_str(&key->text),
		.head = buf_str(&h->head),
		.tags = buf_str(&f->tags),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_RESPONSE,
		.body_bytes = f->expected,
		.disk = f->sighting.writes,
	};
	if (keep_takes_turn(f))
		f->write = cache_write_begin(f->serve->shelves->cache, &o);
	if (f->write && f->sighting.writes)
		keep_charge(f, f->expected);
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

/* What passes is asked for as the client wrote it; that is news of what lies under the key only
 * where the key's rules drop and change nothing. */
static bool
asked_by_key(const struct fill *f)
{
	return f->kind != FILL_PASS ||
	       str_eq(f->rq.path_query, cachekey_target(key_primary(&f->key)));
}

enum storable
keep_judge(struct fill *f, const struct response *rs, bool updated, int64_t now)
{
	struct storing_facts facts = {
		.request = &f->rq,
		.response = rs,
		.request_time = f->request_time,
		.response_time = now,
		.settings = &f->settings->policy,
		.updated = updated,
	};
	if (f->kind == FILL_PASS || is_forgotten(f))
		return STORABLE_METHOD;
	enum storable s = policy_storable(&facts, &f->terms);
	return s == STORABLE_YES && (f->terms.flags & TERMS_PARTIAL) ? STORABLE_RANGE : s;
}

/* A client that wants no copy is answered for itself alone. */
static bool
wants_no_copy(const struct fill *f)
{
	struct request_cc cc;
	request_cc_parse(&f->rq.fields, &cc);
	return cc.no_cache;
}

struct news_facts
keep_news(const struct fill *f, int status, enum storable storable)
{
	return (struct news_facts){
		.method = f->rq.method,
		.credentials = policy_has_credentials(&f->rq),
		.by_key = asked_by_key(f) && !(f->kind == FILL_MISS && f->as_it_came),
		.copy = f->object != NULL,
		.status = status,
		.storable = storable,
	};
}

/* Would another request be answered with this as it is? Else, where that is the answer's own word,
 * the next ones fetch in parallel for a while. */
void
keep_sharing(struct fill *f, int status, enum storable storable)
{
	struct passes *p = f->serve->shelves->passes;
	static const struct request plain;
	static const struct request_cc nothing;
	int64_t now = now_s();
	struct news_facts facts = keep_news(f, status, storable);
	bool keeps = f->keeps == KEEPS_ANSWER || (f->keeps == KEEPS_SLICES && !f->as_it_came);
	if (keeps && policy_reuse(&f->terms, &plain, &nothing, now).reuse == REUSE_FRESH) {
		passes_forget(p, herd_pass_key(f->key.hash, &f->rq));
		return;
	}
	flights_close(f->flight);
	if (news_ends_sharing(&facts) && !wants_no_copy(f))
		passes_remember(p, herd_pass_key(f->key.hash, &f->rq), now + PASSES_REMEMBER_S);
}

void
keep_answer(struct fill *f, const struct response *rs, uint64_t length, struct flight_head *h)
{
	int64_t now = now_s();
	*h = (struct flight_head){
		.status = rs->status, .body_bytes = length, .head = flight_lend_head(f->flight)};
	f->expected = length;
	bool old = stands_in(f, rs->status, now);
	enum storable storable = keep_judge(f, rs, false, now);
	if (storable_is_yes(storable))
		storable = keep_file(f, rs, &h->vary);
	f->keeps = old ? KEEPS_OLD : storable_is_yes(storable) ? KEEPS_ANSWER : KEEPS_NOTHING;
	bool keeps = f->keeps == KEEPS_ANSWER;
	bool withheld = head_store(rs, now, &h->head, keeps ? &f->terms : NULL);
	h->has_age = fields_has(&rs->fields, FIELD_AGE);
	if (keep_replaces_part(f, rs->status))
		keep_forget_part(f->serve->shelves, key_primary(&f->key));
	if (keeps) {
		if (withheld)
			head_store(rs, now, &h->asker, NULL);
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&h->vary),
				 &h->variant);
		keep_sight(f, rs->status, buf_str(&h->variant));
		if (!keep_sliced(f, rs, h))
			begin_write(f, h);
	} else {
		f->sighting = (struct sighting){.verdict = ADMISSION_NOT_STORABLE};
		if (!keep_part(f, rs, h, now) &&
		    (f->kind != FILL_PASS || f->rq.method == METHOD_HEAD))
			bill_fetch(f, GHOST_ASKED, 0, 0);
		struct news_facts news = keep_news(f, rs->status, storable);
		if (f->kind == FILL_VALIDATE && news_outdates_copy(&news))
			keep_outdate(f, now);
	}
	buf_add_str(&h->tags, buf_str(&f->tags));
	h->terms = f->terms;
	h->storable = keeps;
	h->verdict = f->sighting.verdict;
	if (rs->status >= 500)
		h->blame = herd_blame(f->serve->shelves->seed, &f->rq, str_of(f->client_ip));
	h->kept = f->write && keeps && cache_write_is_alive(f->write);
	h->stored = (h->kept || h->sliced) && f->sighting.writes;
	if (f->kind != FILL_PASS)
		keep_sharing(f, rs->status, storable);
}

/* ---- the body is here ---------------------------------------------------------------------- */

/* Followers that came while it arrived were sightings too. */
static bool
is_seen_again(struct fill *f)
{
	if (f->keeps == KEEPS_PART || f->sighting.writes)
		return false;
	struct sighting end = seen_at_end(f->serve->shelves->seen, &f->facts,
					  flight_followers(f->flight), f->received);
	return end.writes;
}

static bool
is_variant(const struct fill *f)
{
	return !key_hash_equal(f->stored_hash, f->key.primary);
}

/* The write is complete: the object is there from now on. */
struct object *
keep_commit(struct fill *f)
{
	bool seen_again = is_seen_again(f);
	struct object *o = cache_write_commit(&f->write, seen_again);
	keep_count_landed(f);
	if (o && o->on_disk)
		keep_charge(f, f->received);
	else
		keep_no_write(f);
	f->charged = 0; /* it is settled */
	if (f->keeps == KEEPS_PART) {
		object_unref(&o);
		return NULL;
	}
	if (o && is_variant(f))
		cache_variant_stored(f->serve->shelves->cache, f->key.primary, f->stored_hash,
				     f->settings->config->cache.variants);
	if (f->rq.method == METHOD_GET)
		bill_fetch(f, GHOST_FETCHED, f->received, f->received);
	if (!seen_again && f->sighting.verdict == ADMISSION_FIRST_SIGHT)
		metrics_add(f->serve->metrics, METRIC_REFUSED_BYTES, f->received);
	return o;
}
