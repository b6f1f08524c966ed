/* fuzz_purge_items.c - purges that another node, or the journal, tells; and the files that keep them.
 * rooms: fleet origin http base
 *
 * What is read is written again, and is the same.
 */
#include "proxy/fleet/outbox.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
read_items(struct str s)
{
	struct purge_items_reader r;
	struct purge_item i;
	struct buf again = {0};
	if (!purge_items_open(&r, s))
		return;
	purge_items_begin(&again, r.base);
	while (purge_items_next(&r, &i))
		purge_items_add(&again, &i);
	if (again.n != s.n || memcmp(again.p + 8, s.p + 8, s.n - 8) != 0)
		abort();
	buf_fini(&again);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char *p = malloc(n + 1); /* exactly, but for an empty one */
	struct str s = {p, n};
	struct buf again = {0};
	struct purge_names *l = purge_names_create(1);
	struct outbox *o = outbox_create(l);
	memcpy(p, data, n);
	read_items(s);
	if (purge_names_read(l, s) == 0)
		purge_names_write(l, &again);
	again.n = 0;
	if (outbox_read(o, s) == 0)
		outbox_write(o, &again);
	buf_fini(&again);
	outbox_destroy(&o);
	purge_names_destroy(&l);
	free(p);
	return 0;
}
