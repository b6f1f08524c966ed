/* purges.c - a table of URLs, and a ring of the rest. */
#include "proxy/simulate/purges.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

enum { URLS = 1 << 16, LOOKS = 8, OTHERS = 256, TEXT_MOST = 512 };

struct url {
	uint64_t key; /* 0: free */
	struct purged last;
};

struct other {
	struct buf text;
	bool is_host;
	uint32_t number;
	bool soft;
};

struct purges {
	struct url *urls; /* owned; NULL: none was purged */
	struct other others[OTHERS];
	uint32_t others_n; /* so many came */
	uint32_t number;
};

struct purges *
purges_create(void)
{
	return NEW(struct purges);
}

void
purges_destroy(struct purges **pp)
{
	struct purges *p = *pp;
	*pp = NULL;
	if (!p)
		return;
	for (unsigned i = 0; i < OTHERS; i++)
		buf_fini(&p->others[i].text);
	free(p->urls);
	free(p);
}

static void
note(struct purged *last, uint32_t number, bool soft)
{
	if (soft)
		last->stale = number;
	else
		last->gone = number;
}

static uint32_t
newest(const struct url *u)
{
	return u->last.gone > u->last.stale ? u->last.gone : u->last.stale;
}

/* The URL's row, or the one that it would take: a free one, or the oldest. */
static struct url *
row_of(const struct purges *p, uint64_t key)
{
	struct url *best = NULL;
	for (unsigned i = 0; i < LOOKS; i++) {
		struct url *u = &p->urls[(key + i) % URLS];
		if (u->key == key)
			return u;
		if (!best || newest(u) < newest(best))
			best = u;
	}
	return best;
}

void
purges_add_url(struct purges *p, uint64_t url, bool soft)
{
	url |= !url;
	if (!p->urls)
		p->urls = mem_zalloc(URLS * sizeof *p->urls);
	struct url *u = row_of(p, url);
	if (u->key != url)
		*u = (struct url){.key = url};
	note(&u->last, ++p->number, soft);
}

static void
add(struct purges *p, struct str text, bool is_host, bool soft)
{
	if (text.n > TEXT_MOST)
		return;
	struct other *o = &p->others[p->others_n++ % OTHERS];
	o->text.n = 0;
	buf_add_str(&o->text, text);
	o->is_host = is_host;
	o->soft = soft;
	o->number = ++p->number;
}

void
purges_add_prefix(struct purges *p, struct str prefix, bool soft)
{
	add(p, prefix, false, soft);
}

void
purges_add_host(struct purges *p, struct str host, bool soft)
{
	add(p, host, true, soft);
}

static bool
covers(const struct other *o, struct str key)
{
	struct str text = buf_str(&o->text);
	if (!o->is_host)
		return str_starts(key, text);
	struct str after = str_before(key, ':');
	after = str_from(key, after.n + 3 < key.n ? after.n + 3 : key.n);
	return str_starts(after, text) && after.n > text.n && after.p[text.n] == '/';
}

struct purged
purges_find(const struct purges *p, uint64_t url, struct str key)
{
	struct purged last = {0};
	if (p->number == 0)
		return last;
	url |= !url;
	const struct url *u = p->urls ? row_of(p, url) : NULL;
	if (u && u->key == url)
		last = u->last;
	for (unsigned i = 0; i < OTHERS && i < p->others_n; i++) {
		const struct other *o = &p->others[i];
		uint32_t was = o->soft ? last.stale : last.gone;
		if (o->number > was && covers(o, key))
			note(&last, o->number, o->soft);
	}
	return last;
}

bool
purges_tell(struct heard *h, struct purged now, bool *softly)
{
	bool gone = now.gone > h->gone;
	*softly = !gone && now.stale > h->stale;
	h->gone = now.gone;
	h->stale = now.stale;
	h->times += gone;
	return gone;
}
