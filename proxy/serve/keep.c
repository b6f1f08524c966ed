/* keep.c - what stays of an origin's answer: is it storable, was its URL seen before, under which
 * key does it lie, what does it replace, and when does it count?
 */
#include "proxy/serve/keep.h"

#include "proxy/serve/bill.h"
#include "proxy/serve/herd.h"
#include "proxy/serve/part.h"
#include "proxy/serve/sight.h"
#include "proxy/http/head.h"

#include <stdio.h>

enum { PASSES_REMEMBER_S = 60, TURN_S = 30 };

uint32_t
keep_landed(const struct shelves *sh, struct key_hash primary)
{
	return atomic_load(&sh->landed[primary.lo % LANDED_SLOTS]);
}

/* Counted between what is stored and the flight's end: a flight that is begun after the end sees
 * it. */
void
keep_count_landed(const struct fill *f)
{
	atomic_fetch_add(&f->serve->shelves->landed[f->key.primary.lo % LANDED_SLOTS], 1);
}

/* Was anything that covers the key forgotten since the request left? */
static bool
is_forgotten(const struct fill *f)
{
	return !cache_is_clean(f->serve->shelves->cache, f->key.hash, buf_str(&f->key.text),
			       f->begun);
}

/* The part stands under a key of its own. */
static void
forget_part(struct shelves *sh, struct str primary)
{
	struct key key = {0};
	if (!atomic_load_explicit(&sh->has_parts, memory_order_relaxed))
		return;
	buf_add_str(&key.text, primary);
	key_is_primary(&key, sh->seed);
	key_to_part(&key, sh->seed);
	cache_remove(sh->cache, key.hash, buf_str(&key.text));
	key_fini(&key);
}

/* The primary key under which a request for this would be looked up; a cookie that makes requests
 * pass does not keep what is there. */
static void
primary_key(const struct fill *f, const struct request *rq, struct buf *key)
{
	struct outgoing o;
	const struct route *r = route_find(f->settings->routes, rq);
	outgoing_init(&o, rq, &f->settings->outgoing, &r->key, f->outgoing.trusted, true);
	o.scheme = rq->scheme;
	outgoing_key(&o, key);
}

/* RFC 9111 4.4: what an unsafe method changed is forgotten, also where it points on this origin.
 * The answer itself is newer than that, unless something else was forgotten on its way. */
void
keep_invalidated(struct fill *f, const struct response *rs)
{
	struct shelves *sh = f->serve->shelves;
	static const enum field_id pointers[] = {FIELD_LOCATION, FIELD_CONTENT_LOCATION};
	if (!policy_invalidates(f->rq.method, rs->status))
		return;
	bool pointed = f->settings->config->cache.invalidate_locations;
	struct str ours = key_primary(&f->key);
	struct forgotten done = cache_forget(sh->cache, f->key.primary, ours, f->begun);
	bill_forget(sh, ours);
	if (done.was_clean)
		f->begun = done.at;
	for (size_t i = 0; pointed && i < 2; i++) {
		struct str value = fields_get(&rs->fields, pointers[i]);
		struct buf text = {0}, key = {0};
		struct request other;
		if (value.n && cachekey_resolve(&f->rq, value, &text, &other)) {
			primary_key(f, &other, &key); /* by its own route's rules */
			struct key_hash hash = key_hash_of(sh->seed, key.p, key.n);
			if (!str_eq(cachekey_url(buf_str(&key)), cachekey_url(ours)))
				cache_forget(sh->cache, hash, buf_str(&key), f->begun);
			bill_forget(sh, buf_str(&key));
		}
		buf_fini(&text);
		buf_fini(&key);
	}
}

uint64_t
keep_length(const struct response *rs)
{
	struct str v = fields_get(&rs->fields, FIELD_CONTENT_LENGTH);
	if (v.n == 0 || fields_has(&rs->fields, FIELD_TRANSFER_ENCODING))
		return UINT64_MAX;
	uint64_t n = 0;
	for (size_t i = 0; i < v.n && v.p[i] >= '0' && v.p[i] <= '9'; i++)
		n = n * 10 + (uint64_t)(v.p[i] - '0'); /* libcurl refuses what overflows */
	return n;
}

/* What this trip counts for, asked once: under the variant's key, now that it is known. */
static void
judge(struct fill *f, int status, struct str variant)
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

/* The write budget is charged when a write begins, so that many at once do not all find it full;
 * what was not written after all is given back. */
static void
charge(struct fill *f, uint64_t body_bytes)
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

/* What the variants of this URL differ on: what this answer names, and what others named before. An
 * answer that names less, or nothing, hides no variant that is there. */
bool
keep_names(const struct fill *f, const struct fields *fields, struct buf *out)
{
	struct buf named = {0};
	bool ok = vary_names(fields, &named) &&
		  vary_union(buf_str(&f->variants.names), buf_str(&named), out);
	buf_fini(&named);
	return ok;
}

/* Another answer for the URL may have been stored since this request looked, with a marker: what it
 * says counts too, or this answer would hide the variants that are there. False: it may, but lies
 * on disk. */
static bool
meet_marker(struct fill *f)
{
	struct shelves *sh = f->serve->shelves;
	struct object *o;
	if (f->landed == keep_landed(sh, f->key.primary))
		return true;
	enum found found = cache_peek(sh->cache, f->key.primary, key_primary(&f->key), &o);
	if (found == FOUND_LATER)
		return f->object && !f->variants.names.n && cache_is_current(sh->cache, f->object);
	if (found == FOUND_OBJECT && o->kind == OBJECT_MARKER) {
		struct buf all = {0};
		bool ok = vary_union(buf_str(&f->variants.names), o->head, &all);
		if (ok)
			variants_read(&f->variants, buf_str(&all));
		buf_fini(&all);
	}
	object_unref(&o);
	return true;
}

/* The names under which an answer is filed; why it cannot be. */
static enum storable
file(struct fill *f, const struct response *rs, struct buf *names)
{
	bool sees = meet_marker(f);
	if (!keep_names(f, &rs->fields, names))
		return STORABLE_VARY_STAR;
	if (outgoing_varies_on(buf_str(names), f->asked))
		return STORABLE_VARY_ASKED;
	/* Where the names are those of the marker that was met, it is not written again. */
	bool known = names->n && str_eq(buf_str(names), buf_str(&f->variants.names));
	return sees || known ? STORABLE_YES : STORABLE_OVERTAKEN;
}

/* A marker under the primary key says on what its variants differ: the union of what the answers so
 * far named. The one that the request met stays while nothing new is named. */
static void
keep_marker(struct fill *f, struct str names)
{
	if (str_eq(buf_str(&f->variants.names), names))
		return;
	variants_read(&f->variants, names);
	struct write_options o = {
		.hash = f->key.primary,
		.key = key_primary(&f->key),
		.head = names,
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_MARKER,
		.body_bytes = 0,
		.disk = f->sighting.writes,
	};
	struct object_write *w = cache_write_begin(f->serve->shelves->cache, &o);
	struct object *marker = cache_write_commit(&w, false);
	object_unref(&marker);
}

/* The key this answer is stored under. */
static void
stored_key(struct fill *f, const struct flight_head *h, struct key *key)
{
	key_copy(key, &f->key);
	key_back_to_primary(key);
	if (h->vary.n == 0)
		return;
	keep_marker(f, buf_str(&h->vary));
	key_to_variant(key, f->serve->shelves->seed, buf_str(&h->variant));
}

static bool
is_large(const struct fill *f)
{
	return f->expected != UINT64_MAX &&
	       f->expected > flights_retain_bytes(f->serve->shelves->flights);
}

static bool
is_taken(uint64_t since_s)
{
	return since_s && (uint64_t)now_s() < since_s + TURN_S;
}

bool
fill_is_writing(struct shelves *sh, struct key_hash hash)
{
	return is_taken(atomic_load(&sh->writing[hash.lo % WRITING_SLOTS]));
}

/* Who comes when the beginning of a large body is gone from its flight fetches it too; one of them
 * writes it. Should that one's client be slow, the next to come after a while writes as well. */
static bool
takes_turn(struct fill *f)
{
	_Atomic uint64_t *slot = &f->serve->shelves->writing[f->stored_hash.lo % WRITING_SLOTS];
	uint64_t now = (uint64_t)now_s(), since = atomic_load(slot);
	if (!is_large(f) || !f->sighting.writes)
		return true;
	if (is_taken(since) || !atomic_compare_exchange_strong(slot, &since, now))
		return false;
	f->turn = slot;
	f->turn_since = now;
	return true;
}

void
keep_end_turn(struct fill *f)
{
	uint64_t ours = f->turn_since;
	if (f->turn)
		atomic_compare_exchange_strong(f->turn, &ours, 0);
	f->turn = NULL;
}

static void
begin_write(struct fill *f, const struct flight_head *h)
{
	struct key key = {0};
	stored_key(f, h, &key);
	f->stored_hash = key.hash;
	f->stored_key_bytes = key.text.n;
	f->stored_head_bytes = h->head.n;
	f->validator = bill_validator(buf_str(&h->head), &f->terms);
	struct write_options o = {
		.hash = key.hash,
		.key = buf_str(&key.text),
		.head = buf_str(&h->head),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_RESPONSE,
		.body_bytes = f->expected,
		.disk = f->sighting.writes,
	};
	if (takes_turn(f))
		f->write = cache_write_begin(f->serve->shelves->cache, &o);
	if (f->write && f->sighting.writes)
		charge(f, f->expected);
	key_fini(&key);
}

/* The copy is to be validated before its next use. It is never removed for what one client was
 * answered. */
void
keep_outdate(struct fill *f, int64_t now)
{
	struct terms terms = f->object->terms;
	int64_t age = terms_age(&terms, now);
	if (terms.lifetime <= age)
		return;
	terms.lifetime = age;
	struct object *o =
		cache_refresh(f->serve->shelves->cache, f->object, f->object->head, &terms);
	object_unref(&o);
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
	if (f->keeps == KEEPS_ANSWER &&
	    policy_reuse(&f->terms, &plain, &nothing, now).reuse == REUSE_FRESH) {
		passes_forget(p, herd_pass_key(f->key.hash, &f->rq));
		return;
	}
	flights_close(f->flight);
	if (news_ends_sharing(&facts) && !wants_no_copy(f))
		passes_remember(p, herd_pass_key(f->key.hash, &f->rq), now + PASSES_REMEMBER_S);
}

/* The next request does not know what a part varies on, unless a marker says so. */
static void
count_part(struct fill *f, const struct response *rs)
{
	struct buf names = {0}, variant = {0};
	if (keep_names(f, &rs->fields, &names)) {
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&names), &variant);
		judge(f, 200, buf_str(&variant));
		f->sighting.writes = false; /* the part itself is kept in RAM */
		if (names.n)
			keep_marker(f, buf_str(&names));
	}
	f->sighting.verdict = ADMISSION_NOT_STORABLE;
	buf_fini(&names);
	buf_fini(&variant);
}

static void
bill_part(struct fill *f, const struct response *rs, struct str head)
{
	struct slice s;
	uint64_t total;
	if (!content_range_parse(fields_get(&rs->fields, FIELD_CONTENT_RANGE), &s, &total) ||
	    total == UINT64_MAX)
		return;
	f->stored_key_bytes = f->key.primary_bytes;
	f->stored_head_bytes = head.n;
	f->validator = bill_validator(head, &f->terms);
	bill_fetch(f, GHOST_PART, total, s.n);
}

/* A part that passed on first sight counts for its whole object, and is kept in RAM.
 * True if rs is such a part. */
static bool
keep_part(struct fill *f, const struct response *rs, const struct flight_head *h, int64_t now)
{
	struct shelves *sh = f->serve->shelves;
	if (f->kind != FILL_MISS || rs->status != 206)
		return false;
	struct response whole = *rs;
	whole.status = 200;
	if (!storable_is_yes(keep_judge(f, &whole, false, now)))
		return false;
	struct buf head = {0};
	count_part(f, rs);
	head_store(rs, now, &head, &f->terms);
	bill_part(f, rs, buf_str(&head));
	if (!part_is_sound(rs, f->expected)) {
		buf_fini(&head);
		return true;
	}
	struct key key = {0};
	key_copy(&key, &f->key);
	key_back_to_primary(&key);
	key_to_part(&key, sh->seed);
	struct write_options o = {
		.hash = key.hash,
		.key = buf_str(&key.text),
		.head = buf_str(&head),
		.terms = f->terms,
		.begun = f->begun,
		.kind = OBJECT_RESPONSE,
		.body_bytes = h->body_bytes,
	};
	f->write = cache_write_begin(sh->cache, &o);
	f->keeps = KEEPS_PART;
	atomic_store_explicit(&sh->has_parts, true, memory_order_relaxed);
	key_fini(&key);
	buf_fini(&head);
	return true;
}

/* What speaks for the whole object is newer than any part of it that is kept: also when it is not
 * stored, or stored for another variant only. */
static bool
replaces_part(const struct fill *f, int status)
{
	bool asked_for_all = f->kind != FILL_PASS && f->rq.method == METHOD_GET;
	return asked_for_all && (status == 200 || status == 203 ||
				 (!f->as_it_came && status != 206 && !policy_is_trouble(status)));
}

void
keep_answer(struct fill *f, const struct response *rs, uint64_t length, struct flight_head *h)
{
	int64_t now = now_s();
	*h = (struct flight_head){.status = rs->status, .body_bytes = length};
	f->expected = length;
	bool old = stands_in(f, rs->status, now);
	enum storable storable = keep_judge(f, rs, false, now);
	if (storable_is_yes(storable))
		storable = file(f, rs, &h->vary);
	f->keeps = old ? KEEPS_OLD : storable_is_yes(storable) ? KEEPS_ANSWER : KEEPS_NOTHING;
	bool keeps = f->keeps == KEEPS_ANSWER;
	head_store(rs, now, &h->head, keeps ? &f->terms : NULL);
	h->has_age = fields_has(&rs->fields, FIELD_AGE);
	if (replaces_part(f, rs->status))
		forget_part(f->serve->shelves, key_primary(&f->key));
	if (keeps) {
		if (head_withholds(rs, &f->terms))
			head_store(rs, now, &h->asker, NULL);
		outgoing_variant(&f->outgoing, key_primary(&f->key), buf_str(&h->vary),
				 &h->variant);
		judge(f, rs->status, buf_str(&h->variant));
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
	h->terms = f->terms;
	h->storable = keeps;
	h->verdict = f->sighting.verdict;
	if (rs->status >= 500)
		h->blame = herd_blame(f->serve->shelves->seed, &f->rq, str_of(f->client_ip));
	h->kept = f->write && keeps && cache_write_is_alive(f->write);
	h->stored = h->kept && f->sighting.writes;
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
	return f->stored_hash.lo != f->key.primary.lo || f->stored_hash.hi != f->key.primary.hi;
}

/* The write is complete: the object is there from now on. */
struct object *
keep_commit(struct fill *f)
{
	bool seen_again = is_seen_again(f);
	struct object *o = cache_write_commit(&f->write, seen_again);
	keep_count_landed(f);
	if (o && o->on_disk)
		charge(f, f->received);
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
