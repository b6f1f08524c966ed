/* fuzz_trailers.c - lines behind a body: what passes.
 * rooms: serve cache coding http base filter
 *
 * What passes consists of whole lines, none of which a recipient would act on, and passes again as
 * it is.
 */
#include "proxy/serve/rules/trailers.h"

#include "proxy/http/syntax.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct buf out = {0}, again = {0};
	trailers_pass((struct str){(const char *)data, n}, NULL, NULL, false, &out);
	for (struct str rest = buf_str(&out), name, value; rest.n;) {
		struct str line = str_before(rest, '\r');
		if (line.n + 2 > rest.n || rest.p[line.n + 1] != '\n' ||
		    !str_cut(line, ':', &name, &value))
			abort();
		enum field_id id = field_id_of(name);
		if (id != FIELD_OTHER && id != FIELD_ETAG)
			abort();
		rest = str_from(rest, line.n + 2);
	}
	trailers_pass(buf_str(&out), NULL, NULL, false, &again);
	if (!str_eq(buf_str(&out), buf_str(&again)))
		abort();
	buf_fini(&out);
	buf_fini(&again);
	return 0;
}
