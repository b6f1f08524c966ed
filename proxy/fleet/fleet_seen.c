/* fleet_seen.c - the purges that this node has heard of, for whoever it asks, and whether it lacks some of theirs. */
#include "proxy/base/clock.h"
#include "proxy/fleet/fleet_inside.h"
#include "proxy/fleet/purge_seen.h"

void
fleet_seen(const struct fleet *f, struct buf *out)
{
	struct purge_name seen[PURGE_NAMES_SEEN_MOST];
	unsigned n = purge_names_seen(f->purges.names, now_ms(), seen);
	if (n)
		purge_seen_format(seen, n, out);
}

bool
fleet_is_behind(const struct fleet *f, struct str text)
{
	struct purge_name seen[PURGE_NAMES_SEEN_MOST];
	unsigned n = purge_seen_parse(text, seen);
	return purge_names_is_behind(f->purges.names, seen, n, now_ms());
}
