/* journal.c - commands of words, and their answers. */
#include "proxy/fleet/journal.h"

#include "proxy/fleet/beat.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/purge_items.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/script.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>

#define MOST	"1000000"
#define AT_ONCE "64"
_Static_assert(JOURNAL_MOST == 1000000 && JOURNAL_AT_ONCE == 64, "as the script is told");

static const char script[] =
#include "proxy/fleet/journal_script.h"
	;

static char sum[SCRIPT_SUM + 1];

static void
make_sum(void)
{
	script_sum((struct str){script, sizeof script - 1}, sum);
}

/* ---- places -------------------------------------------------------------------------------- */

bool
journal_is_before(struct journal_place a, struct journal_place b)
{
	return a.ms != b.ms ? a.ms < b.ms : a.n < b.n;
}

static bool
number_of(struct str s, uint64_t *out)
{
	uint64_t n = 0;
	if (!s.n || s.n > 19)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(s.p[i] - '0');
	}
	*out = n;
	return true;
}

bool
journal_place_parse(struct str text, struct journal_place *out)
{
	struct str ms, n;
	struct journal_place p;
	str_cut(text, '-', &ms, &n);
	if (!number_of(ms, &p.ms) || !number_of(n, &p.n))
		return false;
	*out = p;
	return true;
}

char *
journal_place_print(struct journal_place p, char out[48])
{
	snprintf(out, 48, "%llu-%llu", (unsigned long long)p.ms, (unsigned long long)p.n);
	return out;
}

/* ---- commands ------------------------------------------------------------------------------ */

static void
add(struct journal_command *c, struct str word)
{
	assert(c->words_n < JOURNAL_WORDS);
	c->words[c->words_n++] = word;
}

static void
make_fresh(char out[JOURNAL_ID + 1])
{
	unsigned char bytes[JOURNAL_ID / 2];
	RAND_bytes(bytes, sizeof bytes);
	for (unsigned i = 0; i < sizeof bytes; i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

void
journal_make(struct journal_command *c, const struct journal_ask *a, const struct secret *s)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static const struct str orders[] = {[JOURNAL_APPEND] = STR_INIT("append"),
					    [JOURNAL_READ] = STR_INIT("read"),
					    [JOURNAL_RENEW] = STR_INIT("renew")};
	pthread_once(&once, make_sum);
	*c = (struct journal_command){0};
	make_fresh(c->fresh);
	add(c, a->whole ? STR("EVAL") : STR("EVALSHA"));
	add(c, a->whole ? (struct str){script, sizeof script - 1} : str_of(sum));
	add(c, STR("4"));
	add(c, STR(BEAT_TAG "secret"));
	add(c, STR(BEAT_TAG "journal"));
	add(c, STR(BEAT_TAG "purges"));
	add(c, STR(BEAT_TAG "state"));
	add(c, str_of(s->fingerprint));
	add(c, orders[a->order]);
	add(c, str_of(a->known));
	add(c, str_of(c->fresh));
	if (a->order == JOURNAL_READ) {
		add(c, str_of(journal_place_print(a->from, c->at)));
		add(c, STR(AT_ONCE));
	} else if (a->order == JOURNAL_APPEND) {
		node_id_print(a->node, c->node);
		struct str parts[] = {str_of(c->node), a->items};
		secret_sign(s, SECRET_JOURNAL, parts, 2, c->mac);
		add(c, STR(MOST));
		add(c, str_of(c->node));
		add(c, a->items);
		add(c, (struct str){c->mac, sizeof c->mac});
	}
}

/* ---- answers ------------------------------------------------------------------------------- */

/* Of an entry's fields, "p" and so on; empty: it has none of the name. */
static struct str
field_of(const struct redisReply *fields, char name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (str_eq(replies_text(fields->element[i]), (struct str){&name, 1}))
			return replies_text(fields->element[i + 1]);
	return STR("");
}

/* False: it is no entry of a stream. */
static bool
read_entry(const struct redisReply *r, const struct secret *s, struct journal_entry *e)
{
	struct purge_items_reader items;
	if (r->type != REDIS_REPLY_ARRAY || r->elements != 2 ||
	    r->element[1]->type != REDIS_REPLY_ARRAY)
		return false;
	*e = (struct journal_entry){.items = field_of(r->element[1], 'i')};
	struct str node = field_of(r->element[1], 'n'), theirs = field_of(r->element[1], 'm');
	struct str parts[] = {node, e->items};
	if (!secret_is_signed(s, SECRET_JOURNAL, parts, 2, theirs) ||
	    !node_id_parse(node, &e->node))
		e->node = 0;
	if (!purge_items_open(&items, e->items))
		e->items = STR("");
	e->has_before = journal_place_parse(field_of(r->element[1], 'p'), &e->before);
	return journal_place_parse(replies_text(r->element[0]), &e->at);
}

static bool
read_list(const struct redisReply *r, const struct secret *s, struct journal_answer *out)
{
	struct journal_place before = {0};
	if (r->type != REDIS_REPLY_ARRAY || r->elements > JOURNAL_AT_ONCE)
		return false;
	for (size_t i = 0; i < r->elements; i++) {
		struct journal_entry *e = &out->of[i];
		if (!read_entry(r->element[i], s, e) || !journal_is_before(before, e->at) ||
		    journal_is_before(out->last, e->at))
			return false;
		before = e->at;
	}
	out->n = (unsigned)r->elements;
	return true;
}

void
journal_read(const struct redisReply *r, const struct secret *s, struct journal_answer *out)
{
	*out = (struct journal_answer){.word = JOURNAL_BROKEN, .text = STR("")};
	if (r->type == REDIS_REPLY_ERROR) {
		out->text = replies_text(r);
		if (str_starts(out->text, STR("NOSCRIPT")))
			out->word = JOURNAL_NO_SCRIPT;
		return;
	}
	if (r->type != REDIS_REPLY_ARRAY || r->elements < 2)
		return;
	struct str word = replies_text(r->element[0]), text = replies_text(r->element[1]);
	if (str_eq(word, STR("secret"))) {
		out->word = JOURNAL_OTHER_SECRET;
		out->text = text;
	} else if (str_eq(word, STR("journal")) && r->elements >= 4 && text.n == JOURNAL_ID &&
		   journal_place_parse(replies_text(r->element[2]), &out->last) &&
		   read_list(r->element[3], s, out)) {
		out->word = JOURNAL_IS;
		memcpy(out->id, text.p, JOURNAL_ID);
		out->members = r->elements >= 5 ? replies_text(r->element[4]) : STR("");
	}
}

bool
journal_is_forgetful(struct str info)
{
	static const struct str words = STR_INIT("aof_enabled:0");
	return info.n && memmem(info.p, info.n, words.p, words.n) != NULL;
}

bool
journal_lacks(struct journal_place own, const struct journal_answer *a)
{
	bool any = own.ms || own.n;
	for (unsigned i = 0; any && i < a->n; i++)
		if (!journal_is_before(a->of[i].at, own))
			return journal_is_before(own, a->of[i].at);
	return any && journal_is_before(a->last, own);
}

enum journal_word
journal_judge(const char *known, struct journal_place position, const struct journal_answer *a)
{
	if (strcmp(known, a->id) != 0)
		return JOURNAL_OTHER;
	if (journal_is_before(a->last, position))
		return JOURNAL_OLDER;
	if (!a->n || !a->of[0].has_before)
		return JOURNAL_FOLLOWS;
	struct journal_place before = a->of[0].before;
	return journal_is_before(before, position)   ? JOURNAL_OLDER
	       : journal_is_before(position, before) ? JOURNAL_TRIMMED
						     : JOURNAL_FOLLOWS;
}
