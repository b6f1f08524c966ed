/* fill_ask.c - the request that leaves: for the whole, for the rest, or whether what is stored is
 * still good.
 */
#include "proxy/serve/fill_inside.h"

#include "proxy/base/log.h"
#include "proxy/base/network.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/http/head.h"
#include "proxy/origin/called.h"
#include "proxy/serve/rules/herd.h"
#include "proxy/serve/resume.h"
#include "proxy/serve/run.h"
#include "proxy/serve/sibling_word.h"

#include <assert.h>

enum { SPARE_LINES_BYTES = 16 << 10 };

static struct str
line_of(const struct object *o, struct field *fields, struct response *r, enum field_id id)
{
	*r = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
	return head_read(o->head, r) ? fields_get(&r->fields, id) : (struct str){0};
}

static struct origin_measures *
measures_of(const struct fill *f)
{
	return backend_measures(&f->backend, f->serve->measures);
}

/* Some slices, the rest of a body that broke off, or whether the stored object is still good: then not the whole is asked for. fields and range keep what out points to. */
static void
ask_for_less(struct fill *f, struct outgoing_asks *out, char range[RESUME_RANGE_BYTES],
	     struct field fields[FIELDS_MAX])
{
	struct response stored;
	out->class = f->asked.class != CODING_UNCLASSED ? &f->asked.class : NULL;
	if (f->kind == FILL_SLICES) {
		run_ask(f, out, range, RESUME_RANGE_BYTES);
		return;
	}
	if (f->stage == FILL_ARRIVING) {
		resume_ask(f, out, range);
		return;
	}
	/* Where answers vary on conditions, only one to a request without any can be shared. */
	if (f->object && f->kind == FILL_VALIDATE &&
	    !outgoing_varies_on_conditions(buf_str(&f->variants.names))) {
		out->if_none_match = (struct str){f->object->head.p + f->object->terms.etag_at,
						  f->object->terms.etag_bytes};
		out->if_modified_since = line_of(f->object, fields, &stored, FIELD_LAST_MODIFIED);
	}
}

/* Clients take turns by this number. */
uint64_t
fill_client(void *fill)
{
	const struct fill *f = fill;
	return f->asker.hash;
}

int64_t
fill_patience(void *fill, int64_t most_ms)
{
	const struct fill *f = fill;
	bool several;
	if (!method_is_safe(f->rq.method))
		return 0;
	int64_t usual_ms = backend_usual_ms(&f->backend, &several);
	return herd_patience_ms(usual_ms, several, most_ms);
}

void
fill_count_request(struct fill *f)
{
	metrics_add(f->serve->metrics,
		    backend_is_sibling(&f->backend) ? METRIC_HOPS_SENT : METRIC_ORIGIN_REQUESTS, 1);
	if (backend_is_across(&f->backend))
		metrics_add(f->serve->metrics, METRIC_ZONE_ASKED, 1);
	histogram_raise(&measures_of(f)->requests, 1);
	backend_was_heard(&f->backend);
}

/* All who read may be gone. */
void
fill_yield(struct fill *f)
{
	bool waits = f->fetch && f->stage == FILL_ASKING && !f->background;
	if (waits && flight_is_doubted(f->flight) && !flight_is_wanted(f->flight))
		fetch_yield(f->fetch, method_is_safe(f->rq.method));
}

void
fill_count_end(struct fill *f, enum fetch_end end)
{
	if (backend_is_refused(&f->backend) && end != FETCH_QUEUE_FULL)
		fill_count_request(f);
}

/* Somebody may have come since all who read were in doubt. */
int
fill_failure(const struct fill *f, const struct fetch_result *r)
{
	bool anew = r->end == FETCH_YIELDED && !flight_is_doubted(f->flight);
	return anew ? 0 : r->status;
}

bool
fill_is_blameless(enum fetch_end end)
{
	switch (end) {
	case FETCH_DNS:
	case FETCH_CONNECT:
	case FETCH_CONNECT_TIMEOUT:
	case FETCH_NO_SOCKET:
	case FETCH_TLS:
	case FETCH_QUEUE_TIMEOUT:
	case FETCH_QUEUE_FULL:
	case FETCH_YIELDED:
		return true;
	default:
		return false;
	}
}

void
fill_count_failure(struct fill *f, const struct fetch_result *r)
{
	enum fetch_end end = r->end;
	if (end != FETCH_ABORTED)
		log_debug("origin %s: %s (%s) for %.*s, request %.*s",
			  origin_url(backend_origin(&f->backend)), r->word,
			  r->detail ? r->detail : "", STR_ARG(f->rq.target),
			  STR_ARG(f->outgoing.request_id));
	if (end == FETCH_QUEUE_FULL) {
		metrics_add(f->serve->metrics, METRIC_ORIGIN_REFUSED, 1);
	} else if (end != FETCH_ABORTED && end != FETCH_YIELDED && end != FETCH_STALLED &&
		   end != FETCH_HUNG && end != FETCH_NO_LENGTH) {
		metrics_add(f->serve->metrics,
			    backend_is_sibling(&f->backend) ? METRIC_HOPS_FAILED
							    : METRIC_ORIGIN_ERRORS,
			    1);
		histogram_raise(&measures_of(f)->errors, 1);
	}
}

/* The request's body does not say how long it is, but all of it was gathered. */
static bool
is_at_hand(const struct fill *f)
{
	const struct txn *t = f->feeder;
	return f->rq.framing == FRAMING_CHUNKED && t && t->upload.state == UPLOAD_OVER;
}

static void
ask(struct fill *f, const struct fetch_events *events, bool refused)
{
	struct outgoing_asks asks = {
		.as_it_came = f->as_it_came,
		.wishes = f->kind == FILL_PASS && f->rq.method == METHOD_GET,
	};
	struct field fields[FIELDS_MAX];
	char range[RESUME_RANGE_BYTES];
	assert(!f->fetch && f->taken == 0 && f->stage != FILL_WHOLE && f->serve->lines.n == 0);
	ask_for_less(f, &asks, range, fields);
	struct str primary = key_primary(&f->key);
	struct buf *lines = &f->serve->lines;
	bool sibling = backend_is_sibling(&f->backend);
	if (sibling)
		sibling_add_question(f, &asks, lines);
	else
		outgoing_fields(&f->outgoing, primary, &asks, lines);
	size_t lines_bytes = lines->n;
	/* An answer that may be stored is asked for by its key: the rest of the URL must not matter. */
	struct str target =
		sibling ? f->rq.path_query : outgoing_target(&f->outgoing, primary, lines);
	f->asked.fields = outgoing_asked(&f->outgoing, &asks);
	struct fetch_request r = {
		.origin = backend_origin(&f->backend),
		.method = f->rq.method_name,
		.target = target,
		.host = sibling ? f->rq.authority : outgoing_host(&f->outgoing, primary),
		.fields = {lines->p, lines_bytes},
		.framing = f->kind == FILL_PASS ? f->rq.framing : FRAMING_NONE,
		.content_length = is_at_hand(f)
					  ? f->feeder->upload.gathered.n - f->feeder->upload.at
					  : f->rq.content_length,
		.at_hand = is_at_hand(f),
		.idempotent = method_is_idempotent(f->rq.method),
		.upgrade = f->upgrade,
		.route = (unsigned)((uintptr_t)f->route >> 4), /* any number of its own */
		.refused = refused,
	};
	backend_queue(&f->backend, &r);
	f->request_time = now_s();
	f->asked_us = now_us();
	if (!refused)
		fill_count_request(f);
	f->fetch = fetch_start(f->serve->fetcher, &r, events, f);
	fill_yield(f);
	buf_empty(lines, SPARE_LINES_BYTES);
}

void
fill_ask(struct fill *f, const struct fetch_events *events)
{
	ask(f, events, false);
}

/* An origin's first answers, and redirects, are rare. */
__attribute__((noinline)) static void
look_how_called(const struct fill *f, const struct response *rs)
{
	struct called_answer a = {
		.status = rs->status,
		.location = fields_get(&rs->fields, FIELD_LOCATION),
		.client = outgoing_host(&f->outgoing, key_primary(&f->key)),
	};
	called_look(backend_origin(&f->backend), &a);
}

void
fill_note_answer(struct fill *f, const struct response *rs)
{
	int64_t wait_us = now_us() - f->asked_us;
	backend_answered(&f->backend, rs->status, wait_us, now_ms());
	histogram_add(&measures_of(f)->wait_us, (uint64_t)wait_us);
	histogram_raise(&measures_of(f)->answers[measures_class(rs->status)], 1);
	if (!backend_is_sibling(&f->backend) &&
	    called_may_tell(backend_origin(&f->backend), rs->status))
		look_how_called(f, rs);
}

static uint32_t
not_0(uint64_t hash)
{
	return (uint32_t)hash ? (uint32_t)hash : 1;
}

/* For the judgement of servers: one customer has the first 48 bits of IPv6, and a URL with another query is
 * no other one, for it is as easily made up. */
static struct source
source_of(const struct fill *f)
{
	const struct twice_seed *seed = f->serve->shelves->seed;
	struct str primary = key_primary(&f->key), url = str_before(primary, '?');
	struct asker customer = f->asker;
	if (!network_is_v4(customer.address)) {
		network_cut(customer.address, 48);
		askers_hash(&customer, seed);
	}
	return (struct source){
		.client = not_0(customer.hash),
		.url = not_0(url.n == primary.n ? f->key.primary.hi
						: twice_key_hash_of(seed, url.p, url.n).hi),
	};
}

/* Before the group. Of a body in slices the owner is asked too, whoever had its head. */
static void
choose_siblings(struct fill *f)
{
	struct chart *c = f->serve->fleet.chart;
	if (!c)
		return;
	if (f->asked.elsewhere)
		backend_of_owners(&f->backend, c, f->key.primary.hi, now_ms());
	else if (f->kind == FILL_MISS && f->asked.moved)
		backend_of_former(
			&f->backend, c,
			&(struct backend_lack){f->key.primary.hi, f->key.hash.hi, f->asked.of_node},
			now_ms());
}

void
fill_set_out(struct fill *f, const struct fetch_events *events)
{
	struct backend *b = &f->backend;
	assert(!b->kind);
	if (f->object && f->object->kind == OBJECT_SLICED)
		backend_prefer(b, f->object->terms.server, false);
	backend_of_group(b, f->settings->groups[f->route->group], f->key.primary.lo, source_of(f));
	choose_siblings(f);
	ask(f, events, !backend_begin(b, now_ms()));
}
