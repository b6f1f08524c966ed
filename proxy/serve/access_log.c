/* access_log.c - one line per request: combined format, then how the cache answered and how long it
 * took. Lines gather per worker and are written whole.
 *
 *	192.0.2.1 - - [20/Nov/2026:15:04:05 +0000] "GET /a HTTP/1.1" 200 1024 "-" "curl/7.88"
 *	  cache="hit; ttl=60; detail=ram" head_us=38 total_us=41
 */
#include "proxy/serve/txn.h"

#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>

enum { FLUSH_BYTES = 32 << 10 };

/* Nothing a client sends can end a field or a line early. */
static void
add_quoted(struct buf *b, struct str s)
{
	buf_add_lit(b, "\"");
	if (s.n == 0)
		buf_add_lit(b, "-");
	for (size_t i = 0; i < s.n; i++) {
		unsigned char ch = (unsigned char)s.p[i];
		if (ch < 0x20 || ch >= 0x7f || ch == '"' || ch == '\\')
			buf_printf(b, "\\x%02x", ch);
		else
			buf_add(b, s.p + i, 1);
	}
	buf_add_lit(b, "\"");
}

static void
add_request_line(struct buf *b, const struct txn *t)
{
	struct str head = buf_str(&t->head);
	const char *cr = head.n ? memchr(head.p, '\r', head.n) : NULL;
	if (!cr && head.n)
		cr = memchr(head.p, '\n', head.n);
	add_quoted(b, (struct str){head.p, cr ? (size_t)(cr - head.p) : head.n});
}

void
access_log_flush(struct log_lines *l)
{
	int fd = atomic_load(l->fd);
	if (l->lines.n && fd >= 0) {
		ssize_t n = write(fd, l->lines.p, l->lines.n);
		(void)n; /* a full disk must not stop the proxy; the tick says so once */
	}
	l->lines.n = 0;
}

void
access_log(struct txn *t)
{
	struct log_lines *l = &t->serve->log;
	if (atomic_load_explicit(l->fd, memory_order_relaxed) < 0)
		return;
	struct buf *b = &l->lines;
	if (b->n == 0)
		l->due(l->node);
	char peer[INET6_ADDRSTRLEN], when[64];
	time_t now = (time_t)now_s();
	struct tm tm;
	conn_peer(t->conn, peer);
	gmtime_r(&now, &tm);
	strftime(when, sizeof when, "%d/%b/%Y:%H:%M:%S +0000", &tm);
	buf_printf(b, "%s - - [%s] ", peer, when);
	add_request_line(b, t);
	buf_printf(b, " %d %llu ", t->status, (unsigned long long)t->body_sent);
	unsigned at = 0;
	const struct field *referer = fields_next_named(&t->rq.fields, STR("referer"), &at);
	add_quoted(b, referer ? referer->value : STR(""));
	buf_add_lit(b, " ");
	add_quoted(b, fields_get(&t->rq.fields, FIELD_USER_AGENT));
	buf_add_lit(b, " cache=\"");
	t->cs.name = "twice";
	t->cs.detail = t->detail;
	cache_status_format(&t->cs, b);
	int64_t end = now_us();
	buf_printf(b, "\" head_us=%lld total_us=%lld%s\n",
		   (long long)(t->head_us ? t->head_us - t->begun_us : 0),
		   (long long)(end - t->begun_us), t->cut ? " cut" : "");
	if (b->n > FLUSH_BYTES)
		access_log_flush(l);
}
