/* rooms: admin cache http base filter
 * test_judgement.c - what is well and what is not, as a table of reports.
 */
#include "proxy/admin/judgement.h"
#include "proxy/admin/report.h"
#include "tests/kit/unit.h"

#include <stdio.h>

enum { NOW = 1800000000, DAY = 86400 };

static void
well(struct report *r)
{
	(void)r;
}

static void
server(struct report *r, const char *group, enum report_condition condition)
{
	r->origins[r->origin_count++] = (struct report_origin){
		.url = "http://s", .group = group, .condition = condition, .why = "503"};
}

static void
lone_fails(struct report *r)
{
	server(r, NULL, REPORT_ORIGIN_FAILING);
}

static void
one_of_two(struct report *r)
{
	server(r, NULL, REPORT_ORIGIN_WELL);
	server(r, NULL, REPORT_ORIGIN_OUT);
}

static void
group_lost(struct report *r)
{
	server(r, "a", REPORT_ORIGIN_WELL);
	server(r, "b", REPORT_ORIGIN_OUT);
	server(r, "b", REPORT_ORIGIN_FAILING);
}

static void
answers(struct report *r, double all, double failed)
{
	r->health.minute.seconds = 60;
	r->health.minute.came[REPORT_requests] = all;
	r->health.minute.failed = failed;
}

static void
few(struct report *r)
{
	answers(r, 2, 2);
}
static void
below(struct report *r)
{
	answers(r, 1000, 9);
}
static void
some(struct report *r)
{
	answers(r, 1000, 10);
}
static void
half(struct report *r)
{
	answers(r, 6, 3);
}
static void
late(struct report *r)
{
	answers(r, 0, 5);
} /* of requests that came before */

static void
drains(struct report *r)
{
	r->health.draining = true;
}
static void
stands(struct report *r)
{
	r->health.stalled_workers = 1;
}
static void
suspended(struct report *r)
{
	r->cache.failing = true;
}
static void
refused(struct report *r)
{
	r->configuration.refused = true;
}

static void
lost_disk(struct report *r)
{
	r->health.lost_directories = 1;
	r->health.directories = 2;
	r->cache.failing = true;
}

static void
certificate(struct report *r, int64_t left_s)
{
	struct report_configuration *c = &r->configuration;
	c->certificates[c->certificate_count++] =
		(struct report_certificate){"a.test", "/a.pem", NOW + left_s};
}

static void
good(struct report *r)
{
	certificate(r, 14 * DAY);
}
static void
ends(struct report *r)
{
	certificate(r, 14 * DAY - 1);
	certificate(r, DAY);
}
static void
ended(struct report *r)
{
	certificate(r, 0);
	certificate(r, DAY);
}

static void
upgrade(struct report *r)
{
	snprintf(r->configuration.upgrade_failed, sizeof r->configuration.upgrade_failed,
		 "no room");
}

static void
away(struct report *r)
{
	r->health.fleet.is_node = r->health.fleet.engine_away = true;
	snprintf(r->health.fleet.engine, sizeof r->health.fleet.engine, "redis://r");
}

static void
much(struct report *r)
{
	away(r);
	refused(r);
	upgrade(r);
	ended(r);
	lost_disk(r);
	answers(r, 10, 10);
	group_lost(r);
	stands(r);
	drains(r);
}

static const struct {
	const char *says;
	void (*make)(struct report *r);
	enum judgement_level level;
	bool elsewhere;
	const char *line, *names;
} nodes[] = {
	/* clang-format off */
	{"nothing is wrong", well, JUDGEMENT_OK, false, "ok\n", NULL},
	{"of a lone server that fails nothing new is had", lone_fails, JUDGEMENT_FAILING, false, "failing: the only server of origins fails\n", "http://s is failing (503)"},
	{"the other server of a group answers", one_of_two, JUDGEMENT_DEGRADED, false, "degraded: 1 of 2 servers of origins fails\n", "http://s is out (503)"},
	{"a group without a server fails, whatever the others do", group_lost, JUDGEMENT_FAILING, false, "failing: 2 of 3 servers of origins fail, and a group has no other\n", "http://s is out (503), http://s is failing (503)"},
	{"two failed answers may be chance", few, JUDGEMENT_OK, false, "ok\n", NULL},
	{"less than a hundredth of failed answers is nothing to say", below, JUDGEMENT_OK, false, "ok\n", NULL},
	{"a hundredth is", some, JUDGEMENT_DEGRADED, false, "degraded: 1.0% of the answers of the last minute are errors of 5xx\n", ""},
	{"half of all is failing", half, JUDGEMENT_FAILING, false, "failing: 50% of the answers of the last minute are errors of 5xx\n", ""},
	{"answers to earlier requests are not more than all", late, JUDGEMENT_FAILING, false, "failing: 100% of the answers of the last minute are errors of 5xx\n", ""},
	{"who drains wants no more clients", drains, JUDGEMENT_FAILING, true, "failing: it is about to end\n", ""},
	{"nor does a worker that stands still", stands, JUDGEMENT_FAILING, true, "failing: 1 of 4 workers stand still (the log says more)\n", ""},
	{"a lost directory costs hits", lost_disk, JUDGEMENT_DEGRADED, false, "degraded: 1 of 2 directories of the cache cannot be used (the log says more)\n", ""},
	{"storing is suspended", suspended, JUDGEMENT_DEGRADED, false, "degraded: nothing is stored, for a disk fails\n", ""},
	{"a certificate for two weeks is renewed yet", good, JUDGEMENT_OK, false, "ok\n", NULL},
	{"one for less should have been", ends, JUDGEMENT_DEGRADED, false, "degraded: 2 certificates end within 14 days\n", "a.test (/a.pem) in 13 days, a.test (/a.pem) in 1 days"},
	{"one that has ended comes first", ended, JUDGEMENT_DEGRADED, false, "degraded: 1 certificate has expired\n", "a.test (/a.pem), a.test (/a.pem) in 1 days"},
	{"a reload was refused", refused, JUDGEMENT_DEGRADED, false, "degraded: the last reload was refused, and the configuration of before is in use (the log says why)\n", ""},
	{"the engine of the fleet is away", away, JUDGEMENT_DEGRADED, false, "degraded: the engine of the fleet cannot be used; its members stay as they are\n", "redis://r: it does not answer"},
	{"an upgrade failed", upgrade, JUDGEMENT_DEGRADED, false, "degraded: the last upgrade failed\n", "no room"},
	/* clang-format on */
};

static struct report *
report_of(void (*make)(struct report *r))
{
	struct report *r = calloc(1, sizeof *r);
	r->now_s = NOW;
	r->workers = 4;
	make(r);
	return r;
}

START_TEST(each_row)
{
	struct report *r = report_of(nodes[_i].make);
	struct judgement j;
	struct buf line = {0};
	judgement_of(r, &j);
	judgement_print(&j, &line);
	buf_add(&line, "", 1);
	ck_assert_msg(j.level == nodes[_i].level && j.elsewhere == nodes[_i].elsewhere,
		      "%s: level %d", nodes[_i].says, (int)j.level);
	ck_assert_msg(strcmp(line.p, nodes[_i].line) == 0, "%s: %s", nodes[_i].says, line.p);
	if (nodes[_i].names)
		ck_assert_msg(j.count == 1 && strcmp(j.reasons[0].names, nodes[_i].names) == 0,
			      "%s: %s", nodes[_i].says, j.reasons[0].names);
	buf_fini(&line);
	free(r);
}
END_TEST

START_TEST(all_of_it_has_room_and_the_worst_comes_first)
{
	struct report *r = report_of(much);
	struct judgement j;
	judgement_of(r, &j);
	ck_assert_uint_eq(j.count, JUDGEMENT_REASONS_MOST);
	for (unsigned i = 1; i < j.count; i++)
		ck_assert(j.reasons[i - 1].level >= j.reasons[i].level);
	free(r);
}
END_TEST

/* Names that do not fit are left out whole. */
START_TEST(many_servers_end_with_dots)
{
	struct report *r = report_of(well);
	struct judgement j;
	for (int i = 0; i < 200; i++)
		server(r, NULL, i ? REPORT_ORIGIN_OUT : REPORT_ORIGIN_WELL);
	judgement_of(r, &j);
	const char *names = j.reasons[0].names;
	ck_assert_str_eq(names + strlen(names) - 5, ", ...");
	ck_assert_ptr_nonnull(strstr(names, "(503), ..."));
	free(r);
}
END_TEST

UNIT("judgement", LOOP(each_row, nodes), TEST(all_of_it_has_room_and_the_worst_comes_first),
     TEST(many_servers_end_with_dots))
