/* test_windows.c - a purge in every window: whatever the cache does with an object, somebody purges
 * between two of its steps, and somebody else looks the object up. Not by chance, as in a storm
 * (test_purges.c): the cache calls out wherever another thread may come (cache_options.window), and
 * each such place is tried with each kind of purge.
 * rooms: cache http base filter
 */
#include "proxy/base/clock.h"
#include "proxy/base/le.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/cache_forget.h"
#include "proxy/cache/cache_inside.h"
#include "proxy/cache/cache_write.h"
#include "tests/kit/ask.h"
#include "tests/kit/own_disk.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIFETIME = 100000, BODY = 3000, TEXT = 128, CASES = 8000 };

static char dir[256];
static struct mailbox home;
static struct cache_options options;
static struct cache *c;

/* ---- one object and what is done with it ----------------------------------------------------- */

/* Each case has a host of its own, and tags: "old" and "both" are the stored object's, "new" and
 * "both" those of what the operation brings. */
static unsigned number;

/* The case's number in the place of #. */
static struct str
name(char to[TEXT], const char *pattern)
{
	const char *hash = strchr(pattern, '#');
	int front = hash ? (int)(hash - pattern) : (int)strlen(pattern);
	int n = snprintf(to, TEXT, "%.*s%u%s", front, pattern, number, hash ? hash + 1 : "");
	return (struct str){to, hash ? (size_t)n : 0};
}

static uint32_t
tag_of(const char *one)
{
	char text[TEXT], pattern[32];
	snprintf(pattern, sizeof pattern, "%s-#", one);
	return cache_tag(c, name(text, pattern));
}

static struct str
key_of(char to[TEXT], bool slice)
{
	return name(to,
		    slice ? "http://h#.example/d/x\n%slice 9000000 3 v" : "http://h#.example/d/x");
}

static struct str
tags_of(char to[8], const char *one)
{
	le_put32(to, tag_of(one));
	le_put32(to + 4, tag_of("both"));
	return (struct str){to, 8};
}

static bool
has_tag(const struct object *o, const char *one)
{
	uint32_t tag = tag_of(one);
	for (size_t i = 0; i + 4 <= o->tags.n; i += 4)
		if (le_get32(o->tags.p + i) == tag)
			return true;
	return false;
}

static struct terms
fresh_terms(void)
{
	return (struct terms){
		.response_time = now_s(), .lifetime = LIFETIME, .last_modified = -1, .status = 200};
}

static struct twice_key_hash
hash_of(struct str key)
{
	return twice_key_hash_of(cache_seed(c), key.p, key.n);
}

static struct object *
look_up(bool slice)
{
	char text[TEXT];
	struct str key = key_of(text, slice);
	return ask_look_up(c, &home, hash_of(key), key);
}

enum { DISK = 1, ADMIT = 2, SAME_BODY = 4, SLICED = 8, SLICE = 16 };

static void
store_begun(unsigned how, const char *tag, uint64_t begun)
{
	char text[TEXT], tags[8];
	struct str key = key_of(text, how & SLICE);
	struct write_options o = {
		.hash = hash_of(key),
		.key = key,
		.head = str_of(tag),
		.tags = tags_of(tags, tag),
		.terms = fresh_terms(),
		.begun = begun,
		.kind = how & SLICED  ? OBJECT_SLICED
			: how & SLICE ? OBJECT_SLICE
				      : OBJECT_RESPONSE,
		.whole_bytes = how & (SLICE | SLICED) ? 9000000 : 0,
		.body_bytes = how & SLICED ? 0 : BODY,
		.disk = how & DISK,
	};
	struct object_write *w = cache_write_begin(c, &o);
	if (!(how & SLICED)) {
		struct block *b = block_create(BODY);
		memset(b->p, how & SAME_BODY ? 's' : *tag, BODY);
		b->n = BODY;
		cache_write_body(w, b, 0, BODY);
		block_unref(&b);
	}
	struct object *done = cache_write_commit(&w, how & ADMIT);
	object_unref(&done);
}

static void
store(unsigned how, const char *tag)
{
	store_begun(how, tag, cache_now(c));
}

/* A 304 for what was looked up: the head is another one, and so are perhaps the tags. */
static struct object *held;

static void
hold(void)
{
	held = look_up(false);
	ck_assert_ptr_nonnull(held);
}

static void
refresh(const char *tag)
{
	char tags[8];
	struct terms terms = fresh_terms();
	uint64_t clean = atomic_load(&held->clean_as_of), begun = cache_now(c);
	begun = clean < begun ? clean : begun;
	struct object *o = cache_refresh(c, held, str_of(tag), tags_of(tags, tag), &terms, begun);
	object_unref(&o);
	object_unref(&held);
}

static void
nothing(void)
{
}
static void
old_in_ram(void)
{
	store(0, "old");
}
static void
old_on_disk(void)
{
	store(DISK, "old");
}
static void
old_in_both(void)
{
	store(ADMIT | SAME_BODY, "old");
}
static void
held_in_ram(void)
{
	old_in_ram();
	hold();
}
static void
held_on_disk(void)
{
	old_on_disk();
	hold();
}
static void
held_in_both(void)
{
	old_in_both();
	hold();
}
static void
held_slices(void)
{
	store(SLICE | ADMIT, "old");
	store(SLICED | ADMIT, "old");
	hold();
}
static void
stale_in_ram(void)
{
	char text[TEXT];
	old_in_both();
	cache_purge(c, FORGET_HOST, true, (struct twice_key_hash){0}, name(text, "h#.example"));
}
static void
fresh_head_in_ram(void)
{
	old_in_both();
	hold();
	refresh("old");
}
static void
warm_on_disk(void)
{
	old_on_disk();
	struct object *o = look_up(false);
	object_unref(&o);
}

static void
new_in_ram(void)
{
	store(0, "new");
}
static void
new_on_disk(void)
{
	store(DISK, "new");
}
static void
new_in_both(void)
{
	store(ADMIT, "new");
}
static void
new_of_same_body(void)
{
	store(SAME_BODY, "new");
}
static void
refresh_with_same(void)
{
	refresh("old");
}
static void
refresh_with_other(void)
{
	refresh("new");
}
static void
admit(void)
{
	struct object *o = look_up(false);
	if (o)
		cache_admit(c, o);
	object_unref(&o);
}
static void
look(void)
{
	struct object *o = look_up(false);
	object_unref(&o);
}
static void
write_heads(void)
{
	ram_tell_unwritten(c->ram);
}
static void
remove_it(void)
{
	char text[TEXT];
	struct str key = key_of(text, false);
	cache_remove(c, hash_of(key), key);
}

static const struct operation {
	const char *says;
	void (*before)(void), (*run)(void);
	enum { ANOTHER, CONFIRMED, SLICES } brings; /* confirmed: what was stored; slices too */
} operations[] = {
	{"a new object into RAM", nothing, new_in_ram, ANOTHER},
	{"a new object to the disk", nothing, new_on_disk, ANOTHER},
	{"a new object to both", nothing, new_in_both, ANOTHER},
	{"into RAM, over one on disk", old_on_disk, new_in_ram, ANOTHER},
	{"into RAM, over one in RAM", old_in_ram, new_in_ram, ANOTHER},
	{"into RAM, over one in both", old_in_both, new_in_ram, ANOTHER},
	{"to the disk, over one in both", old_in_both, new_on_disk, ANOTHER},
	{"the same body again", old_in_both, new_of_same_body, ANOTHER},
	{"a 304, in RAM", held_in_ram, refresh_with_same, CONFIRMED},
	{"a 304, on disk", held_on_disk, refresh_with_same, CONFIRMED},
	{"a 304, in both", held_in_both, refresh_with_same, CONFIRMED},
	{"a 304 with other tags, in RAM", held_in_ram, refresh_with_other, CONFIRMED},
	{"a 304 with other tags, on disk", held_on_disk, refresh_with_other, CONFIRMED},
	{"a 304 with other tags, in both", held_in_both, refresh_with_other, CONFIRMED},
	{"a 304 with other tags for a head of slices", held_slices, refresh_with_other, SLICES},
	{"written from RAM", old_in_ram, admit, CONFIRMED},
	{"looked up on disk", old_on_disk, look, CONFIRMED},
	{"looked up on disk, and moved to RAM", warm_on_disk, look, CONFIRMED},
	{"looked up when it is stale by a purge", stale_in_ram, look, CONFIRMED},
	{"a head that is not on disk is written", fresh_head_in_ram, write_heads, CONFIRMED},
	{"removed", old_in_both, remove_it, CONFIRMED},
};

/* ---- the purge in the window ----------------------------------------------------------------- */

static const struct order {
	const char *says;
	enum forget_kind what;
	const char *name, *tag;
} orders[] = {
	{"nothing", FORGET_TAG, "no-#", "no"},
	{"the URL", FORGET_URL, "http://h#.example/d/x", NULL},
	{"the host", FORGET_HOST, "h#.example", NULL},
	{"a prefix", FORGET_PREFIX, "http://h#.example/d/", NULL},
	{"a tag that it had", FORGET_TAG, "old-#", "old"},
	{"a tag that it gets", FORGET_TAG, "new-#", "new"},
	{"a tag that it has and keeps", FORGET_TAG, "both-#", "both"},
	{"all", FORGET_ALL, "", NULL},
};
enum { NOTHING = 0, ALL = COUNT(orders) - 1 };

static struct attempt {
	const struct operation *op;
	const struct order *order;
	bool soft, looks; /* looks: in all windows behind the purge */
	int at, now;	  /* the window with the purge; windows so far */
	bool inside, purged;
	char was[8]; /* what was answered when it was purged, if that was covered */
	unsigned number;
	int kills; /* KILL_...: of a process that is killed */
} try, *tried;
static unsigned tried_n;

enum { KILL_NOT, KILL_WHEN_PURGED, KILL_AT_THE_END };
static struct attempt *shared; /* with the process that is killed */

static bool
covers(const struct order *p, const struct object *o)
{
	return !p->tag || has_tag(o, p->tag);
}

static void
purge_it(void)
{
	char text[TEXT], key[TEXT];
	struct terms terms;
	struct str k = key_of(key, false);
	struct object *o = cache_look(c, hash_of(k), k, &terms);
	if (o && covers(try.order, o))
		snprintf(try.was, sizeof try.was, "%.*s", STR_ARG(o->head));
	object_unref(&o);
	struct str what = name(text, try.order->name);
	uint64_t at = cache_purge(c, try.order->what, try.soft, hash_of(what), what).at;
	try.purged = true;
	if (try.kills && !cache_purge_wait(c, at))
		abort();
}

/* All that can be on disk is there. */
static void
die(void)
{
	store_flush(c->disks[0].store);
	*shared = try;
	raise(SIGKILL);
}

static void
on_window(void *ctx)
{
	(void)ctx;
	if (try.inside)
		return;
	try.inside = true; /* what is done here has windows too */
	if (try.now++ == try.at) {
		purge_it();
		if (try.kills == KILL_WHEN_PURGED)
			die();
	}
	if (try.purged && try.looks)
		look();
	try.inside = false;
}

/* An object found now must not be a purged one. */
static void
expect_clean(const struct attempt *t, const char *when)
{
	number = t->number;
	struct object *o = look_up(false), *slice = t->op->brings == SLICES ? look_up(true) : NULL;
	bool fresh = o && o->terms.lifetime > terms_age(&o->terms, now_s());
	bool had = t->was[0] != 0;
	bool newer = str_eq(str_of(t->was), STR("old")) && o && str_eq(o->head, STR("new"));
	/* Nor an older one than that. */
	bool was = o && (covers(t->order, o) || (had && (t->op->brings || !newer)));
	ck_assert_msg(!(was && (fresh || !t->soft)),
		      "%s; %s of %s in window %d%s: it is %s %s, with the head of \"%.*s\"",
		      t->op->says, t->soft ? "soft purge" : "purge", t->order->says, t->at,
		      t->looks ? ", and a look" : "", fresh ? "fresh" : "there", when,
		      STR_ARG(o ? o->head : STR("")));
	/* Without a head that was not purged, no slice; with one, none from before. */
	ck_assert_msg(!(slice && o && !t->soft && has_tag(o, "new") && !has_tag(slice, "new")),
		      "%s; %s in window %d: a slice is there whose head has other tags",
		      t->op->says, t->order->says, t->at);
	if (t->order == &orders[NOTHING] && t->op->run != remove_it)
		ck_assert_msg(o, "%s, window %d: it is lost %s", t->op->says, t->at, when);
	object_unref(&o);
	object_unref(&slice);
}

/* False: there are not so many windows. */
static bool
attempt(const struct operation *op, const struct order *order, bool soft, bool looks, int at)
{
	number++;
	options.window = NULL;
	try = (struct attempt){.inside = true};
	op->before();
	try = (struct attempt){
		.op = op, .order = order, .soft = soft, .looks = looks, .at = at, .number = number};
	op->run();
	on_window(NULL); /* behind it */
	try.inside = true;
	if (try.purged)
		expect_clean(&try, "then");
	ck_assert_uint_lt(tried_n, CASES);
	if (try.purged)
		tried[tried_n++] = try;
	return try.purged;
}

static void
open_cache(void)
{
	char err[512] = "";
	options.window = on_window;
	ck_assert_msg(cache_open(&c, &options, err, sizeof err) == 0, "%s", err);
}

static void
begin(void)
{
	tmpdir_make(dir, sizeof dir);
	ck_assert_int_eq(mailbox_init(&home), 0);
	options = (struct cache_options){.dir = dir,
					 .disk_bytes = 1 << 30,
					 .memory_bytes = 64 << 20,
					 .shards = 1,
					 .ops = unsynced_disk()};
	number = tried_n = 0;
	tried = calloc(CASES, sizeof *tried);
	try = (struct attempt){.inside = true};
	open_cache();
}

static void
end(void)
{
	cache_close(&c);
	mailbox_fini(&home);
	tmpdir_remove(dir);
	free(tried);
}

static int
all_windows(const struct operation *op, const struct order *order)
{
	int n = 0;
	for (int how = 0; how < 4; how++)
		for (n = 0; attempt(op, order, how & 1, how & 2, n); n++)
			continue;
	return n;
}

START_TEST(a_purge_in_any_window_holds)
{
	const struct operation *op = &operations[_i];
	int windows = 0;
	begin();
	for (int i = 0; i < ALL; i++)
		windows = all_windows(op, &orders[i]);
	ck_assert_msg(windows > 0, "%s: no window", op->says);
	cache_close(&c);
	try.inside = true;
	open_cache();
	for (unsigned i = 0; i < tried_n; i++)
		if (tried[i].order != &orders[NOTHING]) /* what was in RAM alone is not there */
			expect_clean(&tried[i], "after a restart");
	all_windows(op, &orders[ALL]);
	end();
}
END_TEST

/* In a process of its own. */
static void
run_and_die(const struct attempt *a)
{
	try = (struct attempt){.inside = true};
	open_cache();
	a->op->before();
	store_flush(c->disks[0].store);
	try = *a;
	a->op->run();
	on_window(NULL);
	try.inside = true;
	die();
}

static bool
attempt_and_kill(const struct attempt *a)
{
	int status;
	shared->purged = false;
	pid_t child = fork();
	if (child == 0)
		run_and_die(a);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%s", a->op->says);
	if (!shared->purged)
		return false;
	try = (struct attempt){.inside = true};
	open_cache();
	if (a->order != &orders[NOTHING])
		expect_clean(shared, "after a kill");
	cache_close(&c);
	return true;
}

static const struct crash {
	int order;
	bool soft;
	int kills;
} crashes[] = {
	{1, false, KILL_AT_THE_END},  {4, false, KILL_AT_THE_END}, {5, false, KILL_AT_THE_END},
	{6, false, KILL_WHEN_PURGED}, {6, true, KILL_AT_THE_END},  {5, false, KILL_WHEN_PURGED},
};

/* A purge acknowledged in a window is not undone by a kill. TWICE_LONG=1: all, not a third. */
START_TEST(a_purge_in_any_window_survives_a_kill)
{
	const struct operation *op = &operations[_i];
	begin();
	cache_close(&c);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(shared, MAP_FAILED);
	for (int i = 0; i < COUNT(crashes); i++) {
		const struct crash *k = &crashes[i];
		struct attempt a = {
			.op = op, .order = &orders[k->order], .soft = k->soft, .kills = k->kills};
		if (!getenv("TWICE_LONG") && (i + _i) % 3)
			continue;
		do
			a.number = ++number;
		while (attempt_and_kill(&a) && ++a.at);
	}
	munmap(shared, sizeof *shared);
	open_cache();
	end();
}
END_TEST

UNIT("windows", LOOP(a_purge_in_any_window_holds, operations),
     LOOP(a_purge_in_any_window_survives_a_kill, operations))
