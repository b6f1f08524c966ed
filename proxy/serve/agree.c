/* agree.c - two bodies side by side, each in its coding. */
#include "proxy/serve/agree.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/coding/expand.h"
#include "proxy/coding/packer.h"
#include "proxy/http/cachekey.h"
#include "proxy/http/form.h"
#include "proxy/http/head.h"
#include "proxy/serve/packing.h"
#include "proxy/serve/rules/validator.h"

#include <stdlib.h>

enum {
	EVERY_MS = 60000,	  /* of a route */
	COMPARED_BYTES = 1 << 20, /* of the bodies, expanded, at most */
	ROOM = 16 << 10
};

enum verdict { AGREE_UNKNOWN, AGREE_SAME, AGREE_NOT };

struct side {
	struct object *object; /* a reference */
	struct packing_runs body;
	size_t next; /* run */
	struct str in;
	struct expander *expander; /* NULL: the body is plain */
	bool full;		   /* the expander has more of what it took */
	bool over, bad;
	size_t n; /* bytes in out */
	char out[ROOM];
};

struct agree_job {
	struct letter letter; /* first: see come_home */
	struct packer_job job;
	struct serve *serve;	   /* whose worker's letters it is */
	struct settings *settings; /* a reference */
	const struct route *route;
	struct side before, now;
	enum verdict verdict;
};

/* ---- on the packer's thread ---------------------------------------------------------------- */

static void
open_side(struct side *s)
{
	struct expand_limits limits = {.most = FORM_EXPANDED_BYTES, .comes = s->object->body_bytes};
	enum coding c = terms_coding(&s->object->terms);
	if (c != CODING_NONE)
		s->expander = expand_create(c, &limits);
	s->bad = c != CODING_NONE && !s->expander;
}

static void
next_run(struct side *s)
{
	if (s->next < s->body.n) {
		s->in = s->body.at[s->next++];
		return;
	}
	s->over = true;
	if (s->expander)
		s->bad = expand_end(s->expander) != EXPAND_DONE;
}

static void
make_some(struct side *s)
{
	size_t room = ROOM - s->n, made = 0;
	if (s->expander) {
		enum expansion e = expand_feed(s->expander, &s->in, s->out + s->n, room, &made);
		s->full = e == EXPAND_FULL;
		s->bad = e != EXPAND_FULL && e != EXPAND_MORE;
	} else {
		made = s->in.n < room ? s->in.n : room;
		memcpy(s->out + s->n, s->in.p, made);
		s->in = str_from(s->in, made);
	}
	s->n += made;
}

/* Until out is full, or all is in it. */
static void
fill_side(struct side *s)
{
	while (s->n < ROOM && !s->over && !s->bad)
		if (!s->in.n && !s->full)
			next_run(s);
		else
			make_some(s);
}

static void
drop(struct side *s, size_t n)
{
	s->n -= n;
	memmove(s->out, s->out + n, s->n);
}

/* Behind a difference both are expanded to their ends: a damaged body is no other version. */
static enum verdict
compare(struct side *a, struct side *b)
{
	bool differs = false;
	for (size_t done = 0; differs || done < COMPARED_BYTES;) {
		fill_side(a);
		fill_side(b);
		if (a->bad || b->bad)
			return AGREE_UNKNOWN;
		if (!a->n && !b->n)
			return differs ? AGREE_NOT : AGREE_SAME;
		size_t n = a->n < b->n ? a->n : b->n;
		differs = differs || n == 0 || memcmp(a->out, b->out, n) != 0;
		drop(a, differs ? a->n : n);
		drop(b, differs ? b->n : n);
		done += n;
	}
	return AGREE_SAME;
}

static size_t
run(void *ctx, struct pack *pack, struct pack_as as)
{
	struct agree_job *j = ctx;
	(void)pack, (void)as;
	open_side(&j->before);
	open_side(&j->now);
	j->verdict = compare(&j->before, &j->now);
	expand_destroy(&j->before.expander);
	expand_destroy(&j->now.expander);
	return 0;
}

static void
done(void *ctx, bool ran)
{
	struct agree_job *j = ctx;
	(void)ran; /* else the verdict is not known */
	mailbox_post(j->serve->mailbox, &j->letter);
}

/* ---- at home ------------------------------------------------------------------------------- */

static void
free_job(struct agree_job *j)
{
	atomic_store(&j->serve->shelves->agreeing, false);
	object_unref(&j->before.object);
	object_unref(&j->now.object);
	settings_unref(&j->settings);
	free(j);
}

static void
keep_apart(const struct agree_job *j)
{
	struct str url = cachekey_url(j->now.object->key);
	if (atomic_exchange(&j->settings->forms[j->route->row].apart, true))
		return;
	metrics_add(j->serve->metrics, METRIC_CODINGS_DIFFER, 1);
	log_warning(
		"the origin's answers for %.*s as %s and as %s have one validator and different "
		"bytes when they are expanded: for all URLs of their route each coding is "
		"kept for itself until the configuration changes. Look at how the origin codes, or "
		"write accept_encoding: [ none ] for that route",
		(int)url.n, url.p, coding_word(terms_coding(&j->before.object->terms)),
		coding_word(terms_coding(&j->now.object->terms)));
}

static void
come_home(struct letter *l)
{
	struct agree_job *j = (struct agree_job *)l;
	if (j->verdict != AGREE_UNKNOWN)
		metrics_add(j->serve->metrics, METRIC_CODINGS_COMPARED, 1);
	if (j->verdict == AGREE_NOT)
		keep_apart(j);
	free_job(j);
}

/* ---- away ---------------------------------------------------------------------------------- */

/* By strong validators (RFC 9110 8.8.1): bytes of what is one version weakly may differ anyway. */
static bool
is_one_version(const struct object *a, const struct object *b)
{
	struct field fields[FIELDS_MAX], others[FIELDS_MAX];
	struct response one = {.fields = {.v = fields, .cap = FIELDS_MAX}};
	struct response other = {.fields = {.v = others, .cap = FIELDS_MAX}};
	int64_t now = now_s();
	if (!head_read(a->head, &one) || !head_read(b->head, &other))
		return false;
	struct str tag = validator_strong(&one.fields, now);
	return (tag.n && validator_is_of(tag, &other.fields)) ||
	       validator_is_of_time(&one.fields, &other.fields, now);
}

static bool
is_small_form(const struct object *o)
{
	return o->terms.flags & TERMS_ONE_FORM && !(o->terms.flags & TERMS_PACKED) &&
	       o->kind == OBJECT_RESPONSE && o->place == OBJECT_IN_RAM &&
	       o->body_bytes <= FORM_CODED_BYTES;
}

static bool
is_due(struct route_forms *f)
{
	int64_t now = now_ms(), last = atomic_load(&f->compared_ms);
	return (!last || now - last >= EVERY_MS) &&
	       atomic_compare_exchange_strong(&f->compared_ms, &last, now);
}

static struct agree_job *
begin(struct serve *s, struct settings *under, const struct route *r, struct object *before,
      struct object *now)
{
	struct agree_job *j = NEW(struct agree_job);
	j->letter.open = come_home;
	j->job = (struct packer_job){.run = run, .done = done, .ctx = j};
	j->serve = s;
	j->settings = settings_ref(under);
	j->route = r;
	j->before.object = object_ref(before);
	j->now.object = object_ref(now);
	return j;
}

void
agree_look(struct serve *s, struct settings *under, const struct route *r, struct object *before,
	   struct object *now)
{
	struct shelves *sh = s->shelves;
	if (!sh->packer || !under->forms || settings_keeps_apart(under, r) ||
	    !is_small_form(before) || !is_small_form(now) ||
	    terms_coding(&before->terms) == terms_coding(&now->terms) ||
	    !is_one_version(before, now) || atomic_exchange(&sh->agreeing, true))
		return;
	struct agree_job *j = begin(s, under, r, before, now);
	bool due = packing_find_runs(sh->cache, before, &j->before.body) &&
		   packing_find_runs(sh->cache, now, &j->now.body) && is_due(&under->forms[r->row]);
	if (due && packer_give(sh->packer, &j->job, now_us()) == PACKER_TAKEN)
		return;
	if (due) /* nobody had time: the next two may be compared */
		atomic_store(&under->forms[r->row].compared_ms, 0);
	free_job(j);
}
