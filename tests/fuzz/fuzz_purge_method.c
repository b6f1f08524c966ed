/* fuzz_purge_method.c - what a PURGE asks for.
 * rooms: serve cache coding http base filter
 *
 * The input is a path and the value of one field, cut at the first NUL; its first byte chooses the field. What
 * is accepted has a prefix that the path begins with, or tags of which each is one word of the value;
 * a list of tags is never cut off by what is not one.
 */
#include "proxy/serve/rules/purge_method.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static const struct str names[] = {STR_INIT("Surrogate-Key"),  STR_INIT("X-Magento-Tags-Pattern"),
				   STR_INIT("xkey-softpurge"), STR_INIT("X-Purge-Method"),
				   STR_INIT("Soft-Purge"),     STR_INIT("X-Cache-Tags"),
				   STR_INIT("Accept")};
enum { NAMES = sizeof names / sizeof *names };

static bool
lies_in(struct str s, struct str whole)
{
	return s.p >= whole.p && s.p + s.n <= whole.p + whole.n;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static const struct str read[] = {STR_INIT("surrogate-key"), STR_INIT("xkey"),
					  STR_INIT("x-magento-tags")};
	struct tag_settings tags = {.names = read, .names_n = 3};
	struct purge_request asked;
	if (n < 2 || n > 1 << 15)
		return 0;
	tags_prepare(&tags);
	char *p = malloc(n); /* exactly */
	memcpy(p, data, n);
	size_t cut = str_before((struct str){p + 1, n - 1}, 0).n;
	struct str path = {p + 1, cut}, value = str_from((struct str){p, n}, cut + 2);
	struct field v[1] = {{names[data[0] % NAMES], value, FIELD_OTHER}};
	struct request rq = {.path_query = path, .fields = {.v = v, .n = 1, .cap = 1}};
	if (path.n && !purge_method_read(&rq, &tags, &asked)) {
		struct str tag;
		unsigned some = 0;
		if (asked.kind == FORGET_PREFIX &&
		    (!asked.prefix.n || !str_starts(path, asked.prefix)))
			abort();
		for (; asked.kind == FORGET_TAG && purge_method_next_tag(&rq, &tags, &asked, &tag);
		     some++)
			if (!tags_is_one(tag) || !lies_in(tag, value))
				abort();
		if (asked.kind == FORGET_TAG && (!some || asked.field != 1))
			abort();
	}
	free(p);
	return 0;
}
