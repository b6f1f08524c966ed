/* own_cache.h - a test's own cache: a folder, a mailbox, the options it is opened with. */
#ifndef KIT_OWN_CACHE_H
#define KIT_OWN_CACHE_H

#include "proxy/cache/cache.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

static char dir[256];
static struct mailbox home;
static struct cache_options options;

/* All that is not said is 0; the folder is a new one. */
static inline void
begin_with(struct cache_options o)
{
	tmpdir_make(dir, sizeof dir);
	ck_assert_int_eq(mailbox_init(&home), 0);
	options = o;
	options.dir = dir;
	options.ops = unsynced_disk();
}

static inline void
end(void)
{
	mailbox_fini(&home);
	tmpdir_remove(dir);
}

static inline struct cache *
open_cache(void)
{
	struct cache *c = NULL;
	char err[512] = "";
	ck_assert_msg(cache_open(&c, &options, err, sizeof err) == 0, "%s", err);
	return c;
}

#endif
