/* cdn_cache.c - a CDN-like mix straight through the door of the cache: no sockets, real bytes on a
 * real disk, the real admission, pair and baseline. What does the second sighting cost in hits, and
 * what does it save in bytes?
 *
 *	cdn_cache [requests [disk_share [memory_share [local]]]]
 *
 * 74% of the URLs are asked for once, 90% fewer than four times; sizes are log-normal (median
 * 8 KiB, mean 34 KiB, at most 20 MB). Requests of a URL lie anywhere, or with `local` nearly all
 * within a hundredth of the run of the one before.
 */
#include "bench/kit.h"
#include "filter/pair.h"
#include "proxy/base/mem.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "proxy/cache/ghost/ghost.h"
#include "proxy/cache/object_read.h"
#include "proxy/cache/admission/sighting.h"
#include "tests/kit/tmpdir.h"

#include <math.h>
#include <poll.h>

struct asked {
	double when;
	uint32_t url;
};

struct mix {
	struct asked *requests;
	size_t n;
	uint32_t *sizes;
	uint32_t urls;
	uint64_t distinct_bytes;
};

static uint64_t random_state = 88172645463325252u;

static double
uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) * 0x1p-53;
}

static double
normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307 * uniform());
}

static uint32_t
some_size(void)
{
	double n = 8192 * exp(1.69 * normal());
	return n < 64 ? 64 : n > 20e6 ? 20000000 : (uint32_t)n;
}

/* How often the i-th URL of `urls` is asked for: once, two or three times, or by Zipf. */
static uint32_t
some_count(uint32_t i, uint32_t urls, double scale)
{
	if (i < urls * 0.74)
		return 1;
	if (i < urls * 0.90)
		return 2 + (i & 1);
	double rank = i - urls * 0.90 + 1;
	double n = scale / pow(rank + 3, 0.8);
	return n < 4 ? 4 : (uint32_t)n;
}

static int
by_time(const void *a, const void *b)
{
	double x = ((const struct asked *)a)->when, y = ((const struct asked *)b)->when;
	return x < y ? -1 : x > y;
}

static struct mix
make_mix(size_t requests, int local)
{
	struct mix m = {.urls = (uint32_t)(requests * 0.29)};
	m.sizes = mem_alloc(m.urls * sizeof *m.sizes);
	m.requests = mem_alloc(2 * requests * sizeof *m.requests);
	double scale = 1;
	for (uint64_t sum = 0; sum < requests; scale *= 1.02) {
		sum = 0;
		for (uint32_t i = 0; i < m.urls; i++)
			sum += some_count(i, m.urls, scale);
	}
	for (uint32_t i = 0; i < m.urls; i++) {
		m.sizes[i] = some_size();
		m.distinct_bytes += m.sizes[i];
		double when = uniform();
		for (uint32_t k = some_count(i, m.urls, scale / 1.02); k; k--) {
			m.requests[m.n++] = (struct asked){when, i};
			when = local && uniform() < 0.8 ? when - 0.01 * log(1 - uniform())
							: uniform();
			when = when < 1 ? when : uniform();
		}
	}
	qsort(m.requests, m.n, sizeof *m.requests, by_time);
	return m;
}

/* ---- a run --------------------------------------------------------------------------------- */

struct result {
	uint64_t ram_hits, disk_hits, hit_bytes, bytes, os_bytes;
	struct cache_stats cache;
	struct ghost_stats ghost;
	double seconds;
};

static struct mailbox home;
static struct object *came;
static int is_done;

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	(void)l;
	came = o;
	is_done = 1;
}

static void
on_body(struct body_read *r)
{
	(void)r;
	is_done = 1;
}

static void
await(void)
{
	while (!is_done) {
		struct pollfd p = {home.fd, POLLIN, 0};
		poll(&p, 1, -1);
		mailbox_run(&home, true);
	}
}

static void
read_all(struct cache *c, struct object *o)
{
	struct body_read r = {.home = &home, .done = on_body};
	for (uint64_t at = 0; at < o->body_bytes;) {
		is_done = 0;
		enum body_step s = object_read(c, o, &r, at, UINT64_MAX);
		if (s == BODY_LATER)
			await();
		else if (s == BODY_READY)
			at += r.n;
		else
			break;
	}
	body_done(&r);
}

static const char head[300] = "HTTP/1.1 200 OK\r\n";

struct run {
	const struct mix *m;
	unsigned sightings;
	struct cache *c;
	struct twice_pair *pair;
	struct ghost *ghost;
	struct block *bytes;
	struct result r;
};

static void
fetch(struct run *run, struct str key, struct twice_key_hash hash, uint32_t size)
{
	enum twice_sight sight = twice_pair_record(run->pair, hash);
	struct sighting_settings settings = {.sightings = run->sightings};
	struct sighting_facts f = {.storable = true,
				   .status = 200,
				   .known = {sight, sight != TWICE_SIGHT_FIRST},
				   .body_bytes = size};
	struct object_write *w =
		cache_write_begin(run->c, &(struct write_options){
						  .hash = hash,
						  .key = key,
						  .head = {head, sizeof head},
						  .terms = {.lifetime = 1 << 30, .status = 200},
						  .body_bytes = size,
						  .disk = sighting_decide(&settings, &f).writes,
					  });
	for (uint32_t left = size; left;) {
		uint32_t part = left < run->bytes->n ? left : run->bytes->n;
		cache_write_body(w, run->bytes, 0, part);
		left -= part;
	}
	struct object *o = cache_write_commit(&w, false);
	object_unref(&o);
}

static void
hit(struct run *run, struct object *o, struct twice_key_hash hash)
{
	enum twice_sight sight = twice_pair_record(run->pair, hash);
	if (o->place == OBJECT_IN_RAM)
		run->r.ram_hits++;
	else
		run->r.disk_hits++;
	run->r.hit_bytes += o->body_bytes;
	if (!o->on_disk && (sight != TWICE_SIGHT_FIRST || run->sightings < 2))
		cache_admit(run->c, o);
	read_all(run->c, o);
}

static void
one(struct run *run, uint32_t url)
{
	char text[64];
	struct str key = {text, 0};
	key.n = (size_t)snprintf(text, sizeof text, "http://example.com/some/path/%u.jpg", url);
	struct twice_key_hash hash = twice_key_hash_of(cache_seed(run->c), key.p, key.n);
	struct cache_lookup l = {.home = &home, .done = on_lookup};
	struct object *o = NULL;
	is_done = 0;
	enum found f = cache_lookup(run->c, &l, hash, key, &o);
	if (f == FOUND_LATER) {
		await();
		o = came;
	}
	run->r.bytes += run->m->sizes[url];
	bool found = o && f != FOUND_NOT;
	ghost_see(run->ghost, &(struct ghost_event){
				      .key = hash.hi,
				      .url = hash.hi,
				      .record_bytes = cache_record_bytes(key.n, sizeof head,
									 run->m->sizes[url]),
				      .body_bytes = run->m->sizes[url],
				      .origin_bytes = found ? 0 : run->m->sizes[url],
				      .fresh_s = 1 << 30,
				      .deed = found ? GHOST_HIT : GHOST_FETCHED,
				      .whole = true,
			      });
	if (!found) {
		fetch(run, key, hash, run->m->sizes[url]);
		return;
	}
	hit(run, o, hash);
	object_unref(&o);
}

static uint64_t
os_written(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	char line[128];
	unsigned long long n = 0;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "write_bytes: %llu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static struct result
play(const struct mix *m, unsigned sightings, uint64_t disk, uint64_t memory)
{
	char dir[256], err[512];
	tmpdir_make(dir, sizeof dir);
	struct run run = {.m = m, .sightings = sightings};
	struct cache_options o = {.dir = dir, .disk_bytes = disk, .memory_bytes = memory};
	if (cache_open(&run.c, &o, err, sizeof err) != 0) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	twice_pair_create(
		&run.pair,
		&(struct twice_pair_options){.capacity = m->urls, .false_positives = 0.01}, 0);
	run.ghost =
		ghost_create(&(struct ghost_options){.disk_bytes = disk, .memory_bytes = memory});
	run.bytes = block_create(16384);
	memset(run.bytes->p, 'x', 16384);
	run.bytes->n = 16384;
	uint64_t before = os_written();
	double start = bench_seconds();
	for (size_t i = 0; i < m->n; i++) {
		one(&run, m->requests[i].url);
		if (i % 64 == 0) { /* sockets would be slower than the disk; this is not */
			store_flush(run.c->disks[0].store);
			usleep(2000);
		}
	}
	run.r.seconds = bench_seconds() - start;
	run.r.os_bytes = os_written() - before;
	cache_stats(run.c, &run.r.cache);
	ghost_stats(run.ghost, &run.r.ghost);
	block_unref(&run.bytes);
	ghost_destroy(&run.ghost);
	twice_pair_destroy(&run.pair);
	cache_close(&run.c);
	tmpdir_remove(dir);
	return run.r;
}

static void
print(const char *name, const struct result *r, size_t n)
{
	printf("%-14s hits %5.2f%% (ram %5.2f%%)  bytes hit %5.2f%%  written %7.1f MB (system %7.1f, "
	       "carried %5.1f)  refused %llu  %.1f s\n",
	       name, 100.0 * (double)(r->ram_hits + r->disk_hits) / (double)n,
	       100.0 * (double)r->ram_hits / (double)n,
	       100.0 * (double)r->hit_bytes / (double)r->bytes,
	       (double)r->cache.written_bytes / 1e6, (double)r->os_bytes / 1e6,
	       (double)r->cache.carried_bytes / 1e6, (unsigned long long)r->cache.refused_writes,
	       r->seconds);
	printf("%-14s baseline: hits %5.2f%%  written %7.1f MB  saved ratio %.4f  extra fetches %llu\n",
	       "", 100.0 * (double)r->ghost.hits / (double)n, (double)r->ghost.written_bytes / 1e6,
	       1 - (double)r->cache.written_bytes / (double)r->ghost.written_bytes,
	       (unsigned long long)r->ghost.extra_requests);
}

int
main(int argc, char **argv)
{
	bench_head(argc, argv);
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
	double disk_share = argc > 2 ? atof(argv[2]) : 0.4;
	double memory_share = argc > 3 ? atof(argv[3]) : 0.1;
	struct mix m = make_mix(n, argc > 4);
	uint64_t disk = (uint64_t)(disk_share * (double)m.distinct_bytes);
	uint64_t memory = (uint64_t)(memory_share * (double)disk);
	mailbox_init(&home);
	printf("%zu requests, %u URLs, %.1f MB distinct; disk %.1f MB, memory %.1f MB\n", m.n,
	       m.urls, (double)m.distinct_bytes / 1e6, (double)disk / 1e6, (double)memory / 1e6);
	struct result one_sighting = play(&m, 1, disk, memory), two = play(&m, 2, disk, memory);
	print("sightings 1", &one_sighting, m.n);
	print("sightings 2", &two, m.n);
	printf("measured saving %.4f (system), %.4f (ours); forecast by the second run's baseline %.4f\n",
	       1 - (double)two.os_bytes / (double)one_sighting.os_bytes,
	       1 - (double)two.cache.written_bytes / (double)one_sighting.cache.written_bytes,
	       1 - (double)two.cache.written_bytes / (double)two.ghost.written_bytes);
	mailbox_fini(&home);
	free(m.requests);
	free(m.sizes);
	return 0;
}
