/* load.c - the replay client as a program: prints what it saw as one line of key=value.
 *
 *	load --port P [--requests N] [--connections C] [--threads T] [--seed S]
 *	     [--cdn | --unique BYTES | --same COUNT --bytes BYTES]
 *	load ... --skip K --take N                  only requests K to K + N - 1 of the mix
 *	load --facts [--requests N] [--seed S]      only prints the mix's own figures
 *	load --paths [--requests N] [--seed S]      prints the paths of its requests, one a line
 *
 * Exit code 1 when a body was wrong or an answer failed.
 */
#include "proxy/cli/demo/replay.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int
run(const struct replay_options *o)
{
	struct replay_counts n;
	struct replay *r;
	double begun = now();
	char err[256];
	if (replay_start(&r, o, err, sizeof(err))) {
		fprintf(stderr, "load: %s\n", err);
		return 1;
	}
	while (!replay_is_done(r))
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
	double seconds = now() - begun;
	replay_counts(r, &n);
	printf("requests=%llu hits=%llu hit_ratio=%.4f body_bytes=%llu wrong_bodies=%llu "
	       "failures=%llu seconds=%.3f per_second=%.0f\n",
	       (unsigned long long)n.answered, (unsigned long long)n.hits,
	       n.answered ? (double)n.hits / (double)n.answered : 0,
	       (unsigned long long)n.body_bytes, (unsigned long long)n.wrong_bodies,
	       (unsigned long long)n.failures, seconds, (double)n.answered / seconds);
	if (*replay_complaint(r))
		fprintf(stderr, "load: %s\n", replay_complaint(r));
	replay_stop(&r);
	return n.wrong_bodies || n.failures;
}

static int
usage(void)
{
	fprintf(stderr, "usage: load --port P [--requests N] [--connections C] [--threads T] "
			"[--seed S] [--cdn | --unique BYTES | --same COUNT --bytes BYTES] | "
			"load --facts\n");
	return 2;
}

struct wish {
	struct replay_options o;
	uint64_t requests, seed, same, bytes, skip, take;
	bool unique, facts, paths;
};

/* False: wrong usage. flat: one case for each flag. */
static bool
read_flags(struct wish *w, int argc, char **argv)
{
	static const struct option flags[] = {
		{"port", 1, NULL, 'p'},	       {"requests", 1, NULL, 'n'},
		{"connections", 1, NULL, 'c'}, {"threads", 1, NULL, 't'},
		{"seed", 1, NULL, 's'},	       {"cdn", 0, NULL, 'd'},
		{"unique", 1, NULL, 'u'},      {"same", 1, NULL, 'm'},
		{"bytes", 1, NULL, 'b'},       {"facts", 0, NULL, 'f'},
		{"paths", 0, NULL, 'l'},       {"skip", 1, NULL, 'k'},
		{"take", 1, NULL, 'a'},	       {0},
	};
	for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;
		// clang-format off
		switch (flag) {
		case 'p': w->o.port = (unsigned)value; break;
		case 'n': w->requests = value; break;
		case 'c': w->o.connections = (unsigned)value; break;
		case 't': w->o.threads = (unsigned)value; break;
		case 's': w->seed = value; break;
		case 'd': break;
		case 'u': w->unique = true; w->bytes = value; break;
		case 'm': w->same = value; break;
		case 'b': w->bytes = value; break;
		case 'f': w->facts = true; break;
		case 'l': w->paths = true; break;
		case 'k': w->skip = value; break;
		case 'a': w->take = value; break;
		default: return false;
		}
		// clang-format on
	}
	return (w->o.port || w->facts || w->paths) && w->requests > 0 && w->requests <= UINT32_MAX;
}

/* The requests that are wanted come first. */
static void
cut(struct mix *m, const struct wish *w)
{
	uint32_t left = m->request_count;
	uint32_t skip = w->skip < left ? (uint32_t)w->skip : left;
	left -= skip;
	memmove(m->order, m->order + skip, left * sizeof *m->order);
	m->request_count = w->take && w->take < left ? (uint32_t)w->take : left;
}

static void
print_paths(const struct mix *m)
{
	char path[MIX_PATH_BYTES];
	for (uint32_t i = 0; i < m->request_count; i++) {
		mix_path(mix_request(m, i), path);
		puts(path);
	}
}

int
main(int argc, char **argv)
{
	struct wish w = {.requests = 200000, .seed = 1, .bytes = 1024};
	struct mix mix;

	if (!read_flags(&w, argc, argv))
		return usage();
	if (w.unique)
		mix_init_unique(&mix, (uint32_t)w.requests, w.bytes, w.seed);
	else if (w.same)
		mix_init_same(&mix, (uint32_t)w.requests, (uint32_t)w.same, w.bytes, w.seed);
	else
		mix_init_cdn(&mix, (uint32_t)w.requests, w.seed);
	cut(&mix, &w);
	w.o.mix = &mix;
	int code = 0;
	if (w.paths)
		print_paths(&mix);
	else if (w.facts)
		printf("requests=%u urls=%u asked_once=%u distinct_bytes=%llu asked_bytes=%llu\n",
		       mix.request_count, mix.object_count, mix.asked_once,
		       (unsigned long long)mix.distinct_bytes, (unsigned long long)mix.asked_bytes);
	else
		code = run(&w.o);
	mix_fini(&mix);
	return code;
}
