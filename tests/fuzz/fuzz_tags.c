/* fuzz_tags.c - what an origin says by which words its answer may be purged.
 * rooms: serve cache coding http base filter
 *
 * The input is the value of two fields of that name, cut at the first NUL. There are as many tags as
 * words, each is one, in any case the same; and nothing of it is left when the fields are stripped.
 */
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/serve/rules/tags.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static struct cache *
seeded(void)
{
	static struct cache *c;
	char err[256];
	struct cache_options o = {.memory_bytes = 1 << 20};
	if (!c && cache_open(&c, &o, err, sizeof err) != 0)
		abort();
	return c;
}

/* Words by another way than the program's. */
static size_t
words_of(struct str s, uint32_t *tags, const struct cache *c)
{
	size_t n = 0;
	for (size_t i = 0, from = 0; i <= s.n; i++) {
		bool ends = i == s.n || s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == ',';
		struct str word = {s.p + from, i - from};
		if (!ends)
			continue;
		from = i + 1;
		if (!word.n)
			continue;
		if (!tags_is_one(word))
			abort();
		tags[n++] = cache_tag(c, word);
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static const struct str names[] = {STR_INIT("surrogate-key"), STR_INIT("Cache-Tag")};
	static uint32_t tags[2 << 16];
	struct tag_settings settings = {.names = names, .names_n = 2, .strip = true};
	struct buf got = {0};
	if (n > 1 << 15)
		return 0;
	tags_prepare(&settings);
	char *p = malloc(n + 1), *upper = malloc(n + 1); /* exactly, but for an empty one */
	memcpy(p, data, n);
	for (size_t i = 0; i < n; i++)
		upper[i] = (char)(p[i] >= 'a' && p[i] <= 'z' ? p[i] - 32 : p[i]);
	size_t cut = str_before((struct str){p, n}, 0).n;
	struct str first = {p, cut}, second = {upper + cut, n - cut};
	struct field v[3] = {{STR_INIT("Surrogate-Key"), first, FIELD_OTHER},
			     {STR_INIT("X"), first, FIELD_OTHER},
			     {STR_INIT("CACHE-TAG"), second, FIELD_OTHER}};
	struct field rest[3];
	struct fields fields = {.v = v, .n = 3, .cap = 3}, left = {.v = rest, .cap = 3};
	if (!tags_read(&settings, seeded(), &fields, &got))
		abort();
	size_t want = words_of(first, tags, seeded());
	second.p = p + cut; /* capital letters are as small ones */
	want += words_of(second, tags + want, seeded());
	if (got.n != 4 * want || (want && memcmp(got.p, tags, got.n) != 0))
		abort();
	tags_strip(&settings, &fields, &left);
	if (left.n != 1 || left.v[0].name.n != 1)
		abort();
	buf_fini(&got);
	free(p);
	free(upper);
	return 0;
}
