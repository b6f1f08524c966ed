/* membership_stats.c - what all nodes of the fleet have counted, and their sum: JSON for the admin server. */
#include "proxy/node/membership_inside.h"

#include "proxy/admin/summary.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/survey.h"

#include <stdlib.h>

static void
count_here(const struct membership *m, struct summary *out)
{
	struct report *r = NEW(struct report);
	m->count(m->count_ctx, r);
	summary_of(r, out);
	free(r);
}

void
membership_stats_tell(void *ctx, struct buf *out)
{
	const struct membership *m = ctx;
	struct summary s;
	count_here(m, &s);
	summary_format(&s, out);
}

/* ---- one node ------------------------------------------------------------------------------ */

struct stats {
	const struct membership *of;
	const struct survey_result *found;
	struct summary sum;
	json_t *nodes, *silent;
};

static const struct survey_row *
row_of(const struct stats *s, uint64_t id)
{
	for (unsigned i = 0; i < s->found->n; i++)
		if (s->found->of[i].id == id)
			return &s->found->of[i];
	return NULL;
}

/* NULL, or why there are no numbers of it. */
static const char *
read_numbers(const struct stats *s, const struct fleet_row *node, struct summary *out)
{
	const struct survey_row *r = row_of(s, node->m.id);
	if (node->is_self)
		count_here(s->of, out);
	else if (!r)
		return "it is a member only since now";
	else if (!r->said.n)
		return r->why;
	else if (summary_parse(buf_str(&r->said), out))
		return "its answer makes no sense";
	return NULL;
}

static void
add_node(struct stats *s, const struct fleet_row *node, json_t *row)
{
	struct summary one;
	const char *why = read_numbers(s, node, &one);
	json_object_set_new(row, "answers", json_boolean(!why));
	if (why) {
		json_object_set_new(row, "why", json_string(why));
		json_array_append_new(s->silent, json_string(node->m.name));
	} else {
		json_object_set_new(row, "numbers", summary_json(&one));
		summary_add(&s->sum, &one);
	}
	json_array_append_new(s->nodes, row);
}

/* ---- all ----------------------------------------------------------------------------------- */

json_t *
membership_stats_json(const struct membership *m, json_t *(*row)(const struct fleet_row *r))
{
	struct survey_result *found = fleet_survey(m->fleet);
	struct fleet_state state;
	struct stats s = {.of = m, .found = found};
	if (!found)
		return NULL;
	struct fleet_row *rows = mem_zalloc(RING_NODES * sizeof *rows);
	unsigned n = fleet_tell(m->fleet, &state, rows, RING_NODES);
	s.nodes = json_array();
	s.silent = json_array();
	for (unsigned i = 0; i < n; i++)
		add_node(&s, &rows[i], row(&rows[i]));
	free(rows);
	survey_result_unref(&found);
	return json_pack("{s:b, s:o, s:o, s:o}", "hands_over", state.hands_over, "silent", s.silent,
			 "sum", summary_json(&s.sum), "nodes", s.nodes);
}
