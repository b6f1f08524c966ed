/* store.c - how soon does a cache of a million objects serve again, and what does its index take?
 *
 *	store [objects [body_bytes]]
 *
 * Writes the objects in a child process that ends cleanly, or as if killed; then opens the
 * directory again and times cache_open, after which it serves, and how long it takes until all objects
 * are known, with the page cache warm and (as root) dropped. At the end what a lookup costs, from RAM
 * and from the disk's pages, and what the eviction of an object does.
 */
#include "bench/kit.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_lookup.h"
#include "proxy/cache/cache_stats.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/tmpdir.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

static struct cache_options options;

static struct cache *
open_cache(void)
{
	struct cache *c;
	char err[256];
	if (cache_open(&c, &options, err, sizeof err) == 0)
		return c;
	fprintf(stderr, "%s\n", err);
	exit(1);
}

static struct str
key_of(char *text, size_t n, unsigned i)
{
	return (struct str){text, (size_t)snprintf(text, n, "http://example.com/%u.jpg", i)};
}

static void
await_all(struct cache *c)
{
	while (cache_has_unread(c))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void
write_some(struct cache *c, struct block *b, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		char text[64];
		struct str key = key_of(text, sizeof text, i);
		struct object_write *w = cache_write_begin(
			c, &(struct write_options){
				   .hash = twice_key_hash_of(cache_seed(c), key.p, key.n),
				   .key = key,
				   .head = str_of("HTTP/1.1 200 OK\r\n"),
				   .body_bytes = b->n,
				   .disk = true});
		cache_write_body(w, b, 0, b->n);
		struct object *o = cache_write_commit(&w, false);
		object_unref(&o);
		if (i % 1024 == 0)
			store_flush(c->disks[0].store);
	}
	store_flush(c->disks[0].store);
}

static struct block *
make_body(uint32_t bytes)
{
	struct block *b = block_create(bytes);
	memset(b->p, 'x', bytes);
	b->n = bytes;
	return b;
}

static void
write_all(unsigned objects, uint32_t body)
{
	struct cache *c = open_cache();
	struct block *b = make_body(body);
	write_some(c, b, 0, objects);
	struct cache_stats s;
	cache_stats(c, &s);
	printf("written: %llu objects, %.1f MB\n", (unsigned long long)s.objects,
	       (double)s.written_bytes / 1e6);
	fflush(stdout);
	block_unref(&b);
	cache_close(&c);
}

static double
cpu_seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* New objects until a twentieth of the old ones are gone: what it costs to take a segment back must
 * not grow with the index. Of what is hot nothing is there that would move. */
static void
time_eviction(unsigned objects, uint32_t body)
{
	struct cache *c = open_cache();
	await_all(c);
	struct block *b = make_body(body);
	unsigned next = objects, step = objects / 100 + 1;
	struct cache_stats s;
	double before = 0, during = 0;
	unsigned alone = 0, beside = 0;
	for (cache_stats(c, &s); s.evicted_objects < objects / 20; next += step) {
		uint64_t evicted = s.evicted_objects;
		double start = cpu_seconds();
		write_some(c, b, next, next + step);
		double took = cpu_seconds() - start;
		cache_stats(c, &s);
		*(s.evicted_objects > evicted ? &during : &before) += took;
		*(s.evicted_objects > evicted ? &beside : &alone) += step;
	}
	printf("an object written into a full log %5.0f ns of CPU, its eviction included; before "
	       "that %5.0f ns\n",
	       during / beside * 1e9, alone ? before / alone * 1e9 : 0);
	block_unref(&b);
	cache_close(&c);
}

/* The child writes; `killed` cuts it off before it closes. */
static void
in_child(unsigned objects, uint32_t body, bool killed)
{
	pid_t child = fork();
	if (child == 0 && objects) {
		write_all(objects, body);
		_exit(0);
	}
	if (child == 0) { /* only opens, writes a little, and goes */
		struct cache *c = open_cache();
		if (killed)
			_exit(0);
		cache_close(&c);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void
time_open(const char *what, bool drop)
{
	if (drop) {
		sync();
		int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
		if (fd < 0 || write(fd, "1", 1) != 1) {
			printf("%-28s (cannot drop the page cache)\n", what);
			return;
		}
		close(fd);
	}
	double start = bench_seconds();
	struct cache *c = open_cache();
	double serves = bench_seconds() - start;
	await_all(c);
	double all = bench_seconds() - start;
	struct cache_stats s;
	cache_stats(c, &s);
	printf("%-24s serves after %6.3f s, knows all after %6.3f s  %llu objects  index %.2f "
	       "bytes per object\n",
	       what, serves, all, (unsigned long long)s.objects,
	       (double)s.index_bytes / (double)(s.objects ? s.objects : 1));
	cache_close(&c);
}

static struct mailbox home;
static struct object *came;
static bool is_done;

static void
on_lookup(struct cache_lookup *l, struct object *o)
{
	(void)l;
	came = o;
	is_done = true;
}

static struct object *
look_up(struct cache *c, struct str key)
{
	struct cache_lookup l = {.home = &home, .done = on_lookup};
	struct twice_key_hash hash = twice_key_hash_of(cache_seed(c), key.p, key.n);
	struct object *o = NULL;
	is_done = false;
	if (cache_lookup(c, &l, hash, key, &o) != FOUND_LATER)
		return o;
	while (!is_done) {
		struct pollfd p = {home.fd, POLLIN, 0};
		poll(&p, 1, -1);
		mailbox_run(&home, true);
	}
	return came;
}

enum { HOT = 1000 };

/* Three rounds make the hot ones hot; then what a hit in RAM costs, key and hash at hand. */
static void
time_hot(struct cache *c)
{
	static char texts[HOT][64];
	static struct str keys[HOT];
	static struct twice_key_hash hashes[HOT];
	for (int round = 0; round < 3; round++)
		for (unsigned i = 0; i < HOT; i++) {
			keys[i] = key_of(texts[i], sizeof texts[i], i);
			hashes[i] = twice_key_hash_of(cache_seed(c), keys[i].p, keys[i].n);
			struct object *o = look_up(c, keys[i]);
			object_unref(&o);
		}
	unsigned ram = 0, times = 2000000;
	double start = bench_seconds();
	for (unsigned i = 0; i < times; i++) {
		struct cache_lookup l = {.home = &home, .done = on_lookup};
		struct object *o = NULL;
		unsigned k = i * 7919u % HOT;
		if (cache_lookup(c, &l, hashes[k], keys[k], &o) == FOUND_OBJECT) {
			ram += o->place == OBJECT_IN_RAM;
			object_unref(&o);
		}
	}
	printf("lookup and unref of a hit in RAM %5.0f ns (%u of %u in RAM)\n",
	       (bench_seconds() - start) / times * 1e9, ram, times);
}

static void
time_all(struct cache *c, unsigned objects, const char *what)
{
	unsigned found = 0, times = 100000;
	double start = bench_seconds();
	for (unsigned i = 0; i < times; i++) {
		char text[64];
		struct object *o =
			look_up(c, key_of(text, sizeof text, (unsigned)(i * 7919ull % objects)));
		found += o != NULL;
		object_unref(&o);
	}
	printf("lookup of a hit on disk, %s %6.0f ns (%u of %u found)\n", what,
	       (bench_seconds() - start) / times * 1e9, found, times);
}

static void
time_lookups(unsigned objects)
{
	struct cache *c = open_cache();
	await_all(c);
	mailbox_init(&home);
	time_hot(c);
	time_all(c, objects, "pages cold");
	cache_close(&c);
	c = open_cache();
	await_all(c);
	time_all(c, objects, "pages warm");
	mailbox_fini(&home);
	cache_close(&c);
}

int
main(int argc, char **argv)
{
	bench_head(argc, argv);
	unsigned objects = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000000;
	uint32_t body = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1024;
	char dir[256];
	tmpdir_make(dir, sizeof dir);
	options = (struct cache_options){.dir = dir,
					 .disk_bytes = (uint64_t)objects * (body + 512) * 12 / 10 +
						       (16 << 20),
					 .memory_bytes = 64 << 20};
	fflush(stdout);
	in_child(objects, body, false);
	time_open("open after a clean stop", false);
	time_open("  page cache dropped", true);
	in_child(0, 0, true);
	time_open("open after a kill", false);
	time_open("  page cache dropped", true);
	time_lookups(objects);
	time_eviction(objects, body);
	tmpdir_remove(dir);
	return 0;
}
