/* send_inside.h - what the files of send share: send.c (from a verdict to a head), send_coded.c (of an
 * answer that is coded on its way), send_head.c (the head itself), send_local.c (answers made here). For nobody else.
 */
#ifndef SERVE_SEND_INSIDE_H
#define SERVE_SEND_INSIDE_H

#include "proxy/serve/txn.h"

#include "proxy/http/field_block.h"

#include <assert.h>

/* A head being put together: values of lines gather in t->text, where they may still move. */
enum { LINES_MOST = 12 };
struct maker {
	struct stream_head head;
	struct field_block stored;
	struct stream_line *kept; /* stored lines, where not all go: in the arena */
	unsigned kept_n, n;
	struct str names[LINES_MOST];
	size_t from[LINES_MOST]; /* where the value begins; it ends where the next one does */
};

/* In place, and the arrays are not cleared: a copy of them was a twentieth of a hit's own time. */
static inline void
send_begin(struct maker *m, struct txn *t, int status, uint64_t bytes)
{
	assert((status >= 200 && status <= 999) || (status == 101 && t->tunnel.protocol.n));
	t->status = status;
	t->text.n = 0;
	m->head = (struct stream_head){.status = status, .bytes = bytes};
	m->stored = (struct field_block){0};
	m->kept = NULL;
	m->kept_n = m->n = 0;
}

/* The value is added to the returned buf, until the next line begins. */
static inline struct buf *
send_line(struct txn *t, struct maker *m, struct str name)
{
	assert(m->n < LINES_MOST);
	m->names[m->n] = name;
	m->from[m->n++] = t->text.n;
	return &t->text;
}

/* send_head.c: end adds what every answer has, and off it goes, with t->body. */
void send_date(struct txn *t, struct maker *m);
void send_age(struct txn *t, struct maker *m, const struct terms *terms);
void send_end(struct txn *t, struct maker *m);
bool send_is_head(const struct txn *t); /* HEAD was asked */

/* send_coded.c: if t's client is sent what comes with that head in a coding, t->body is coded from now on, and m says so;
 * all forms say that there are several. passes: m is the head as it came, whatever its terms. */
void send_coded(struct txn *t, struct maker *m, const struct flight_head *h, bool passes);

/* send_rules.c: the rules' changes to the n lines that add to what is stored: other lines, *n of
 * them, in the arena. */
const struct stream_line *
send_ruled(struct txn *t, struct maker *m, const struct header_rules *rules,
	   const struct stream_line *lines, unsigned *n);

#endif
