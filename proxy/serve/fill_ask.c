/* fill_ask.c - the request that leaves: for the whole, for the rest, or whether what is stored is
 * still good.
 */
#include "proxy/serve/fill_inside.h"

#include "proxy/cache/object_facts.h"
#include "proxy/http/head.h"
#include "proxy/serve/part.h"
#include "proxy/serve/resume.h"
#include "proxy/serve/run.h"

#include <assert.h>
#include <stdio.h>

enum { SPARE_LINES_BYTES = 16 << 10 };

static struct str
line_of(const struct object *o, struct field *fields, struct response *r, enum field_id id)
{
	*r = (struct response){.fields = {.v = fields, .cap = FIELDS_MAX}};
	return head_read(o->head, r) ? fields_get(&r->fields, id) : (struct str){0};
}

const struct origin *
fill_origin(const struct fill *f)
{
	return upstream_origin(f->upstream, &f->origin);
}

struct origin_measures *
fill_measures(const struct fill *f)
{
	return &f->serve->measures->origins[upstream_number(f->upstream, &f->origin)];
}

/* The rest of a body that broke off, what is missing of a part, or whether the stored object is
 * still good: then not the whole is asked for. fields and range keep what out points to. */
static void
ask_for_less(struct fill *f, struct outgoing_asks *out, char range[RESUME_RANGE_BYTES],
	     struct field fields[FIELDS_MAX])
{
	struct response stored;
	if (f->kind == FILL_SLICES) {
		run_ask(f, out, range, RESUME_RANGE_BYTES);
		return;
	}
	if (f->stage == FILL_ARRIVING && !f->part) {
		resume_ask(f, out, range);
		return;
	}
	if (f->part && part_next_gap(f->part, f->received, &f->gap, &out->if_range)) {
		int n = f->gap.at ? snprintf(range, RESUME_RANGE_BYTES, "bytes=%llu-",
					     (unsigned long long)f->gap.at)
				  : snprintf(range, RESUME_RANGE_BYTES, "bytes=0-%llu",
					     (unsigned long long)f->gap.n - 1);
		out->range = (struct str){range, (size_t)n};
	}
	/* Where answers vary on conditions, only one to a request without any can be shared. */
	if (f->object && f->kind == FILL_VALIDATE &&
	    !outgoing_varies_on_conditions(buf_str(&f->variants.names))) {
		out->if_none_match = (struct str){f->object->head.p + f->object->terms.etag_at,
						  f->object->terms.etag_bytes};
		out->if_modified_since = line_of(f->object, fields, &stored, FIELD_LAST_MODIFIED);
	}
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
	outgoing_fields(&f->outgoing, primary, &asks, lines);
	f->asked = outgoing_asked(&f->outgoing, &asks);
	struct fetch_request r = {
		.origin = fill_origin(f),
		.method = f->rq.method_name,
		/* What may be stored is asked for by its key: the rest of the URL must not matter.
		 */
		.target = outgoing_target(&f->outgoing, primary),
		.host = outgoing_authority(primary),
		.fields = buf_str(lines),
		.framing = f->kind == FILL_PASS ? f->rq.framing : FRAMING_NONE,
		.content_length = f->rq.content_length,
		.idempotent = method_is_idempotent(f->rq.method),
		.upgrade = f->upgrade,
		.refused = refused,
	};
	f->request_time = now_s();
	f->asked_us = now_us();
	metrics_add(f->serve->metrics, METRIC_ORIGIN_REQUESTS, !refused);
	histogram_raise(&fill_measures(f)->requests, !refused);
	f->fetch = fetch_start(f->serve->fetcher, &r, events, f);
	buf_empty(lines, SPARE_LINES_BYTES);
}

void
fill_ask(struct fill *f, const struct fetch_events *events)
{
	ask(f, events, false);
}

void
fill_set_out(struct fill *f, const struct fetch_events *events)
{
	assert(!f->upstream);
	f->upstream = f->settings->groups[f->route->group];
	f->origin.key = f->key.primary.lo;
	ask(f, events, !upstream_begin(f->upstream, &f->origin, now_ms()));
}
