/* fuzz_parse.c - lines of any bytes, read as each format of logs; views stay within their bounds.
 * rooms: simulate config cache coding http base filter
 */
#include "proxy/simulate/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static volatile unsigned char sum;

static void
look_at(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		sum = (unsigned char)(sum + (unsigned char)s.p[i]);
}

static void
read_as(const struct shape *shape, struct str text)
{
	struct parsing p;
	struct entry e;
	parse_init(&p, shape, NULL);
	text = str_from(text, shape->skip);
	while (text.n) {
		struct str line;
		parse_cut(&text, shape->cut, &line);
		if (parse_line(&p, line, &e) != PARSED_ENTRY)
			continue;
		if (!e.has_time || (!e.target.n && !e.has_id))
			abort();
		look_at(e.method);
		look_at(e.scheme);
		look_at(e.host);
		look_at(e.target);
		look_at(e.query);
		look_at(e.client);
		look_at(e.cache);
	}
	parse_fini(&p);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct str text = {(const char *)data, n};
	struct shape found = parse_detect(text, FORMAT_AUTO, NULL), s = {0};
	if (found.format != FORMAT_AUTO)
		read_as(&found, text);
	for (; s.wrap < WRAP_COUNT; s.wrap++)
		for (s.format = 0; s.format < FORMAT_COUNT; s.format++)
			read_as(&s, text);
	struct buf why = {0};
	parse_explain(text, NULL, &why);
	look_at(buf_str(&why));
	buf_fini(&why);
	return 0;
}
