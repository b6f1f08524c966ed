/* fuzz_parse.c - lines of any bytes, read as each format of logs; views stay within their bounds.
 * rooms: simulate config cache http base filter
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
read_as(enum format f, struct str text)
{
	struct parsing p;
	struct entry e;
	parse_init(&p, f, NULL);
	while (text.n) {
		struct str line = str_before(text, '\n');
		text = str_from(text, line.n + 1);
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
	enum format f = parse_detect(text, NULL);
	if (f != FORMAT_AUTO)
		read_as(f, text);
	for (f = 0; f < FORMAT_COUNT; f++)
		read_as(f, text);
	return 0;
}
