/* packed.c - what does packing leave of files as they are found? Of each ending the share that Brotli 5 leaves, by size.
 *
 *	make build/release/bench/packed
 *	find /usr -name '*.js' | build/release/bench/packed
 *
 * Names come from standard input. Files below 1 KiB and over 1 MiB are left out, as the proxy does, and so are those that
 * come in a coding (.gz). "all" is of all bytes; "each" the mean of the shares: of a file of the usual size.
 */
#include "bench/kit.h"
#include "proxy/coding/pack.h"

#include <stdlib.h>
#include <strings.h>

enum { ENDINGS_MOST = 64, CLASSES = 4, LEAST = 1 << 10, MOST = 1 << 20, EACH_MOST = 20000 };
static const size_t upto[CLASSES] = {4 << 10, 16 << 10, 64 << 10, MOST};

struct ending {
	char text[16];
	uint64_t n[CLASSES], in[CLASSES], out[CLASSES];
	uint64_t files;
	double shares;
};

static struct ending endings[ENDINGS_MOST];

static struct ending *
find(const char *path)
{
	const char *dot = strrchr(path, '.');
	if (!dot || strchr(dot, '/') || strlen(dot) >= sizeof endings[0].text)
		return NULL;
	for (unsigned i = 0; i < ENDINGS_MOST; i++) {
		if (!*endings[i].text)
			snprintf(endings[i].text, sizeof endings[i].text, "%s", dot);
		if (strcasecmp(endings[i].text, dot) == 0)
			return endings[i].files < EACH_MOST ? &endings[i] : NULL;
	}
	return NULL;
}

static void
take(struct pack *p, struct ending *e, struct str body)
{
	static const struct pack_as as = {CODING_BR, PACK_BR_LEVEL};
	struct buf out = {0};
	struct pieces in = {&body, 1};
	unsigned class = 0;
	uint64_t left = pack_and_check(p, as, &in, &out) == PACK_DONE ? out.n : body.n;
	while (body.n > upto[class])
		class ++;
	e->n[class]++;
	e->in[class] += body.n;
	e->out[class] += left;
	e->files++;
	e->shares += (double)left / (double)body.n;
	buf_fini(&out);
}

static void
show(const struct ending *e)
{
	uint64_t in = 0, out = 0;
	printf("%-8s %6llu", e->text, (unsigned long long)e->files);
	for (unsigned i = 0; i < CLASSES; i++) {
		in += e->in[i];
		out += e->out[i];
		if (e->n[i])
			printf("  %5.3f (%5llu)", (double)e->out[i] / (double)e->in[i],
			       (unsigned long long)e->n[i]);
		else
			printf("  %13s", "-");
	}
	printf("  %5.3f  %5.3f\n", (double)out / (double)in, e->shares / (double)e->files);
}

int
main(int argc, char **argv)
{
	static char path[4096], body[MOST + 1];
	struct pack *p = pack_create();
	bench_head(argc, argv);
	while (p && fgets(path, sizeof path, stdin)) {
		path[strcspn(path, "\n")] = 0;
		struct ending *e = find(path);
		FILE *f = e ? fopen(path, "rb") : NULL;
		size_t n = f ? fread(body, 1, sizeof body, f) : 0;
		if (f)
			fclose(f);
		if (n >= LEAST && n <= MOST)
			take(p, e, (struct str){body, n});
	}
	printf("%-8s %6s  %13s  %13s  %13s  %13s  %5s  %5s\n", "ending", "files", "to 4 KiB",
	       "to 16 KiB", "to 64 KiB", "to 1 MiB", "all", "each");
	for (unsigned i = 0; i < ENDINGS_MOST && *endings[i].text; i++)
		if (endings[i].files)
			show(&endings[i]);
	pack_destroy(&p);
	return 0;
}
