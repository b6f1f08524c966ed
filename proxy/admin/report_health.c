/* report_health.c - names go to those who may see statistics. */
#include "proxy/admin/report_health.h"

static json_t *
json_of_text(const char *text)
{
	json_t *json = json_string(text);
	return json ? json : json_string("(not UTF-8)");
}

static json_t *
json_of_reason(const struct judgement_reason *why)
{
	struct buf says = {0};
	buf_printf(&says, "%s%s%s", why->says, *why->names ? ": " : "", why->names);
	buf_add(&says, "", 1);
	json_t *json = json_pack("{s:s, s:o}", "level", judgement_word(why->level), "says",
				 json_of_text(says.p));
	buf_fini(&says);
	return json;
}

void
report_health_json(const struct report *r, json_t *to)
{
	const struct judgement *j = &r->health.judgement;
	json_t *why = json_array();
	for (unsigned i = 0; i < j->count; i++)
		json_array_append_new(why, json_of_reason(&j->reasons[i]));
	json_object_set_new(to, "state", json_string(judgement_word(j->level)));
	json_object_set_new(to, "for_s",
			    json_integer(r->now_s > j->since_s ? r->now_s - j->since_s : 0));
	json_object_set_new(to, "why", why);
}

static double
share(double part, double whole)
{
	return whole > 0 ? part < whole ? part / whole : 1 : 0;
}

json_t *
report_minute_json(const struct report *r)
{
	const struct report_minute *m = &r->health.minute;
	double s = m->seconds;
	if (s <= 0)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "seconds", s,
			 "requests_per_s", m->came[REPORT_requests] / s, "hit_ratio",
			 share(m->came[REPORT_hits], m->came[REPORT_requests]), "failed_ratio",
			 share(m->failed, m->came[REPORT_requests]), "to_clients_per_s",
			 m->came[REPORT_to_clients] / s, "from_origin_per_s",
			 m->came[REPORT_from_origin] / s, "origin_requests_per_s",
			 m->came[REPORT_origin_requests] / s, "origin_errors_per_s",
			 m->came[REPORT_origin_errors] / s, "written_per_s",
			 m->came[REPORT_written] / s);
}
