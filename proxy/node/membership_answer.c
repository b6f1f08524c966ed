/* membership_answer.c - the fleet as an operator sees it: JSON for the admin server. */
#include "proxy/node/membership_inside.h"

#include "proxy/admin/admin.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/node_id.h"
#include "proxy/node/imagined.h"

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t
owed(struct fleet *f, struct fleet_state *s)
{
	struct fleet_row *rows = mem_zalloc(RING_NODES * sizeof *rows);
	unsigned n = fleet_tell(f, s, rows, RING_NODES);
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += rows[i].owes;
	free(rows);
	return sum;
}

static void
report_purges(struct membership *m, struct fleet_state *s, struct report_purges *out)
{
	struct fleet_purger_facts p = fleet_purger_facts(m->purger);
	const struct report_purges *b = &m->before.purges;
	*out = (struct report_purges){
		.owed = owed(m->fleet, s),
		.behind = s->behind,
		.sent = b->sent + s->purges.sent,
		.failed = b->failed + s->purges.failed,
		.heard = p.heard,
		.skipped = p.skipped,
		.unknown = p.unknown,
		.refused = p.refused,
		.invalidated = p.invalidated,
		.dropped = s->dropped,
		.collapsed = b->collapsed + s->purges.collapsed + s->collapsed,
		.journal = {s->holds, s->journal.waiting, b->journal.appended + s->journal.appended,
			    b->journal.entries + s->journal.entries,
			    b->journal.refused + s->journal.refused,
			    b->journal.renewed + s->journal.renewed,
			    b->journal.emptied + s->journal.emptied},
	};
}

void
membership_report(struct membership *m, struct report_fleet *out)
{
	struct fleet_state s = {0};
	pthread_rwlock_rdlock(&m->using);
	*out = (struct report_fleet){.is_node = m->fleet != NULL};
	if (m->fleet)
		report_purges(m, &s, &out->purges);
	s.beats += m->before.beats;
	s.failed_beats += m->before.failed_beats;
	s.changes += m->before.changes;
	s.digests.heard += m->before.digests.heard;
	s.digests.failed += m->before.digests.failed;
	s.digests.wrong += m->before.digests.wrong;
	pthread_rwlock_unlock(&m->using);
	out->members = s.members;
	out->well = s.well;
	out->share = (double)s.slots / RING_SLOTS;
	out->hands_over = s.hands_over;
	out->engine_away = s.has_engine && !s.engine_answers;
	out->beats = s.beats;
	out->failed_beats = s.failed_beats;
	out->changes = s.changes;
	out->refused = s.refused;
	out->digests.zones = s.zones;
	out->digests.held = s.digests.held;
	out->digests.bytes = s.digests.bytes;
	out->digests.heard = s.digests.heard;
	out->digests.failed = s.digests.failed;
	out->digests.wrong = s.digests.wrong;
	snprintf(out->engine, sizeof out->engine, "%s", s.engine);
	snprintf(out->why, sizeof out->why, "%s", s.why);
}

/* ---- a purge ------------------------------------------------------------------------------- */

static json_t *
named(const struct fleet_purged *p, enum spread_word word)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < p->n; i++)
		if (p->of[i].word == word)
			json_array_append_new(list, json_string(p->of[i].name));
	return list;
}

static void
tell_purged(struct membership *m, struct purge_others *others)
{
	struct fleet_purged *p = NEW(struct fleet_purged);
	bool well = fleet_purge_wait(m->fleet, fleet_purger_last(m->purger), others->wait_ms, p);
	bool kept = p->journaled || fleet_purger_save(m->purger) == 0;
	json_t *json = json_pack("{s:o, s:o, s:o}", "has", named(p, SPREAD_HAS), "refuses",
				 named(p, SPREAD_REFUSES), "silent", named(p, SPREAD_SILENT));
	json_object_set_new(json, "journal",
			    p->has_journal ? json_boolean(p->journaled) : json_null());
	others->lack = others->wait_ms && (!well || !kept);
	others->json = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	free(p);
}

void
membership_purged(struct membership *m, struct purge_others *others)
{
	pthread_rwlock_rdlock(&m->using);
	if (m->fleet)
		tell_purged(m, others);
	pthread_rwlock_unlock(&m->using);
}

/* ---- all members --------------------------------------------------------------------------- */

static json_t *
row_json(const struct fleet_row *r)
{
	char id[NODE_ID_TEXT + 1];
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:s, s:b, s:b, s:i}", "node",
			 r->m.name, "id", node_id_print(r->m.id, id), "zone", r->m.zone, "address",
			 r->m.address, "state", r->m.drains ? "draining" : "in", "weight",
			 (json_int_t)r->m.weight, "share", (double)r->slots / RING_SLOTS, "version",
			 r->m.version, "well", r->is_well, "self", r->is_self, "purges_behind",
			 (int)r->owes);
}

static json_t *
engine_json(const struct fleet_state *s)
{
	return s->has_engine ? json_pack("{s:s, s:b, s:s}", "name", s->engine, "answers",
					 s->engine_answers, "why", s->why)
			     : json_null();
}

static json_t *
members_json(struct fleet *f)
{
	struct fleet_state s;
	struct fleet_row *rows = mem_zalloc(RING_NODES * sizeof *rows);
	unsigned n = fleet_tell(f, &s, rows, RING_NODES);
	json_t *list = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, row_json(&rows[i]));
	free(rows);
	return json_pack("{s:o, s:b, s:s, s:i, s:o}", "engine", engine_json(&s), "hands_over",
			 s.hands_over, "secret", fleet_secret(f)->fingerprint, "port",
			 (int)fleet_port(f), "members", list);
}

/* ---- owners -------------------------------------------------------------------------------- */

static json_t *
sibling_json(const struct sibling *s)
{
	return s ? json_pack("{s:s, s:s, s:b, s:b}", "node", s->m.name, "address", s->m.address,
			     "well", standing_is_well(&s->standing, now_ms()), "self", s->is_self)
		 : json_null();
}

json_t *
membership_owners(const struct chart *c, struct str key, struct twice_key_hash h)
{
	struct sibling *owners[RING_DEEP];
	unsigned n = chart_owners(c, h.hi, owners);
	json_t *list = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(list, sibling_json(owners[i]));
	return json_pack("{s:s%, s:i, s:o, s:o, s:o}", "key", key.p, key.n, "slot",
			 (int)ring_slot(h.hi), "owners", list, "settled_owner",
			 sibling_json(chart_settled_owner(c, h.hi)), "across",
			 sibling_json(chart_across(c, h.hi, h.hi, now_ms())));
}

/* NULL and a sentence: it is not looked up in any ring. */
static json_t *
answer_owner(struct charts *charts, const struct settings *s, const struct twice_seed *seed,
	     const char *url, const char **no)
{
	struct imagined im = {0};
	struct imagined_order order = {.url = str_of(url)};
	json_t *json = NULL;
	struct chart *c = NULL;
	*no = imagined_init(&im, s, &order);
	if (*no)
		return NULL;
	if (im.fault || !im.shared)
		*no = "a request for it is not answered from a cache, so nobody owns it";
	else if ((c = charts_now(charts)))
		json = membership_owners(c, buf_str(&im.key.text),
					 twice_key_hash_of(seed, im.key.text.p, im.key.text.n));
	else
		*no = "this node is just joining or leaving its fleet";
	chart_unref(&c);
	imagined_fini(&im);
	return json;
}

/* ---- both ---------------------------------------------------------------------------------- */

struct question {
	const struct membership *of;
	struct fleet *fleet;
	struct charts *charts;
	const struct settings *settings;
	const struct twice_seed *seed;
	bool orders;
	const char *url, *drain, *undrain, *stats;
};

static int
say(struct buf *out, int status, const char *sentence)
{
	buf_printf(out, "%s\n", sentence);
	return status;
}

static int
answer_json(struct buf *out, json_t *json)
{
	char *text = json_dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	buf_printf(out, "%s\n", text ? text : "{}");
	free(text);
	json_decref(json);
	return 200;
}

static int
answer_stats(const struct question *q, struct buf *out)
{
	json_t *json = membership_stats_json(q->of, row_json);
	return json ? answer_json(out, json)
		    : say(out, 503, "this node is leaving its fleet, or is too busy to ask it");
}

static int
answer(const struct question *q, struct buf *out)
{
	char err[FLEET_WHY + 100];
	const char *node = q->drain ? q->drain : q->undrain, *no;
	if (!q->fleet)
		return say(out, 404,
			   "this proxy is in no fleet: its configuration has no fleet.engine or "
			   "fleet.members");
	if (q->orders != (node != NULL) || (q->drain && q->undrain))
		return say(out, 400,
			   "ask for GET /fleet, GET /fleet?url=URL, GET /fleet?stats=1, "
			   "POST /fleet?drain=NODE or POST /fleet?undrain=NODE");
	if (node)
		return fleet_drain(q->fleet, str_of(node), q->drain != NULL, err, sizeof err)
			       ? say(out, 409, err)
			       : answer_json(out, members_json(q->fleet));
	if (q->stats)
		return answer_stats(q, out);
	if (!q->url)
		return answer_json(out, members_json(q->fleet));
	json_t *json = answer_owner(q->charts, q->settings, q->seed, q->url, &no);
	return json ? answer_json(out, json) : say(out, 400, no);
}

int
membership_answer(struct membership *m, const struct settings *s, const struct twice_seed *seed,
		  bool orders, const char *query, struct buf *out)
{
	struct evkeyvalq pairs = {0};
	if (query && evhttp_parse_query_str(query, &pairs) < 0)
		return say(out, 400, "the query is malformed");
	pthread_rwlock_rdlock(&m->using);
	struct question q = {m,
			     m->fleet,
			     &m->charts,
			     s,
			     seed,
			     orders,
			     query ? evhttp_find_header(&pairs, "url") : NULL,
			     query ? evhttp_find_header(&pairs, "drain") : NULL,
			     query ? evhttp_find_header(&pairs, "undrain") : NULL,
			     query ? evhttp_find_header(&pairs, "stats") : NULL};
	int status = answer(&q, out);
	pthread_rwlock_unlock(&m->using);
	if (query)
		evhttp_clear_headers(&pairs);
	return status;
}
