/* server_shelves.c - what is kept, and what is known of it, opened as the configuration says. */
#include "proxy/node/server_inside.h"

#include "config/config.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/flight/flight.h"
#include "proxy/coding/packer.h"
#include "proxy/node/challenges.h"
#include "proxy/node/chronicle.h"
#include "proxy/node/heir.h"
#include "proxy/node/membership.h"
#include "proxy/node/sibling_door.h"
#include "proxy/node/preflight.h"
#include "proxy/serve/routes/rates.h"
#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/rests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static unsigned
cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

unsigned
server_workers(const struct config *c)
{
	return c->workers ? c->workers : cores();
}

static struct twice_filter_options
memory_of(const struct config *c)
{
	static const enum twice_filter_kind kind_of[] = {
		[CONFIG_FILTER_PAIR] = TWICE_FILTER_PAIR,
		[CONFIG_FILTER_COUNTING] = TWICE_FILTER_COUNTING,
		[CONFIG_FILTER_STABLE] = TWICE_FILTER_STABLE,
		[CONFIG_FILTER_SCALABLE] = TWICE_FILTER_SCALABLE,
	};
	return (struct twice_filter_options){
		.kind = kind_of[c->admission.filter],
		.sightings = c->admission.sightings ? c->admission.sightings : CHOICE_MANY,
		.capacity = c->admission.capacity,
		.false_positives = c->admission.false_positives,
		.rotate_after_s = c->admission.rotate_after_s,
	};
}

void
server_budget(const struct config *c, struct seen_rule *out)
{
	const struct config_admission *a = &c->admission;
	*out = (struct seen_rule){a->sightings, a->fill_until, .address_bytes = a->address_bytes};
	out->write_budget_bytes_s = config_budget(c, &out->write_budget_saved_s);
}

int
server_open_sightings(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
	struct seen_options o = {
		.cache = s->shelves.cache,
		.saved = c->cache.dir != NULL,
		.memory = memory_of(c),
		.max_object_bytes = c->cache.max_object_bytes,
		.now_ms = now_ms(),
	};
	server_budget(c, &o.rule);
	return seen_open(&s->shelves.seen, &o, err, err_bytes);
}

/* The ghost takes at most an eighth of what the RAM tier does, and is exact up to so many objects.
 * More would make it dearer than a hundredth of a request: an event costs 100 ns while its tables
 * fit in the processor's caches, 440 ns with 200,000 objects; sampled, only some requests are
 * events. All of it, notes and ghost, is 0.6% of the CPU time both of hits in RAM (bench/load
 * --same 400 --bytes 1024) and of the mix (--cdn): perf record -e task-clock -p PID, symbols of
 * bill, baseline and ghost. */
static uint32_t
ghost_entries(const struct config *c)
{
	enum { LEAST = 16 << 10, MOST = 32 << 10, BYTES_EACH = 136 };
	uint64_t n = c->cache.memory_bytes / 8 / BYTES_EACH;
	return n < LEAST ? LEAST : n > MOST ? MOST : (uint32_t)n;
}

uint32_t
server_packing_ppm(const struct config *c)
{
	return (uint32_t)(c->admission.compress.cpu * 1e6);
}

/* Without a disk nothing is packed. */
static void
open_packer(struct server *s)
{
	const struct config *c = s->edition->config;
	if (c->cache.dir)
		s->shelves.packer = packer_start(server_packing_ppm(c), now_us());
}

int
server_open_shelves(struct server *s, char *err, size_t err_bytes)
{
	const struct config *c = s->edition->config;
	struct shelves *sh = &s->shelves;
	struct cache_disk more[CONFIG_DISKS_MOST];
	for (unsigned i = 0; i < c->disk_count; i++)
		more[i] = (struct cache_disk){c->disks[i].dir, c->disks[i].bytes};
	struct cache_options o = {
		.more = more,
		.more_n = c->disk_count,
		.dir = c->cache.dir,
		.disk_bytes = c->cache.disk_bytes,
		.memory_bytes = c->cache.memory_bytes,
		.max_object_bytes = c->cache.max_object_bytes,
		.keep_free = c->cache.keep_free,
		.scrub_every_s = c->cache.checks.scrub_every_s,
		.io_threads = c->cache.io_threads,
		.verify_always = c->cache.checks.verify == CONFIG_VERIFY_ALWAYS,
		.read_limit_ms = (unsigned)c->cache.read_timeout_ms,
		.required = c->cache.required,
		.still_ms = (unsigned)preflight_disk_ms(c),
	};
	char seed[CACHE_SEED_BYTES];
	if (membership_seed(c, seed, &o.seed, err, err_bytes))
		return -1;
	if (s->heir) { /* another process still writes to the directories, and has their locks */
		o.locks_n = heir_locks(s->heir, &o.locks);
		o.rests = !heir_is_alone(s->heir);
	}
	o.reserve_bytes = baseline_reserve_bytes(c->cache.disk_bytes, c->admission.capacity);
	int opened = cache_open(&sh->cache, &o, err, err_bytes);
	explicit_bzero(seed, sizeof seed);
	if (opened)
		return -1;
	sh->seed = cache_seed(sh->cache);
	s->outward.membership =
		membership_create(sh, s->names.origins.resolver, s->outward.siblings, s->version);
	membership_count_by(s->outward.membership, server_admin_count, s);
	sh->fleet = membership_charts(s->outward.membership);
	if (config_has_fleet(c))
		sh->relay = membership_relay(s->outward.membership);
	s->chronicle = chronicle_create(sh->cache);
	if (server_open_sightings(s, err, err_bytes))
		return -1;
	unsigned saved_s;
	uint64_t budget_bytes_s = config_budget(c, &saved_s);
	struct sighting_settings asked = seen_settings(sh->seen);
	struct baseline_options b = {
		.ghost =
			{
				.disk_bytes = config_disk_bytes(c),
				.reserve_bytes = o.reserve_bytes,
				.max_object_bytes = o.max_object_bytes,
				.memory_bytes = o.memory_bytes,
				.max_entries = ghost_entries(c),
			},
		.what_if = {.memory = memory_of(c),
			    .chooses = !c->admission.sightings,
			    .sightings = asked.sightings,
			    .large_sightings = asked.large_sightings,
			    .budget_bytes_s = budget_bytes_s,
			    .budget_saved_s = saved_s},
		.rings = server_workers(c),
		.cache = c->cache.dir ? sh->cache : NULL,
	};
	if (baseline_create(&sh->baseline, &b)) {
		snprintf(err, err_bytes,
			 "cannot start the thread of the baseline; raise the limit on threads");
		return -1;
	}
	uint64_t budget = c->cache.memory_bytes / 4;
	struct flights_options f = {.window_bytes = 512 << 10, .cache = sh->cache};
	f.total_bytes = budget > 64 << 20 ? budget : 64 << 20;
	f.retain_bytes = f.total_bytes / 2;
	sh->flights = flights_create(&f);
	open_packer(s);
	sh->passes = passes_create();
	sh->rests = rests_create();
	sh->rates = rates_create();
	sh->challenges = challenges_create();
	return 0;
}
