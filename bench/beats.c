/* beats.c - what a fleet costs beside requests: how long a ring takes to build, what a look into it costs, what a digest
 * of a node's disk costs, and what the engine spends on a beat.
 *
 *	beats [NODES...]
 *
 * The rings are of so many nodes each (10 100 1000), the digests of 10,000 times as many objects. With a redis-server on PATH one is started at a socket of its
 * own, all nodes beat there ten times, and its own count of the time of a call is printed; its sums for lists of
 * members that are read after a change are left out.
 */
#include "bench/kit.h"
#include "filter/family/digest.h"
#include "filter/mix.h"
#include "proxy/base/mem.h"
#include "proxy/cache/store/index.h"
#include "proxy/fleet/beat.h"
#include "proxy/fleet/digest_parts.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/ring.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { ROUNDS = 12, LEARN = 2, LOOKS = 20000000 };

/* ---- rings --------------------------------------------------------------------------------- */

static void
measure_ring(unsigned n)
{
	struct ring_node *nodes = mem_zalloc(n * sizeof *nodes);
	unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		nodes[i] = (struct ring_node){(i + 1) * 0x9e3779b97f4a7c15u, 100};
	double begun = bench_seconds();
	struct ring *r = ring_build(nodes, n);
	double built = bench_seconds();
	for (uint64_t h = 0; h < LOOKS; h++)
		sum += ring_find(r, h * 0x9e3779b97f4a7c15u)->node[0];
	double looked = bench_seconds();
	printf("%5u nodes: a ring in %6.1f ms, a look %.1f ns (%u)\n", n, 1e3 * (built - begun),
	       1e9 * (looked - built) / LOOKS, sum % 10);
	ring_destroy(&r);
	free(nodes);
}

/* ---- digests ------------------------------------------------------------------------------- */

static void
see(void *ctx, const uint64_t *hash_hi, size_t n)
{
	for (size_t i = 0; i < n; i++)
		twice_digest_add(ctx, hash_hi[i]);
}

/* As a node of another zone reads it, but for connections and signatures. */
static double
read_parts(struct str whole)
{
	struct digest_parts p = {0};
	struct buf part = {0};
	const char *why;
	double begun = bench_seconds();
	do {
		part.n = 0;
		digest_parts_answer(whole, 1, p.made, p.bytes.n, &part);
	} while (digest_parts_take(&p, buf_str(&part)) == DIGEST_PARTS_MORE);
	struct twice_digest *d = digest_parts_load(&p, &why);
	double took = bench_seconds() - begun;
	if (!d)
		abort();
	twice_digest_destroy(&d);
	buf_fini(&part);
	return took;
}

static void
measure_digest(uint64_t objects)
{
	struct index *ix;
	struct buf whole = {0};
	struct locator at = {.segment = 1, .generation = 1, .bytes = 1};
	index_create(&ix);
	for (uint64_t i = 0; i < objects; i++)
		index_put(ix, mix_bits(i), &at);
	double begun = bench_seconds();
	struct twice_digest *d = twice_digest_create(objects, DIGEST_PARTS_BITS);
	index_list(ix, see, d);
	double made = bench_seconds();
	digest_parts_save(d, &whole);
	printf("%8llu objects: a digest of %.2f MB, made in %.1f ms, read in %.1f ms, wrong %.1f%%\n",
	       (unsigned long long)objects, (double)whole.n / 1e6, 1e3 * (made - begun),
	       1e3 * read_parts(buf_str(&whole)), 100 * twice_digest_fpr(d));
	twice_digest_destroy(&d);
	buf_fini(&whole);
	index_destroy(&ix);
}

/* ---- beats --------------------------------------------------------------------------------- */

static redisContext *
start_engine(char *folder, pid_t *pid)
{
	char path[64];
	redisContext *c = NULL;
	if (!mkdtemp(folder))
		return NULL;
	snprintf(path, sizeof path, "%s/s", folder);
	*pid = fork();
	if (*pid == 0) {
		if (freopen("/dev/null", "w", stdout))
			execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path,
			       "--save", "", "--dir", folder, NULL);
		_exit(127);
	}
	while ((!c || c->err) && waitpid(*pid, NULL, WNOHANG) == 0) {
		if (c)
			redisFree(c);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		c = redisConnectUnix(path);
	}
	return c;
}

static void
beat(redisContext *c, unsigned i, bool whole, const struct secret *s, char known[BEAT_KNOWN])
{
	struct member m = {.id = i + 1, .instance = 7, .weight = 100, .version = "0.3.0"};
	const char *p[BEAT_WORDS];
	size_t bytes[BEAT_WORDS];
	struct beat b;
	struct str text;
	snprintf(m.name, sizeof m.name, "edge-fra-%u", i);
	snprintf(m.address, sizeof m.address, "10.0.%u.%u:8443", i / 250, i % 250);
	beat_make(&b, BEAT, &m, known, s, whole);
	for (unsigned k = 0; k < b.words_n; k++) {
		p[k] = b.words[k].p;
		bytes[k] = b.words[k].n;
	}
	redisReply *r = redisCommandArgv(c, (int)b.words_n, p, bytes);
	if (!r || beat_read(r, &text) == BEAT_BROKEN)
		abort();
	if (beat_read(r, &text) == BEAT_MEMBERS)
		snprintf(known, BEAT_KNOWN, "%.*s", STR_ARG(text));
	freeReplyObject(r);
	beat_fini(&b);
}

static void
measure_beats(redisContext *c, unsigned n)
{
	struct secret s;
	char known[BEAT_KNOWN] = "";
	secret_make(&s, STR("0123456789abcdef0123456789abcdef"));
	freeReplyObject(redisCommand(c, "FLUSHALL"));
	for (int round = 0; round < ROUNDS; round++) {
		if (round == LEARN)
			freeReplyObject(redisCommand(c, "CONFIG RESETSTAT"));
		for (unsigned i = 0; i < n; i++)
			beat(c, i, round == 0, &s, known);
	}
	redisReply *r = redisCommand(c, "INFO commandstats");
	const char *at = strstr(r->str, "cmdstat_evalsha:"),
		   *us = at ? strstr(at, "usec_per_call=") : NULL;
	double each = us ? strtod(us + strlen("usec_per_call="), NULL) : 0;
	printf("%5u nodes: a beat takes %.1f us of the engine, all of them %.2f%% of a core\n", n,
	       each, each * n / 1e4);
	freeReplyObject(r);
}

int
main(int argc, char **argv)
{
	static const unsigned usual[] = {10, 100, 1000};
	char folder[] = "/tmp/twice-beats-XXXXXX";
	pid_t pid = 0;
	unsigned counts[16], n = 0;
	for (; (int)n + 1 < argc && n < 16; n++)
		counts[n] = (unsigned)atoi(argv[n + 1]);
	for (; argc < 2 && n < 3; n++)
		counts[n] = usual[n];
	bench_head(argc, argv);
	for (unsigned i = 0; i < n; i++)
		measure_ring(counts[i]);
	for (unsigned i = 0; i < n; i++)
		measure_digest(counts[i] * UINT64_C(10000));
	fflush(stdout); /* or the other process writes it once more */
	redisContext *c = start_engine(folder, &pid);
	if (!c)
		printf("# redis-server is not installed: left out\n");
	for (unsigned i = 0; c && i < n; i++)
		measure_beats(c, counts[i]);
	if (c)
		redisFree(c);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	const char *const remove[] = {"/s", ""};
	for (int i = 0; i < 2; i++) {
		char path[64];
		snprintf(path, sizeof path, "%s%s", folder, remove[i]);
		if (i)
			rmdir(path);
		else
			unlink(path);
	}
	return 0;
}
