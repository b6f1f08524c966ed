/* fuzz_roster.c - the members of before, in a file that anybody with the disk may have written.
 * rooms: fleet origin http base
 *
 * Records in it are signed, so that the bytes are read as they are, and once more in the middle of a right file.
 * All that is read is written again, and reads the same.
 */
#include "proxy/fleet/roster.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
look(struct str file, const struct secret *s)
{
	struct roster r = {0}, again = {0};
	struct buf b = {0};
	if (roster_read(&r, file, s))
		return;
	for (unsigned i = 1; i < r.n; i++)
		if (r.of[i - 1].id >= r.of[i].id)
			abort();
	roster_write(&r, s, &b);
	if (roster_read(&again, buf_str(&b), s) || !roster_has_ring_of(&r, &again) ||
	    again.settled_n != r.settled_n || again.hands_over != r.hands_over)
		abort();
	roster_fini(&r);
	roster_fini(&again);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct secret s;
	struct member m = {
		.id = 5, .instance = 1, .weight = 7, .name = "a", .address = "h:1", .version = "1"};
	struct roster r = {0};
	struct buf b = {0};
	struct str input = {(const char *)data, n};
	if (!s.fingerprint[0])
		secret_make(&s, STR("0123456789abcdef0123456789abcdef"));
	look(input, &s);
	roster_put(&r, &m);
	roster_settle(&r);
	roster_write(&r, &s, &b);
	size_t at = n ? data[0] % b.n : 0; /* some of the right file is overwritten */
	for (size_t i = 1; i < n && at + i < b.n; i++)
		b.p[at + i] = (char)data[i];
	look(buf_str(&b), &s);
	roster_fini(&r);
	buf_fini(&b);
	return 0;
}
