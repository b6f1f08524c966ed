/* policy.c - the store's policy alone: the rule of admission, the filter, the log's choice of
 * victims and the RAM tier, as numbers without bytes, beside an exact LRU.
 *
 *	policy [--requests N] [--seed S] [--turn SHARE] [--sightings N] [--step | --sample | FILE...]
 *
 * Replays the CDN mix (proxy/cli/mix), or logs of lines "time id size", at disks of 5, 10, 20 and
 * 40% of the distinct bytes with a tenth of that as RAM. For each disk
 *
 *	object hits, byte hits    of the policy, and in points above a byte-exact LRU of the same
 *	                          disk that admits everything
 *	written                   bytes that reach the disk, as a multiple of those that an exact
 *	                          second hit (LRU, every URL remembered for ever) writes
 *
 * --step: instead, how the policy takes a shock in the middle of the mix, at a disk of 10%: a scan of
 * new URLs as large as the disk, all of them asked for twice, and a purge of all. Hits of the mix's
 * requests in the last hundredth before it, and in hundredths after it.
 *
 * --sample: instead, what admitting all writes at each of these disks as the baseline of the report
 * says it, which follows 32,768 objects and more only as a sample (ghost.h): in MB if it followed all,
 * and how much the samples that five hashes choose are off.
 *
 * --turn: a generation of the filter ends when so much of the log was admitted (0.25; 0: never).
 *
 * --sightings: so many make an object worth its bytes (2).
 */
#include "bench/kit.h"
#include "filter/family/filter.h"
#include "filter/hash.h"
#include "proxy/base/mem.h"
#include "proxy/cache/ghost/ghost.h"
#include "proxy/cache/turn.h"
#include "proxy/cli/demo/mix.h"

#include <stdlib.h>

enum { HEAD_BYTES = 500, NONE = UINT32_MAX };

struct play {
	uint32_t *order, *sizes; /* request i asks for object order[i] */
	uint32_t requests, objects;
	uint64_t distinct_bytes, asked_bytes;
};

enum { WINDOWS = 100 };

struct score {
	uint64_t hits, hit_bytes, written_bytes;
	uint32_t in_window[WINDOWS + 1]; /* hits of the first `steady` objects' requests */
};

struct rules {
	double turn;
	unsigned sightings;
};

/* A shock comes in the middle of a play. */
struct shock {
	uint32_t steady;   /* objects from here on are the scan's */
	uint32_t window;   /* requests for others in a hundredth; 0: not counted */
	uint32_t purge_at; /* a request; 0: none */
};

/* ---- what is replayed ---------------------------------------------------------------------- */

static struct play
play_mix(uint32_t requests, uint64_t seed)
{
	struct mix m;
	mix_init_cdn(&m, requests, seed);
	struct play p = {.requests = m.request_count, .objects = m.object_count};
	p.order = mem_alloc(p.requests * sizeof *p.order);
	p.sizes = mem_alloc(p.objects * sizeof *p.sizes);
	memcpy(p.order, m.order, p.requests * sizeof *p.order);
	for (uint32_t i = 0; i < p.objects; i++)
		p.sizes[i] = (uint32_t)m.objects[i].bytes;
	mix_fini(&m);
	return p;
}

struct line {
	unsigned long long id, bytes;
	uint32_t at;
};

static int
by_id(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Of several sizes of an id the first one counts. */
static struct play
play_file(const char *name)
{
	struct play p = {0};
	struct line *lines = NULL;
	char text[256];
	FILE *f = fopen(name, "r");
	if (!f) {
		perror(name);
		exit(1);
	}
	while (fgets(text, sizeof text, f)) {
		struct line l = {.at = p.requests};
		if (sscanf(text, "%*s %llu %llu", &l.id, &l.bytes) != 2)
			continue;
		if ((p.requests & (p.requests + 1)) == 0)
			lines = mem_realloc(lines, (2 * p.requests + 1) * sizeof *lines);
		lines[p.requests++] = l;
	}
	fclose(f);
	if (!p.requests) {
		fprintf(stderr, "%s: no line \"time id size\"\n", name);
		exit(1);
	}
	qsort(lines, p.requests, sizeof *lines, by_id);
	p.order = mem_alloc(p.requests * sizeof *p.order);
	p.sizes = mem_alloc(p.requests * sizeof *p.sizes);
	for (uint32_t i = 0; i < p.requests; i++) {
		if (i == 0 || lines[i].id != lines[i - 1].id)
			p.sizes[p.objects++] =
				lines[i].bytes < UINT32_MAX ? (uint32_t)lines[i].bytes : UINT32_MAX;
		p.order[lines[i].at] = p.objects - 1;
	}
	free(lines);
	return p;
}

static void
count_bytes(struct play *p)
{
	for (uint32_t i = 0; i < p->objects; i++)
		p->distinct_bytes += p->sizes[i];
	for (uint32_t i = 0; i < p->requests; i++)
		p->asked_bytes += p->sizes[p->order[i]];
}

/* ---- an exact LRU, which admits everything or what was asked for before -------------------- */

struct lru {
	uint32_t *prev, *next; /* of objects; index `objects` is the head of the ring */
	bool *in, *seen;
	uint64_t used;
};

static void
lru_leave(struct lru *l, uint32_t i)
{
	l->next[l->prev[i]] = l->next[i];
	l->prev[l->next[i]] = l->prev[i];
}

static void
lru_join(struct lru *l, uint32_t i, uint32_t head)
{
	l->next[i] = l->next[head];
	l->prev[i] = head;
	l->prev[l->next[i]] = i;
	l->next[head] = i;
}

static struct score
play_lru(const struct play *p, uint64_t disk, bool second_hit)
{
	uint32_t head = p->objects, n = head + 1;
	struct lru l = {mem_alloc(n * sizeof *l.prev), mem_alloc(n * sizeof *l.next),
			mem_zalloc(n * sizeof *l.in), mem_zalloc(n * sizeof *l.seen), 0};
	struct score s = {0};
	l.prev[head] = l.next[head] = head;
	for (uint32_t r = 0; r < p->requests; r++) {
		uint32_t i = p->order[r];
		bool admits = !second_hit || l.seen[i];
		l.seen[i] = true;
		if (l.in[i]) {
			s.hits++;
			s.hit_bytes += p->sizes[i];
			lru_leave(&l, i);
			lru_join(&l, i, head);
			continue;
		}
		if (!admits || p->sizes[i] > disk)
			continue;
		s.written_bytes += p->sizes[i];
		l.used += p->sizes[i];
		l.in[i] = true;
		lru_join(&l, i, head);
		while (l.used > disk) {
			uint32_t last = l.prev[head];
			lru_leave(&l, last);
			l.in[last] = false;
			l.used -= p->sizes[last];
		}
	}
	free(l.prev);
	free(l.next);
	free(l.in);
	free(l.seen);
	return s;
}

/* ---- the policy ---------------------------------------------------------------------------- */

static struct twice_key_hash
hash_of(uint64_t i)
{
	struct twice_key_hash h;
	uint64_t x = i;
	for (int k = 0; k < 2; k++) {
		x += 0x9e3779b97f4a7c15u;
		uint64_t y = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		y = (y ^ (y >> 27)) * 0x94d049bb133111ebu;
		*(k ? &h.hi : &h.lo) = y ^ (y >> 31);
		x = ~x * 0xd6e8feb86659fd93u;
	}
	return h;
}

static struct score
play_policy(const struct play *p, uint64_t disk, const struct rules *rules,
	    const struct shock *shock)
{
	struct ghost_options o = {.disk_bytes = disk,
				  .memory_bytes = disk / 10,
				  .max_entries = 1 << 22,
				  .asked_before = rules->sightings > 1};
	struct ghost *g = ghost_create(&o);
	struct twice_filter_options memory = {
		.sightings = rules->sightings, .capacity = p->objects, .false_positives = 0.01};
	struct twice_filter *filter = twice_filter_create(&memory, 0);
	struct score s = {0};
	uint64_t admitted = 0;
	if (!filter) {
		fprintf(stderr, "policy: %s\n", twice_filter_may(&memory));
		exit(1);
	}
	struct ghost_stats is;
	uint32_t others = 0;
	for (uint32_t r = 0; r < p->requests; r++) {
		uint32_t i = p->order[r];
		if (r && r == shock->purge_at)
			ghost_forget_all(g);
		struct twice_key_hash h = hash_of(i);
		bool seen = twice_filter_record(filter, h).times + 1 >= rules->sightings;
		struct ghost_did did =
			ghost_see(g, &(struct ghost_event){.key = h.hi,
							   .url = h.hi,
							   .record_bytes = p->sizes[i] + HEAD_BYTES,
							   .body_bytes = p->sizes[i],
							   .now_s = r / 1000,
							   .fresh_s = 1 << 30,
							   .deed = GHOST_FETCHED,
							   .whole = true,
							   .refused = !seen});
		bool hit = did.answer == GHOST_FROM_RAM || did.answer == GHOST_FROM_DISK;
		s.hits += hit;
		s.hit_bytes += hit ? p->sizes[i] : 0;
		if (shock->window && i < shock->steady)
			s.in_window[others++ / shock->window] += hit;
		admitted += did.wrote ? p->sizes[i] + HEAD_BYTES : 0;
		uint64_t most = (uint64_t)(rules->turn * (double)ghost_turn_bytes(g));
		if (most && admitted >= most) {
			twice_filter_rotate(filter, r / 1000);
			admitted = 0;
		}
	}
	ghost_stats(g, &is);
	s.written_bytes = is.written_bytes;
	ghost_destroy(&g);
	twice_filter_destroy(&filter);
	return s;
}

static double
percent(uint64_t a, uint64_t b)
{
	return 100.0 * (double)a / (double)b;
}

static void
compare(const char *name, struct play *p, const struct rules *rules)
{
	static const unsigned shares[] = {5, 10, 20, 40};
	count_bytes(p);
	printf("%s: %u requests, %u objects, %.1f MB distinct\n", name, p->requests, p->objects,
	       (double)p->distinct_bytes / 1e6);
	printf("%6s %10s %8s %8s %8s  %8s %8s %8s  %8s\n", "disk", "MB", "hits", "LRU", "points",
	       "bytes", "LRU", "points", "written");
	for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
		uint64_t disk = p->distinct_bytes / 100 * shares[k];
		struct score lru = play_lru(p, disk, false), second = play_lru(p, disk, true);
		struct score s = play_policy(p, disk, rules, &(struct shock){0});
		double hits = percent(s.hits, p->requests),
		       lru_hits = percent(lru.hits, p->requests);
		double bytes = percent(s.hit_bytes, p->asked_bytes),
		       lru_bytes = percent(lru.hit_bytes, p->asked_bytes);
		printf("%5u%% %10.1f %7.2f%% %7.2f%% %+8.2f  %7.2f%% %7.2f%% %+8.2f  %8.3f\n",
		       shares[k], (double)disk / 1e6, hits, lru_hits, hits - lru_hits, bytes,
		       lru_bytes, bytes - lru_bytes,
		       (double)s.written_bytes / (double)second.written_bytes);
	}
	free(p->order);
	free(p->sizes);
}

/* ---- a shock ------------------------------------------------------------------------------- */

/* The scan comes twice, one time after the other, in the middle of p. */
static struct play
with_scan(const struct play *p, uint64_t bytes)
{
	uint32_t each = (uint32_t)(p->distinct_bytes / p->objects);
	uint32_t n = (uint32_t)(bytes / each), half = p->requests / 2;
	struct play q = {.requests = p->requests + 2 * n, .objects = p->objects + n};
	q.order = mem_alloc(q.requests * sizeof *q.order);
	q.sizes = mem_alloc(q.objects * sizeof *q.sizes);
	memcpy(q.sizes, p->sizes, p->objects * sizeof *q.sizes);
	memcpy(q.order, p->order, half * sizeof *q.order);
	memcpy(q.order + half + 2 * n, p->order + half, (p->requests - half) * sizeof *q.order);
	for (uint32_t i = 0; i < n; i++) {
		q.sizes[p->objects + i] = each;
		q.order[half + i] = q.order[half + n + i] = p->objects + i;
	}
	return q;
}

static void
show_windows(const char *name, const struct score *s, uint32_t window)
{
	static const unsigned after[] = {0, 1, 2, 4, 8, 16, 32};
	printf("%-8s %7.2f%% ", name, percent(s->in_window[WINDOWS / 2 - 1], window));
	for (size_t i = 0; i < sizeof after / sizeof *after; i++)
		printf(" %7.2f%%", percent(s->in_window[WINDOWS / 2 + after[i]], window));
	printf("  %8.1f MB\n", (double)s->written_bytes / 1e6);
}

static void
step(struct play *p, const struct rules *rules)
{
	count_bytes(p);
	uint64_t disk = p->distinct_bytes / 10;
	struct play scan = with_scan(p, disk);
	struct shock shock = {p->objects, p->requests / WINDOWS, 0};
	printf("%-8s %8s  %8s %8s %8s %8s %8s %8s %8s  %8s\n", "shock", "before", "+0%", "+1%",
	       "+2%", "+4%", "+8%", "+16%", "+32%", "written");
	struct score none = play_policy(p, disk, rules, &shock);
	struct score scanned = play_policy(&scan, disk, rules, &shock);
	shock.purge_at = p->requests / 2;
	struct score purged = play_policy(p, disk, rules, &shock);
	show_windows("none", &none, shock.window);
	show_windows("scan", &scanned, shock.window);
	show_windows("purge", &purged, shock.window);
	free(scan.order);
	free(scan.sizes);
	free(p->order);
	free(p->sizes);
}

/* salt: of the hash that chooses the sample. */
static double
write_all(const struct play *p, uint64_t disk, uint32_t entries, uint32_t salt)
{
	struct ghost *g = ghost_create(&(struct ghost_options){
		.disk_bytes = disk, .memory_bytes = disk / 10, .max_entries = entries});
	struct ghost_stats s;
	for (uint32_t r = 0; r < p->requests; r++) {
		uint32_t i = p->order[r];
		uint64_t key = hash_of(i + salt * 100000000u).hi;
		ghost_see(g, &(struct ghost_event){.key = key,
						   .url = key,
						   .record_bytes = p->sizes[i] + HEAD_BYTES,
						   .body_bytes = p->sizes[i],
						   .now_s = r / 1000,
						   .fresh_s = 1 << 30,
						   .deed = GHOST_FETCHED,
						   .whole = true});
	}
	ghost_stats(g, &s);
	ghost_destroy(&g);
	return (double)s.written_bytes;
}

static void
sample(struct play *p)
{
	count_bytes(p);
	printf("%6s %12s  %s\n", "disk", "MB, all", "samples are off by");
	for (unsigned share = 5; share <= 40; share *= 2) {
		uint64_t disk = p->distinct_bytes / 100 * share;
		double all = write_all(p, disk, 1 << 22, 0);
		printf("%5u%% %12.1f ", share, all / 1e6);
		for (uint32_t salt = 1; salt <= 5; salt++)
			printf(" %+6.2f%%", 100 * (write_all(p, disk, 0, salt) / all - 1));
		printf("\n");
	}
	free(p->order);
	free(p->sizes);
}

int
main(int argc, char **argv)
{
	uint32_t requests = 1000000;
	uint64_t seed = 1;
	struct rules rules = {1.0 / TURN_SHARE, 2};
	const char *last = argv[argc - 1];
	int i = 1;
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "--requests") == 0)
			requests = (uint32_t)strtoul(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0)
			seed = strtoull(argv[i + 1], NULL, 10);
		else if (strcmp(argv[i], "--turn") == 0)
			rules.turn = atof(argv[i + 1]);
		else if (strcmp(argv[i], "--sightings") == 0)
			rules.sightings = (unsigned)strtoul(argv[i + 1], NULL, 10);
	}
	bench_head(argc, argv);
	if (strcmp(last, "--step") == 0 || strcmp(last, "--sample") == 0) {
		struct play p = play_mix(requests, seed);
		if (strcmp(last, "--step") == 0)
			step(&p, &rules);
		else
			sample(&p);
		return 0;
	}
	if (i == argc) {
		struct play p = play_mix(requests, seed);
		compare("CDN mix", &p, &rules);
	}
	for (; i < argc; i++) {
		struct play p = play_file(argv[i]);
		compare(argv[i], &p, &rules);
	}
	return 0;
}
