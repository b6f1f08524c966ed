/* changes.c - which settings a running proxy takes over at once, and which need a restart; and a
 * configuration that keeps what cannot change now.
 *
 * One row per setting, or per group of settings; test_config holds the rows against the schema, so
 * that a new setting cannot be forgotten here.
 */
#include "config/changes.h"
#include "config/config.h"
#include "config/name.h"
#include "config/rules.h"
#include "config/schema.h"

#include <stdio.h>
#include <string.h>

struct row {
	const char *setting; /* "cache.disk"; "cache": all of the group that have no row */
	const char *why;     /* it needs a restart; NULL: it is taken over at once */
	/* If set, a change is taken over at once where this says so. */
	bool (*fits)(const struct config *running, const struct config *fresh);
};

/* One and two sightings are asked of the same filter; that of `auto` counts to three. */
static bool
same_filter(const struct config *running, const struct config *fresh)
{
	unsigned now = running->admission.sightings, next = fresh->admission.sightings;
	if (running->admission.filter != fresh->admission.filter)
		return false;
	if (!now)
		return next <= CONFIG_SIGHTINGS_CHOSEN_MOST;
	return running->admission.filter == CONFIG_FILTER_PAIR && now <= 2 && next && next <= 2;
}

/* Connections are counted by address from the start, or not at all. */
static bool
both_count(const struct config *running, const struct config *fresh)
{
	return running->limits.per_address && fresh->limits.per_address;
}

static bool
both_count_handshakes(const struct config *running, const struct config *fresh)
{
	return running->tls.handshakes_per_address && fresh->tls.handshakes_per_address;
}

static const char start[] = "it is made at the start";
static const char files[] = "the files of the cache are opened with it";
static const char filter[] = "the filter is made with it";
static const char counts[] = "connections are counted by address from the start, or not at all";

/* clang-format off */
static const struct row rows[] = {
	{"listen",                     NULL,   NULL},
	{"admin",                      "the admin server listens there from the start", NULL},
	{"admin_hosts",                NULL,   NULL},
	{"admin_token",                NULL,   NULL},
	{"admin_token_file",           NULL,   NULL},
	{"admin_socket",               "the admin server listens there from the start", NULL},
	{"socket_mode",                "sockets are made with it", NULL},
	{"user",                       "the program became that user at the start", NULL},
	{"group",                      "the program became that user at the start", NULL},
	{"workers",                    start,  NULL},
	{"origins",                    NULL,   NULL},
	{"resolve",                    NULL,   NULL},
	{"cache",                      NULL,   NULL},
	{"cache.dir",                  files,  NULL},
	{"cache.disk",                 files,  NULL},
	{"cache.keep_free",            files,  NULL},
	{"cache.max_object",           files,  NULL},
	{"cache.io_threads",           start,  NULL},
	{"cache.verify",               files,  NULL},
	{"cache.scrub_every",          files,  NULL},
	{"cache.read_timeout",         files,  NULL},
	{"cache.required",             start,  NULL},
	{"cache.memory",               start,  NULL},
	{"more_disks",                 files,  NULL},
	{"compress",                   NULL,   NULL},
	{"accept_encoding",            NULL,   NULL},
	{"admission",                  NULL,   NULL},
	{"admission.filter",           filter, NULL},
	{"admission.sightings",        filter, same_filter},
	{"admission.capacity",         filter, NULL},
	{"admission.false_positives",  filter, NULL},
	{"admission.rotate_after",     filter, NULL},
	{"request_headers",            NULL,   NULL},
	{"response_headers",           NULL,   NULL},
	{"rate",                       NULL,   NULL},
	{"routes",                     NULL,   NULL},
	{"limits",                     NULL,   NULL},
	{"limits.per_address",         counts, both_count},
	{"http2",                      NULL,   NULL},
	{"timeouts",                   NULL,   NULL},
	{"tls",                        NULL,   NULL},
	{"tls.ticket_period",          "tickets are numbered by it", NULL},
	{"tls.handshakes_per_address", counts, both_count_handshakes},
	{"forwarded",                  NULL,   NULL},
	{"fleet",                      NULL,   NULL},
	{"fleet.secret_file",          "the seed of the cache's hashes is made of it", NULL},
	{"access_log",                 NULL,   NULL},
	{"access_log_format",          NULL,   NULL},
	{"log_level",                  NULL,   NULL},
};
/* clang-format on */

static const struct row *
find(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strlen(rows[i].setting) == n && memcmp(rows[i].setting, name, n) == 0)
			return &rows[i];
	return NULL;
}

static const struct row *
row_of(const char *setting)
{
	const struct row *own = find(setting, strlen(setting));
	return own ? own : find(setting, strcspn(setting, "."));
}

const char *
config_restart_for(const struct config *running, const struct config *fresh, const char *setting)
{
	const struct row *row = row_of(setting);
	if (!row)
		return "nobody has said yet how it could change"; /* our fault: see test_config */
	return row->fits && row->fits(running, fresh) ? NULL : row->why;
}

/* ---- what stays ------------------------------------------------------------------------------ */

struct carrying {
	const struct config *running, *asked; /* asked: as fresh was, whatever was taken back */
	struct config *fresh, *copy;	      /* of running, for its values to be taken from */
};

static void
swap(void *a, void *b, size_t n)
{
	unsigned char *x = a, *y = b;
	for (size_t i = 0; i < n; i++) {
		unsigned char was = x[i];
		x[i] = y[i];
		y[i] = was;
	}
}

/* The member, and the count of a list: each config owns what it holds afterwards as before. */
static void
swap_value(const struct setting *s, char *a, char *b)
{
	bool counted = s->kind == KIND_LIST || s->kind == KIND_GROUPS;
	swap(a + s->at, b + s->at, counted ? sizeof(char *) : s->bytes);
	if (counted)
		swap(a + s->count_at, b + s->count_at, sizeof(unsigned));
}

static void
take_back(const struct carrying *c, const char *setting)
{
	size_t top = strcspn(setting, ".");
	char *fresh = (char *)c->fresh, *copy = (char *)c->copy;
	for (const struct setting *s = schema_top; s->key; s++) {
		if (strlen(s->key) != top || memcmp(s->key, setting, top) != 0)
			continue;
		if (s->kind != KIND_GROUP)
			swap_value(s, fresh, copy);
		for (const struct setting *in = s->kind == KIND_GROUP ? s->inside : NULL;
		     in && in->key; in++)
			if (strcmp(in->key, setting + top + 1) == 0)
				swap_value(in, fresh + s->at, copy + s->at);
	}
}

static void
on_difference(void *ctx, const char *setting)
{
	const struct carrying *c = ctx;
	if (config_restart_for(c->running, c->asked, setting))
		take_back(c, setting);
}

const char *
config_keep(struct config *fresh, const struct config *running, char *err, size_t err_bytes)
{
	struct config copy, asked;
	char why[400], name[CONFIG_NAME_BYTES];
	config_copy(&copy, running);
	config_copy(&asked, fresh);
	config_differences(running, &asked, on_difference,
			   &(struct carrying){running, &asked, fresh, &copy});
	config_fini(&copy);
	config_fini(&asked);
	const char *bad = rules_broken(fresh, why, sizeof why);
	if (bad) /* the sentence begins with the name */
		snprintf(err, err_bytes,
			 "%s; until a restart, settings that need one keep their values",
			 why + strlen(config_name(bad, name)) + 2);
	return bad;
}
