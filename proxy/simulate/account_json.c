/* account_json.c - a study as one JSON object. Numbers are plain: bytes, seconds, shares from 0
 * to 1. */
#include "proxy/simulate/account.h"
#include "proxy/simulate/advice.h"
#include "proxy/simulate/doubts.h"

#include <jansson.h>
#include <math.h>

/* Infinity and what is no number are null in JSON. */
static json_t *
real(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *
integer(uint64_t v)
{
	return json_integer((json_int_t)v);
}

/* A name of a file may be any bytes. */
static json_t *
string(const char *z)
{
	json_t *s = json_string(z);
	return s ? s : json_string("?");
}

static json_t *
logs(const struct study *s)
{
	json_t *all = json_array();
	for (unsigned i = 0; i < s->logs_n; i++) {
		const struct source_facts *f = &s->logs[i];
		json_t *log = json_object(), *numbers = json_array();
		json_object_set_new(log, "name", string(f->name));
		json_object_set_new(log, "format", string(parse_word(f->format)));
		json_object_set_new(log, "packing", string(f->packing));
		json_object_set_new(log, "lines", integer(f->lines));
		json_object_set_new(log, "bad_lines", integer(f->bad_lines));
		for (unsigned k = 0; k < SOURCE_BAD_SHOWN && k < f->bad_lines; k++)
			json_array_append_new(numbers, integer(f->bad_numbers[k]));
		json_object_set_new(log, "first_bad_lines", numbers);
		json_object_set_new(log, "late_lines", integer(f->late_lines));
		json_array_append_new(all, log);
	}
	return all;
}

static json_t *
left_out(const struct study *s)
{
	json_t *all = json_object();
	for (enum screening k = SCREENING_TAKEN + 1; k < SCREENING_COUNT; k++)
		json_object_set_new(all, screen_word(k), integer(s->screen.counts[k]));
	return all;
}

static json_t *
traffic(const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	json_t *t = json_object();
	json_object_set_new(t, "requests", integer(l->visits));
	json_object_set_new(t, "begin_s", integer(l->begin_s));
	json_object_set_new(t, "end_s", integer(l->end_s));
	json_object_set_new(t, "urls", real(l->urls));
	json_object_set_new(t, "bytes", real(l->bytes));
	json_object_set_new(t, "once_urls", real(l->once_urls));
	json_object_set_new(t, "once_bytes", real(l->once_bytes));
	json_object_set_new(t, "versions", real(l->versions));
	json_object_set_new(t, "packable_bytes", real(l->packable_bytes));
	json_object_set_new(t, "packed_bytes", real(l->packed_bytes));
	json_object_set_new(t, "sample_share", real(l->sample_share));
	json_object_set_new(t, "large_urls", real(l->large_urls));
	return t;
}

static void
add_facts(json_t *row, const struct policy_facts *f)
{
	json_object_set_new(row, "requests", integer(f->requests));
	json_object_set_new(row, "hit_ratio", real(f->hit_ratio));
	json_object_set_new(row, "hit_ratio_error", real(f->hit_ratio_error));
	json_object_set_new(row, "byte_hit_ratio", real(f->byte_hit_ratio));
	json_object_set_new(row, "ram_hits", real(f->ram_hits));
	json_object_set_new(row, "disk_hits", real(f->disk_hits));
	json_object_set_new(row, "validated", real(f->validated));
	json_object_set_new(row, "written_objects", real(f->written_objects));
	if (f->chooses) {
		char text[CHOICE_TEXT];
		json_object_set_new(row, "chosen", string(choice_say(&f->choice, text)));
		json_object_set_new(row, "choice_changes",
				    json_integer((json_int_t)f->choice.changes));
	}
	json_object_set_new(row, "written_bytes", real(f->written_bytes));
	json_object_set_new(row, "packing_saved_bytes", real(f->packing_saved_bytes));
	json_object_set_new(row, "written_bytes_error", real(f->written_error));
	json_object_set_new(row, "written_in_vain_objects", real(f->once_written_objects));
	json_object_set_new(row, "origin_requests", real(f->origin_requests));
	json_object_set_new(row, "origin_bytes", real(f->origin_bytes));
	json_object_set_new(row, "sample_share", real(f->sample_share));
}

/* Of what no cache exceeds, hits and bytes are all there is. */
static void
add_limits(json_t *row, const struct policy_facts *f)
{
	json_object_set_new(row, "requests", integer(f->requests));
	json_object_set_new(row, "hit_ratio", real(f->hit_ratio));
	json_object_set_new(row, "byte_hit_ratio", real(f->byte_hit_ratio));
}

static json_t *
policy_row(const struct study *s, const struct study_row *r)
{
	const struct study_row *all = r->spec.bound ? NULL : study_baseline(s, r);
	json_t *row = json_object();
	json_object_set_new(row, "policy", string(r->spec.text));
	json_object_set_new(row, "disk_bytes", integer(r->spec.disk_bytes));
	json_object_set_new(row, "memory_bytes", integer(r->spec.lru ? 0 : r->spec.memory_bytes));
	if (r->spec.bound)
		add_limits(row, &r->facts);
	else
		add_facts(row, &r->facts);
	if (all) {
		const struct policy_facts *a = &all->facts, *f = &r->facts;
		double saved = a->written_bytes - f->written_bytes;
		json_object_set_new(row, "saved_bytes", real(saved));
		json_object_set_new(row, "saved_ratio",
				    real(a->written_bytes > 0 ? saved / a->written_bytes : 0));
		json_object_set_new(row, "extra_origin_requests",
				    real(f->origin_requests - a->origin_requests));
		json_object_set_new(row, "extra_origin_bytes",
				    real(f->origin_bytes - a->origin_bytes));
	}
	json_object_set_new(row, "sightings", integer(r->spec.sightings));
	json_object_set_new(row, "capacity", integer(r->spec.sights.memory.capacity));
	json_object_set_new(row, "filter_bytes", integer(r->sights.memory_bytes));
	json_object_set_new(row, "filter_rotations", integer(r->sights.rotations));
	json_object_set_new(row, "false_positives",
			    real(r->sights.first
					 ? (double)r->sights.false_first / (double)r->sights.first
					 : 0));
	return row;
}

static json_t *
suggestion(const struct study *s, const struct study_options *o)
{
	struct advice a;
	advice_find(&a, s, o);
	json_t *top = json_object(), *reasons;
	if (!a.row) {
		json_object_set_new(top, "none", string(a.none));
		return top;
	}
	reasons = json_array();
	json_object_set_new(top, "policy", string(a.row->spec.text));
	json_object_set_new(top, "row", integer((uint64_t)(a.row - s->rows)));
	json_object_set_new(top, "disk_bytes", integer(a.row->spec.disk_bytes));
	for (unsigned i = 0; i < a.reasons_n; i++)
		json_array_append_new(reasons, string(a.reasons[i]));
	json_object_set_new(top, "reasons", reasons);
	json_object_set_new(top, "yaml", string(a.yaml));
	json_object_set_new(top, "drive_years", real(a.years));
	json_object_set_new(top, "drive_years_admitting_all", real(a.years_all));
	return top;
}

static void
add_sentence(void *ctx, const char *sentence)
{
	json_array_append_new(ctx, string(sentence));
}

void
account_json(FILE *to, const struct study *s, const struct study_options *o)
{
	json_t *top = json_object(), *policies = json_array(), *assumptions = json_array();
	json_t *warnings = json_array();
	for (unsigned i = 0; i < s->rows_n; i++)
		json_array_append_new(policies, policy_row(s, &s->rows[i]));
	account_assumptions(s, o, add_sentence, assumptions);
	doubts_tell(s, add_sentence, warnings);
	json_object_set_new(top, "warnings", warnings);
	json_object_set_new(top, "logs", logs(s));
	json_object_set_new(top, "left_out", left_out(s));
	json_object_set_new(top, "log", traffic(s));
	json_object_set_new(top, "policies", policies);
	json_object_set_new(top, "suggestion", suggestion(s, o));
	json_object_set_new(top, "assumptions", assumptions);
	json_object_set_new(top, "stopped", json_boolean(s->stopped));
	json_object_set_new(top, "passes", integer(s->passes));
	json_object_set_new(top, "lines", integer(s->lines));
	json_object_set_new(top, "seconds", real(s->seconds));
	json_object_set_new(top, "table_bytes", real(s->memory_bytes));
	json_dumpf(top, to, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
	fputc('\n', to);
	json_decref(top);
}
