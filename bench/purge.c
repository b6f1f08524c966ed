/* purge.c - what a lookup pays for purges: of an object with ten tags, behind more and more live
 * purges by tag that do not cover it; and with other sorts beside them.
 *
 *	build/release/bench/purge [TAGS]
 */
#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/cache/forget/forget.h"

#include <stdio.h>
#include <stdlib.h>

enum { OBJECT_TAGS = 10, OBJECTS = 512, ROUNDS = 400000, REPEATS = 7 };

static struct twice_seed seed;

struct thing {
	char key[64], tags[4 * OBJECT_TAGS];
	struct forget_thing o;
};
static struct thing things[OBJECTS];

static void
make_things(const struct forget *f)
{
	for (int i = 0; i < OBJECTS; i++) {
		struct thing *t = &things[i];
		int n = snprintf(t->key, sizeof t->key, "http://www.example.com/a/b/%d", i);
		t->o.key = (struct str){t->key, (size_t)n};
		t->o.hash = twice_key_hash_of(&seed, t->key, (size_t)n);
		t->o.tags = (struct str){t->tags, sizeof t->tags};
		for (int k = 0; k < OBJECT_TAGS; k++) {
			char tag[32];
			snprintf(tag, sizeof tag, "mine-%d-%d", i, k);
			le_put32(t->tags + 4 * k, forget_tag(f, str_of(tag)));
		}
	}
}

/* Nanoseconds for one question, the least of some runs, and how many of them do not say clean. */
static void
measure(struct forget *f, uint64_t since, const char *what)
{
	uint64_t now, clean = 0;
	uint32_t stale_s;
	double least = 1e9;
	for (int r = 0; r < REPEATS; r++) {
		int64_t begun = now_us();
		for (unsigned i = 0; i < ROUNDS; i++) {
			const struct forget_thing *o = &things[i * 2654435761u % OBJECTS].o;
			clean += forget_judge(f, o, since, &now, &stale_s) == FORGET_CLEAN;
		}
		double ns = (double)(now_us() - begun) * 1000 / ROUNDS;
		least = ns < least ? ns : least;
	}
	printf("%-60s %7.1f ns   %.3f%% not clean\n", what, least,
	       100 - 100.0 * (double)clean / REPEATS / ROUNDS);
}

int
main(int argc, char **argv)
{
	struct forget *f;
	char text[96];
	int most = argc > 1 ? atoi(argv[1]) : 100000;
	twice_seed_init(&seed, "sixteen bytes and", 17);
	forget_open(&f, &(struct forget_options){.dir_fd = -1, .seed = &seed});
	forget_begin(f, NULL, NULL);
	make_things(f);
	uint64_t before = forget_now(f);
	measure(f, before, "nothing was purged");
	for (int i = 0, next = 1; i < most; i++) {
		snprintf(text, sizeof text, "tag-%d", i);
		forget_add(f, FORGET_TAG, (struct twice_key_hash){0}, str_of(text), FORGET_ORDERED);
		if (i + 1 != next && i + 1 != most)
			continue;
		next *= 10;
		snprintf(text, sizeof text, "%d tags", i + 1);
		measure(f, before, text);
	}
	forget_add(f, FORGET_URL, (struct twice_key_hash){0}, STR("http://o/"), FORGET_ORDERED);
	measure(f, before, "and one URL");
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "http://other.example/%d/", i);
		forget_add(f, FORGET_PREFIX, (struct twice_key_hash){0}, str_of(text),
			   FORGET_ORDERED);
	}
	measure(f, before, "and 1,000 prefixes of another host");
	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof text, "http://www.example.com/c/%d/", i);
		forget_add(f, FORGET_PREFIX, (struct twice_key_hash){0}, str_of(text),
			   FORGET_ORDERED);
	}
	measure(f, before, "and 100 of this one");
	forget_add(f, FORGET_HOST, (struct twice_key_hash){0}, STR("other.example"),
		   FORGET_ORDERED);
	forget_add_softly(f, FORGET_HOST, STR("third.example"));
	measure(f, before, "and two other hosts, one of them softly");
	forget_close(&f);
	return 0;
}
