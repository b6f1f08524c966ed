/* fleet_adopt.c - members become siblings, rings, and what people see. */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/origin/origin.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- siblings ------------------------------------------------------------------------------ */

static bool
is_same(const struct member *a, const struct member *b)
{
	return a->id == b->id && a->instance == b->instance && a->weight == b->weight &&
	       a->drains == b->drains && strcmp(a->name, b->name) == 0 && member_is_near(a, b) &&
	       strcmp(a->address, b->address) == 0 && strcmp(a->version, b->version) == 0;
}

static struct sibling *
find(const struct fleet *f, uint64_t id)
{
	for (unsigned i = 0; i < f->roster.n; i++)
		if (f->siblings[i]->m.id == id)
			return f->siblings[i];
	return NULL;
}

/* The requests of clients that are its go there. A node that takes no connection at once, or says nothing, is passed
 * over; one of another zone may be some way off. */
static struct origin *
origin_of(const struct fleet *f, const struct member *m)
{
	enum {
		CONNECT_MS = 50,
		FAR_CONNECT_MS = 200,
		SILENT_MS = 400,
		PAUSE_MS = 5 * 60 * 1000,
		CONNECTIONS = 1024
	};
	const struct fleet_texts *t = &f->texts;
	char url[MEMBER_ADDRESS + 16], err[256];
	unsigned char ip[16];
	bool tls = t->cert_file != NULL;
	bool is_named = network_address(str_of(m->name), ip) != 0;
	snprintf(url, sizeof url, "http%s://%s", tls ? "s" : "", m->address);
	const struct origin_options o = {
		.url = url,
		.server_name = tls && is_named ? m->name : NULL,
		.ca_file = tls ? t->ca_file : NULL,
		.cert_file = tls ? t->cert_file : NULL,
		.key_file = tls ? t->key_file : NULL,
		.connect_timeout_ms = member_is_near(m, &f->me) ? CONNECT_MS : FAR_CONNECT_MS,
		.first_byte_timeout_ms = SILENT_MS,
		.read_timeout_ms =
			PAUSE_MS, /* behind the first byte it waits for origins as its own limits say */
		.max_connections = CONNECTIONS,
	};
	return origin_create(&o, err, sizeof err);
}

/* One that has not changed stays, and what is known of its standing with it. */
static struct sibling *
sibling_of(const struct fleet *f, const struct member *m)
{
	struct sibling *s = find(f, m->id);
	bool is_self = m->id == f->me.id;
	if (!s || !is_same(&s->m, m) || s->is_self != is_self) {
		s = NEW(struct sibling);
		s->m = *m;
		s->is_self = is_self;
		replica_init(&s->replica);
		s->origin = is_self ? NULL : origin_of(f, m);
	}
	return chart_ref_sibling(s);
}

static void
drop_siblings(struct sibling **of, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		chart_unref_sibling(&of[i]);
	free(of);
}

/* ---- news ---------------------------------------------------------------------------------- */

static void
tell_news(const struct fleet *f, const struct roster *r)
{
	for (unsigned i = 0; i < r->n; i++) {
		const struct member *m = &r->of[i];
		const struct sibling *s = find(f, m->id);
		if (!s)
			log_info("fleet: %s (%s) is a member", m->name, m->address);
		else if (s->m.drains != m->drains)
			log_info("fleet: %s %s", m->name,
				 m->drains ? "drains: it owns nothing any more"
					   : "owns its share again");
	}
	for (unsigned i = 0; i < f->roster.n; i++) {
		const struct member *m = &f->roster.of[i];
		bool stays = false;
		for (unsigned k = 0; k < r->n && !stays; k++)
			stays = r->of[k].id == m->id;
		if (!stays)
			log_info("fleet: %s (%s) is no member any more", m->name, m->address);
	}
	if (r->refused && r->refused != f->roster.refused)
		log_warning(
			"fleet: %u records at the engine are not signed with this secret; they are "
			"ignored",
			r->refused);
}

/* ---- charts -------------------------------------------------------------------------------- */

static void
put_chart(struct fleet *f, struct chart *c)
{
	chart_unref(&f->chart);
	f->chart = c;
	if (f->runs)
		charts_put(f->charts, chart_ref(c));
}

void
fleet_end_charts(struct fleet *f)
{
	chart_unref(&f->chart);
	drop_siblings(f->siblings, f->roster.n);
	f->siblings = NULL;
	roster_fini(&f->roster);
}

void
fleet_adopt(struct fleet *f, struct roster *r)
{
	struct sibling **of = mem_zalloc((r->n + 1) * sizeof(struct sibling *));
	bool moves = !roster_has_ring_of(r, &f->roster);
	tell_news(f, r);
	for (unsigned i = 0; i < r->n; i++)
		of[i] = sibling_of(f, &r->of[i]);
	struct chart_self self = {.id = f->me.id, .secret = f->secret};
	snprintf(self.name, sizeof self.name, "%s", f->me.name);
	snprintf(self.zone, sizeof self.zone, "%s", f->me.zone);
	struct chart *c = chart_make(r, of, &self);
	put_chart(f, c);
	secret_forget(&self.secret);
	drop_siblings(f->siblings, f->roster.n);
	roster_fini(&f->roster);
	f->siblings = of;
	f->roster = *r;
	*r = (struct roster){0};
	inquiry_settle(f->inquiry, f->siblings, f->roster.n);
	fleet_digests_settle(f);
	f->purges.journal.members[0] = '\0'; /* these are they, or newer ones */
	fleet_purges_settle(f, now_ms());
	pthread_mutex_lock(&f->lock);
	f->state.changes += moves;
	pthread_mutex_unlock(&f->lock);
	fleet_show(f, now_ms());
}

/* ---- for people ---------------------------------------------------------------------------- */

static int
by_zone_and_name(const void *a, const void *b)
{
	const struct member *x = &((const struct fleet_row *)a)->m,
			    *y = &((const struct fleet_row *)b)->m;
	int zone = strcmp(x->zone, y->zone);
	return zone ? zone : strcmp(x->name, y->name);
}

void
fleet_show(struct fleet *f, int64_t now)
{
	struct fleet_row *rows = mem_zalloc((f->roster.n + 1) * sizeof *rows);
	unsigned well = 0, slots = 0;
	struct outbox_facts out = outbox_facts(f->purges.outbox);
	f->shown_ms = now;
	for (unsigned i = 0; i < f->roster.n; i++) {
		const struct sibling *s = f->siblings[i];
		rows[i] = (struct fleet_row){.m = s->m,
					     .slots = zones_owned(&f->chart->zones, &f->roster, i),
					     .is_self = s->is_self,
					     .owes = spread_owes(f->purges.spread, s->m.id),
					     .is_well = standing_is_well(&s->standing, now)};
		well += rows[i].is_well;
		slots += s->is_self ? rows[i].slots : 0;
	}
	qsort(rows, f->roster.n, sizeof *rows, by_zone_and_name);
	pthread_mutex_lock(&f->lock);
	free(f->rows);
	f->rows = rows;
	f->rows_n = f->state.members = f->roster.n;
	f->state.well = well;
	f->state.slots = slots;
	f->state.zones = f->chart->zones.n;
	f->state.digests = f->digests.facts;
	f->state.behind = fleet_purges_behind(f, now);
	f->state.purges = spread_facts(f->purges.spread);
	f->state.holds = fleet_has_journal(f) && journal_state_holds(f->purges.journal.state);
	f->state.journal = f->purges.journal.facts;
	f->state.journal.waiting = out.parcels;
	f->state.dropped = out.dropped;
	f->state.collapsed = out.collapsed;
	f->state.hands_over = f->roster.hands_over;
	f->state.refused = f->roster.refused;
	f->state.has_engine = f->beats.engine != NULL;
	f->state.engine_answers = f->beats.answers;
	snprintf(f->state.engine, sizeof f->state.engine, "%s",
		 f->beats.engine ? engine_name(f->beats.engine) : "");
	snprintf(f->state.why, sizeof f->state.why, "%s", f->beats.why);
	pthread_mutex_unlock(&f->lock);
}
