/* membership.c - one fleet that runs, perhaps another one that is being opened, and two files. */
#include "proxy/node/membership_inside.h"

#include "config/config.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_files.h"
#include "proxy/cache/heritage.h"
#include "proxy/fleet/journal_state.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/outbox.h"

#include <errno.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MEMBERS_MOST = 2 << 20 };

static const char NODE_FILE[] = "fleet.node", MEMBERS_FILE[] = "fleet.members";

/* ---- files --------------------------------------------------------------------------------- */

static int
fill(int (*write)(void *, const void *, size_t), void *to, void *ctx)
{
	const struct str *bytes = ctx;
	return write(to, bytes->p, bytes->n);
}

/* False: it is to be tried again. While another process opens the cache it is that one's to write. */
static bool
save(struct membership *m, const char *name, struct str bytes)
{
	bool saved = !cache_rests(m->cache) &&
		     (cache_save_file(m->cache, name, fill, &bytes) == 0 || errno == ENOTDIR);
	if (!saved && !m->fails && !cache_rests(m->cache))
		log_warning("fleet: cannot save %s in %s: %s", name, cache_directory(m->cache),
			    strerror(errno));
	m->fails = !saved;
	return saved;
}

static void
save_id(struct membership *m)
{
	char text[NODE_ID_TEXT + 2];
	if (!atomic_exchange(&m->new_id, false))
		return;
	node_id_print(atomic_load(&m->id), text);
	if (!save(m, NODE_FILE, str_of(strcat(text, "\n"))))
		atomic_store(&m->new_id, true);
}

void
membership_save(struct membership *m)
{
	struct buf members = {0};
	if (!m->read)
		return;
	save_id(m);
	fleet_purger_save(m->purger);
	if (!atomic_exchange(&m->new_members, false))
		return;
	pthread_mutex_lock(&m->lock);
	buf_add_str(&members, buf_str(&m->members));
	pthread_mutex_unlock(&m->lock);
	if (!save(m, MEMBERS_FILE, buf_str(&members)))
		atomic_store(&m->new_members, true);
	buf_fini(&members);
}

static void
keep_id(void *ctx, uint64_t id)
{
	struct membership *m = ctx;
	atomic_store(&m->id, id);
	atomic_store(&m->new_id, true);
}

static void
keep_members(void *ctx, struct str members)
{
	struct membership *m = ctx;
	pthread_mutex_lock(&m->lock);
	m->members.n = 0;
	buf_add_str(&m->members, members);
	pthread_mutex_unlock(&m->lock);
	atomic_store(&m->new_members, true);
}

static void
hear(void *ctx, struct fleet_news *news)
{
	const struct membership *m = ctx;
	fleet_purger_hear(m->purger, news);
}

static void
hold(void *ctx, bool holds)
{
	const struct membership *m = ctx;
	cache_hold(m->cache, holds);
}

const struct relay *
membership_relay(const struct membership *m)
{
	return fleet_purger_relay(m->purger);
}

static void
read_files(struct membership *m)
{
	struct buf id = {0};
	const char *why;
	uint64_t number = 0;
	if (cache_read_file(m->cache, NODE_FILE, NODE_ID_TEXT + 1, &id, &why) &&
	    (why || !node_id_parse(str_before(buf_str(&id), '\n'), &number)))
		log_warning("fleet: %s in %s is damaged; this node has a new id", NODE_FILE,
			    cache_directory(m->cache));
	if (number)
		atomic_store(&m->id, number);
	if (cache_read_file(m->cache, MEMBERS_FILE, MEMBERS_MOST, &m->members, &why) && why)
		m->members.n = 0;
	buf_fini(&id);
	fleet_purger_read(m->purger, m->goes_on);
}

void
membership_go_on(struct membership *m)
{
	m->goes_on = true;
}

int
membership_seed(const struct config *c, char bytes[CACHE_SEED_BYTES], const char **seed, char *err,
		size_t err_bytes)
{
	struct secret secret;
	char why[400];
	*seed = NULL;
	if (!config_has_fleet(c))
		return 0;
	if (secret_read(&secret, c->fleet.secret_file, why, sizeof why)) {
		snprintf(err, err_bytes, "fleet.secret_file: %s", why);
		return -1;
	}
	secret_seed(&secret, bytes, CACHE_SEED_BYTES);
	secret_forget(&secret);
	*seed = bytes;
	return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static void
make_sendable(char *name)
{
	for (char *p = name; *p; p++)
		if (!member_may_be_named((struct str){p, 1}))
			*p = '-';
}

const char *
membership_name(const struct config *c, char out[MEMBERSHIP_NAME])
{
	_Static_assert((int)MEMBERSHIP_NAME == (int)MEMBER_NAME, "one and the same");
	out[MEMBER_NAME - 1] = '\0';
	if (c->fleet.name)
		snprintf(out, MEMBER_NAME, "%s", c->fleet.name);
	else if (gethostname(out, MEMBER_NAME - 1))
		out[0] = '\0';
	make_sendable(out);
	if (!*out)
		snprintf(out, MEMBER_NAME, "node");
	return out;
}

static uint64_t
weight_of(const struct config *c)
{
	uint64_t disk = config_disk_bytes(c), bytes = c->fleet.weight_bytes;
	if (!bytes)
		bytes = disk ? disk : c->cache.memory_bytes;
	return bytes < MEMBER_WEIGHT_MOST ? bytes : MEMBER_WEIGHT_MOST;
}

static void
add_list(struct buf *b, char *const *texts, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		buf_printf(b, "%s\n", texts[i]);
	buf_add_lit(b, "\n");
}

/* Two fleets of the same text are the same. Certificates are read anew by a reload, so where there are any none is. */
static void
describe(const struct config *c, const char *name, struct buf *b)
{
	const struct config_fleet *f = &c->fleet;
	add_list(b, f->engine, f->engine_count);
	add_list(b, f->members, f->member_count);
	add_list(b, f->networks, f->network_count);
	buf_printf(b, "%s\n%s\n%s\n%s\n%s\n%s\n%s\n%llu\n", f->listen ? f->listen : "",
		   f->ca_file ? f->ca_file : "", f->cert_file ? f->cert_file : "",
		   f->key_file ? f->key_file : "", f->secret_file ? f->secret_file : "", name,
		   f->zone ? f->zone : "", (unsigned long long)weight_of(c));
}

static bool
is_as_it_runs(const struct membership *m, const struct config *c)
{
	return m->fleet && !c->fleet.ca_file && !c->fleet.cert_file &&
	       str_eq(buf_str(&m->described), buf_str(&m->next_described));
}

static int
secure_door(struct membership *m, const struct config *c, const char **setting, char *err,
	    size_t err_bytes)
{
	const struct sibling_door_files f = {c->fleet.ca_file, c->fleet.cert_file,
					     c->fleet.key_file};
	return f.cert ? sibling_door_secure(m->door, &f, setting, err, err_bytes) : 0;
}

static int
open_next(struct membership *m, const struct config *c, const char *name, const char **setting,
	  char *err, size_t err_bytes)
{
	const struct config_fleet *f = &c->fleet;
	char zone[MEMBER_NAME];
	snprintf(zone, sizeof zone, "%s", f->zone ? f->zone : "");
	make_sendable(zone);
	pthread_mutex_lock(&m->lock);
	struct buf kept = {0};
	buf_add_str(&kept, buf_str(&m->members));
	pthread_mutex_unlock(&m->lock);
	const struct fleet_options o = {
		.engine = f->engine,
		.engine_n = f->engine_count,
		.members = f->members,
		.members_n = f->member_count,
		.listen = f->listen,
		.ca_file = f->ca_file,
		.cert_file = f->cert_file,
		.key_file = f->key_file,
		.networks = f->networks,
		.networks_n = f->network_count,
		.secret_file = f->secret_file,
		.words = {name, zone, m->version},
		.weight = weight_of(c),
		.id = atomic_load(&m->id),
		.instance = m->instance,
		.arrive = sibling_door_arrive,
		.arrive_ctx = m->door,
		.resolver = m->resolver,
		.charts = &m->charts,
		.kept = buf_str(&kept),
		.names = fleet_purger_names(m->purger),
		.outbox = fleet_purger_outbox(m->purger),
		.journal = fleet_purger_journal(m->purger),
		.hear = hear,
		.hold = hold,
		.count = membership_stats_tell,
		.keep_id = keep_id,
		.keep_members = keep_members,
		.ctx = m,
	};
	m->next = fleet_create(&o, setting, err, err_bytes);
	buf_fini(&kept);
	return m->next ? 0 : -1;
}

int
membership_open(struct membership *m, const struct config *c, const char **setting, char *err,
		size_t err_bytes)
{
	static const char *const settings[][2] = {
		{"secret_file", "fleet.secret_file"}, {"listen", "fleet.listen"},
		{"ca_file", "fleet.ca_file"},	      {"cert_file", "fleet.cert_file"},
		{"key_file", "fleet.key_file"},	      {"engine", "fleet.engine"},
		{"members", "fleet.members"},
	};
	const char *wrong = "";
	char name[MEMBER_NAME];
	membership_discard(m);
	m->changes = true;
	if (!config_has_fleet(c))
		return 0;
	membership_name(c, name);
	describe(c, name, &m->next_described);
	m->changes = !is_as_it_runs(m, c);
	if (!m->changes)
		return 0;
	if (!m->read)
		read_files(m);
	m->read = true;
	if (secure_door(m, c, &wrong, err, err_bytes) == 0 &&
	    open_next(m, c, name, &wrong, err, err_bytes) == 0) {
		bool may_lack = c->fleet.engine_count &&
				journal_state_holds(fleet_purger_journal(m->purger));
		if (!m->fleet) {
			cache_hold(m->cache, may_lack);
			fleet_purger_save(m->purger); /* numbers are given from now on */
		}
		return 0;
	}
	*setting = "fleet";
	for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++)
		if (strcmp(settings[i][0], wrong) == 0)
			*setting = settings[i][1];
	return -1;
}

/* ---- running ------------------------------------------------------------------------------- */

/* Numbers that only grow go on over a reload. */
static void
count_before(struct membership *m)
{
	struct fleet_state s;
	if (!m->fleet)
		return;
	fleet_tell(m->fleet, &s, NULL, 0);
	m->before.beats += s.beats;
	m->before.failed_beats += s.failed_beats;
	m->before.changes += s.changes;
	m->before.digests.heard += s.digests.heard;
	m->before.digests.failed += s.digests.failed;
	m->before.digests.wrong += s.digests.wrong;
	struct report_purges *p = &m->before.purges;
	p->sent += s.purges.sent;
	p->failed += s.purges.failed;
	p->collapsed += s.purges.collapsed;
	p->journal.appended += s.journal.appended;
	p->journal.entries += s.journal.entries;
	p->journal.refused += s.journal.refused;
	p->journal.renewed += s.journal.renewed;
	p->journal.emptied += s.journal.emptied;
}

void
membership_begin(struct membership *m)
{
	if (!m->changes)
		return;
	pthread_rwlock_wrlock(&m->using);
	struct fleet *old = m->fleet;
	count_before(m);
	m->fleet = m->next;
	m->next = NULL;
	pthread_rwlock_unlock(&m->using);
	buf_fini(&m->described);
	m->described = m->next_described;
	m->next_described = (struct buf){0};
	m->changes = false;
	fleet_destroy(&old, !m->fleet);
	if (!m->fleet) {
		outbox_shut(fleet_purger_outbox(m->purger));
		return;
	}
	if (!fleet_has_journal(m->fleet))
		cache_hold(m->cache, false);
	if (!fleet_purger_start(m->purger) || fleet_start(m->fleet))
		log_error("the fleet is not joined: there is no thread or memory for it");
}

void
membership_discard(struct membership *m)
{
	fleet_destroy(&m->next, false);
	m->next_described.n = 0;
	m->changes = false;
}

void
membership_end(struct membership *m, bool leaves)
{
	membership_discard(m);
	pthread_rwlock_wrlock(&m->using);
	struct fleet *old = m->fleet;
	m->fleet = NULL;
	pthread_rwlock_unlock(&m->using);
	fleet_destroy(&old, leaves);
	outbox_shut(fleet_purger_outbox(m->purger));
}

struct membership *
membership_create(const struct shelves *sh, struct resolver *resolver, struct sibling_door *door,
		  const char *version)
{
	struct membership *m = NEW(struct membership);
	m->cache = sh->cache;
	m->purger = fleet_purger_create(sh);
	m->resolver = resolver;
	m->door = door;
	m->version = version;
	while (!m->instance)
		RAND_bytes((unsigned char *)&m->instance, sizeof m->instance);
	pthread_mutex_init(&m->lock, NULL);
	pthread_rwlock_init(&m->using, NULL);
	charts_init(&m->charts, fleet_purger_names(m->purger));
	return m;
}

void
membership_destroy(struct membership **pm)
{
	struct membership *m = *pm;
	*pm = NULL;
	if (!m)
		return;
	membership_end(m, false);
	fleet_purger_destroy(&m->purger);
	buf_fini(&m->members);
	buf_fini(&m->described);
	buf_fini(&m->next_described);
	charts_fini(&m->charts);
	pthread_rwlock_destroy(&m->using);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void
membership_count_by(struct membership *m, void (*count)(void *ctx, struct report *out), void *ctx)
{
	m->count = count;
	m->count_ctx = ctx;
}

struct charts *
membership_charts(struct membership *m)
{
	return &m->charts;
}
