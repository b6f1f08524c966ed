/* roster.c - members in, sorted by id. */
#include "proxy/fleet/roster.h"

#include "proxy/base/mem.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

void
roster_fini(struct roster *r)
{
	free(r->of);
	free(r->settled);
	*r = (struct roster){0};
}

/* ---- members ------------------------------------------------------------------------------- */

static int
by_id(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

struct member *
roster_member(const struct roster *r, uint64_t id)
{
	struct member like = {.id = id};
	return r->n ? bsearch(&like, r->of, r->n, sizeof *r->of, by_id) : NULL;
}

static void
add(struct roster *r, struct str id, struct str record, const struct secret *s)
{
	struct member m;
	uint64_t number;
	if (r->n == RING_NODES || !node_id_parse(id, &number) ||
	    member_parse(record, number, s, &m)) {
		r->refused++;
		return;
	}
	r->of = mem_realloc(r->of, (r->n + 1) * sizeof *r->of);
	r->of[r->n++] = m;
}

/* An id that is there twice counts once. */
static void
sort(struct roster *r)
{
	unsigned kept = 0;
	if (r->n)
		qsort(r->of, r->n, sizeof *r->of, by_id);
	for (unsigned i = 0; i < r->n; i++)
		if (!kept || r->of[kept - 1].id != r->of[i].id)
			r->of[kept++] = r->of[i];
	r->n = kept;
}

void
roster_put(struct roster *r, const struct member *m)
{
	struct member *there = roster_member(r, m->id);
	if (there) {
		*there = *m;
		return;
	}
	if (r->n == RING_NODES)
		return;
	r->of = mem_realloc(r->of, (r->n + 1) * sizeof *r->of);
	r->of[r->n++] = *m;
	sort(r);
}

/* When they are sorted. An order about a node that is no member now waits in the engine. */
static void
drain(struct roster *r, struct str id, struct str mac, const struct secret *s)
{
	uint64_t number;
	if (!node_id_parse(id, &number) || !secret_is_signed(s, SECRET_DRAIN, &id, 1, mac)) {
		r->refused++;
		return;
	}
	struct member *m = roster_member(r, number);
	if (m)
		m->drains = true;
}

/* ---- the settled ring ---------------------------------------------------------------------- */

static int
by_node_id(const void *a, const void *b)
{
	const struct ring_node *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Lines "ID WEIGHT"; others are left out. */
static void
take_settled(struct roster *r, struct str text)
{
	struct str line, id, weight;
	while (text.n && r->settled_n < RING_NODES) {
		struct ring_node n;
		int64_t weighs;
		str_cut(text, '\n', &line, &text);
		if (!str_cut(line, ' ', &id, &weight) || !node_id_parse(id, &n.id) ||
		    !digits_parse(weight, &weighs) || weighs > (int64_t)MEMBER_WEIGHT_MOST)
			continue;
		n.weight = (uint64_t)weighs;
		r->settled = mem_realloc(r->settled, (r->settled_n + 1) * sizeof *r->settled);
		r->settled[r->settled_n++] = n;
	}
	unsigned kept = 0;
	if (r->settled_n)
		qsort(r->settled, r->settled_n, sizeof *r->settled, by_node_id);
	for (unsigned i = 0; i < r->settled_n; i++)
		if (!kept || r->settled[kept - 1].id != r->settled[i].id)
			r->settled[kept++] = r->settled[i];
	r->settled_n = kept;
}

void
roster_weigh(const struct roster *r, struct ring_node *out)
{
	for (unsigned i = 0; i < r->n; i++)
		out[i] = (struct ring_node){r->of[i].id, r->of[i].drains ? 0 : r->of[i].weight};
}

void
roster_settle(struct roster *r)
{
	free(r->settled);
	r->settled = r->n ? mem_zalloc(r->n * sizeof *r->settled) : NULL;
	r->settled_n = r->n;
	r->hands_over = false;
	roster_weigh(r, r->settled);
}

bool
roster_has_ring_of(const struct roster *a, const struct roster *b)
{
	for (unsigned i = 0; i < a->n && a->n == b->n; i++)
		if (a->of[i].id != b->of[i].id || a->of[i].weight != b->of[i].weight ||
		    a->of[i].drains != b->of[i].drains || !member_is_near(&a->of[i], &b->of[i]))
			return false;
	return a->n == b->n;
}

/* It is shown and compared, so it is text. False: it is none. */
static bool
take_known(struct roster *r, struct str known)
{
	for (size_t i = 0; i < known.n; i++)
		if (known.p[i] <= ' ' || known.p[i] > '~')
			return false;
	if (known.n >= sizeof r->known)
		return false;
	snprintf(r->known, sizeof r->known, "%.*s", STR_ARG(known));
	return true;
}

/* ---- from the engine ----------------------------------------------------------------------- */

int
roster_take(struct roster *out, const struct redisReply *r, const struct secret *s)
{
	struct roster made = {0};
	assert(r->elements >= 6);
	const struct redisReply *nodes = r->element[4], *drains = r->element[5];
	if (nodes->type != REDIS_REPLY_ARRAY || drains->type != REDIS_REPLY_ARRAY ||
	    !take_known(&made, replies_text(r->element[1])))
		return -1;
	for (size_t i = 0; i + 1 < nodes->elements; i += 2)
		add(&made, replies_text(nodes->element[i]), replies_text(nodes->element[i + 1]), s);
	sort(&made);
	for (size_t i = 0; i + 1 < drains->elements; i += 2)
		drain(&made, replies_text(drains->element[i]), replies_text(drains->element[i + 1]),
		      s);
	take_settled(&made, replies_text(r->element[2]));
	made.hands_over = r->element[3]->type == REDIS_REPLY_INTEGER && r->element[3]->integer == 1;
	*out = made;
	return 0;
}

/* ---- the file ------------------------------------------------------------------------------ */

static struct str
text_of(const json_t *json)
{
	const char *p = json_string_value(json);
	return p ? (struct str){p, json_string_length(json)} : STR("");
}

int
roster_read(struct roster *out, struct str file, const struct secret *s)
{
	struct roster made = {0};
	const char *id;
	json_t *v, *tree = file.n ? json_loadb(file.p, file.n, 0, NULL) : NULL;
	if (!json_is_object(json_object_get(tree, "nodes"))) {
		json_decref(tree);
		return -1;
	}
	json_object_foreach(json_object_get(tree, "nodes"), id, v)
	{
		add(&made, str_of(id), text_of(v), s);
	}
	sort(&made);
	json_object_foreach(json_object_get(tree, "drains"), id, v)
	{
		drain(&made, str_of(id), text_of(v), s);
	}
	take_settled(&made, text_of(json_object_get(tree, "settled")));
	made.hands_over = json_is_true(json_object_get(tree, "hands_over"));
	take_known(&made, text_of(json_object_get(tree, "known")));
	json_decref(tree);
	*out = made;
	return 0;
}

static void
write_member(const struct member *m, const struct secret *s, json_t *nodes, json_t *drains)
{
	struct buf record = {0};
	char id[NODE_ID_TEXT + 1], mac[SECRET_MAC_TEXT];
	struct str part = str_of(node_id_print(m->id, id));
	member_format(m, s, &record);
	json_object_set_new(nodes, id, json_stringn(record.p, record.n));
	secret_sign(s, SECRET_DRAIN, &part, 1, mac);
	if (m->drains)
		json_object_set_new(drains, id, json_stringn(mac, sizeof mac));
	buf_fini(&record);
}

void
roster_write(const struct roster *r, const struct secret *s, struct buf *out)
{
	struct buf settled = {0};
	char id[NODE_ID_TEXT + 1];
	json_t *nodes = json_object(), *drains = json_object();
	for (unsigned i = 0; i < r->n; i++)
		write_member(&r->of[i], s, nodes, drains);
	for (unsigned i = 0; i < r->settled_n; i++)
		buf_printf(&settled, "%s %llu\n", node_id_print(r->settled[i].id, id),
			   (unsigned long long)r->settled[i].weight);
	json_t *tree = json_pack("{s:o, s:o, s:o, s:b, s:s}", "nodes", nodes, "drains", drains,
				 "settled", json_stringn(settled.p ? settled.p : "", settled.n),
				 "hands_over", r->hands_over, "known", r->known);
	char *text = json_dumps(tree, JSON_INDENT(1) | JSON_SORT_KEYS);
	assert(text);
	buf_printf(out, "%s\n", text);
	free(text);
	json_decref(tree);
	buf_fini(&settled);
}

/* ---- looking ------------------------------------------------------------------------------- */

const struct member *
roster_find(const struct roster *r, struct str name, bool *twice)
{
	const struct member *found = NULL;
	uint64_t id;
	*twice = false;
	if (node_id_parse(name, &id) && roster_member(r, id))
		return roster_member(r, id);
	for (unsigned i = 0; i < r->n; i++)
		if (str_ieq(str_of(r->of[i].name), name)) {
			*twice |= found != NULL;
			found = &r->of[i];
		}
	return *twice ? NULL : found;
}
