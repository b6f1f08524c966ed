/* fuzz_hop.c - the field that says it came from a sibling, by whoever reaches the listener.
 * rooms: fleet origin http base
 *
 * What is read is written again, and reads the same; nothing unsigned counts as signed.
 */
#include "proxy/fleet/hop.h"
#include "proxy/fleet/purge_seen.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct secret s;
	struct hop h, again;
	struct hop_subject about = {7, STR("GET"), STR("/x"), STR(""), STR("")};
	struct buf b = {0};
	char *p = malloc(n + 1); /* exactly, but for an empty one */
	memcpy(p, data, n);
	if (!s.fingerprint[0])
		secret_make(&s, STR("0123456789abcdef0123456789abcdef"));
	if (hop_parse((struct str){p, n}, &h) == 0) {
		if (!h.from || (h.mac.n && h.mac.n != SECRET_MAC_TEXT) || h.covered.n > n)
			abort();
		if (hop_is_signed(&h, &s, &about, h.at_s))
			abort();
		struct purge_name seen[PURGE_NAMES_SEEN_MOST];
		if (purge_seen_parse(h.seen, seen) > PURGE_NAMES_SEEN_MOST)
			abort();
		hop_format(&h, &s, &about, &b);
		if (hop_parse(buf_str(&b), &again) == 0 &&
		    (again.from != h.from || !str_eq(again.copy, h.copy) ||
		     !str_eq(again.tags, h.tags) || !str_eq(again.state, h.state) ||
		     !str_eq(again.seen, h.seen) || !hop_is_signed(&again, &s, &about, h.at_s)))
			abort();
	}
	buf_fini(&b);
	free(p);
	return 0;
}
