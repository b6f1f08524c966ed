/* fuzz_summary.c - what a sibling says it has counted: a node of another version, or one that has gone wrong.
 * rooms: admin cache http base filter
 *
 * What is read is told again, and reads the same; two of it have a sum.
 */
#include "proxy/admin/summary.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct summary s, again;
	struct buf b = {0};
	if (summary_parse((struct str){(const char *)data, n}, &s))
		return 0;
	summary_format(&s, &b);
	if (summary_parse(buf_str(&b), &again) || memcmp(s.n, again.n, sizeof s.n) != 0)
		abort();
	summary_add(&again, &s);
	json_decref(summary_json(&again));
	buf_fini(&b);
	return 0;
}
