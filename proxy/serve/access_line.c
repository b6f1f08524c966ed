/* access_line.c - nothing a client sends can end a field or a line early. */
#include "proxy/serve/access_line.h"

#include <time.h>

enum { TIME_BYTES = 64 };

static struct tm
utc(int64_t now_s)
{
	struct tm tm;
	time_t t = (time_t)now_s;
	gmtime_r(&t, &tm);
	return tm;
}

static bool
is_plain(unsigned char ch)
{
	return ch >= 0x20 && ch < 0x7f && ch != '"' && ch != '\\';
}

/* A byte that is not plain becomes the escape and two hexadecimal digits. */
static void
add_escaped(struct str s, struct str escape, struct buf *out)
{
	size_t from = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (is_plain((unsigned char)s.p[i]))
			continue;
		buf_add(out, s.p + from, i - from);
		buf_add_str(out, escape);
		buf_printf(out, "%02x", (unsigned)(unsigned char)s.p[i]);
		from = i + 1;
	}
	if (s.n > from)
		buf_add(out, s.p + from, s.n - from);
}

/* ---- combined ------------------------------------------------------------------------------ */

static void
add_quoted(struct str s, struct buf *out)
{
	buf_add_lit(out, "\"");
	add_escaped(s.n ? s : STR("-"), STR("\\x"), out);
	buf_add_lit(out, "\"");
}

static void
add_tls(const struct access_line *l, struct buf *out)
{
	buf_add_lit(out, " tls=");
	add_quoted(l->tls, out);
	buf_add_lit(out, " cipher=");
	add_quoted(l->cipher, out);
	buf_add_lit(out, " sni=");
	add_quoted(l->sni, out);
	buf_add_lit(out, " alpn=");
	add_quoted(l->alpn, out);
	if (l->resumed)
		buf_add_lit(out, " resumed");
}

void
access_line_combined(const struct access_line *l, struct buf *out)
{
	char when[TIME_BYTES];
	struct tm tm = utc(l->now_s);
	buf_add_str(out, l->client);
	buf_add_lit(out, " - - [");
	buf_add(out, when, strftime(when, sizeof when, "%d/%b/%Y:%H:%M:%S +0000", &tm));
	buf_add_lit(out, "] ");
	add_quoted(l->request_line, out);
	buf_printf(out, " %d %llu ", l->status, (unsigned long long)l->body_bytes);
	add_quoted(l->referer, out);
	buf_add_lit(out, " ");
	add_quoted(l->agent, out);
	buf_add_lit(out, " host=");
	add_quoted(l->host, out);
	buf_add_lit(out, " cache=");
	add_quoted(l->cache, out);
	buf_printf(out, " head_us=%lld total_us=%lld", (long long)l->head_us,
		   (long long)l->total_us);
	if (l->range.n) {
		buf_add_lit(out, " range=");
		add_quoted(l->range, out);
	}
	if (l->life.is_known)
		buf_printf(out, " life=%lld", (long long)l->life.s);
	if (l->variant.is_known)
		buf_printf(out, " var=%08x", (unsigned)l->variant.hash);
	if (l->purge.kind.n)
		buf_printf(out, " purge=\"%s%.*s\"", l->purge.soft ? "soft-" : "",
			   (int)l->purge.kind.n, l->purge.kind.p);
	if (l->tunnel)
		buf_printf(out, " received=%llu", (unsigned long long)l->received);
	if (l->origin_host.n) {
		buf_add_lit(out, " origin_host=");
		add_quoted(l->origin_host, out);
	}
	if (l->origin_target.n) {
		buf_add_lit(out, " origin_target=");
		add_quoted(l->origin_target, out);
	}
	buf_printf(out, "%s%s", l->cut ? " cut" : "", l->reused ? " reused" : "");
	if (l->tls.n)
		add_tls(l, out);
	if (l->id.n) {
		buf_add_lit(out, " id=");
		add_quoted(l->id, out);
	}
	if (l->trace.n) {
		buf_add_lit(out, " trace=");
		add_quoted(l->trace, out);
	}
	buf_add_lit(out, "\n");
}

/* ---- json ---------------------------------------------------------------------------------- */

static void
add_text(const char *name, struct str s, struct buf *out)
{
	buf_printf(out, ",\"%s\":\"", name);
	add_escaped(s, STR("\\u00"), out);
	buf_add_lit(out, "\"");
}

/* The next word of the request line. */
static struct str
next_word(struct str *rest)
{
	const char *space = rest->n ? memchr(rest->p, ' ', rest->n) : NULL;
	struct str word = {rest->p, space ? (size_t)(space - rest->p) : rest->n};
	*rest = str_from(*rest, word.n + (space != NULL));
	return word;
}

static const char *
word(bool yes)
{
	return yes ? "true" : "false";
}

static void
add_tls_members(const struct access_line *l, struct buf *out)
{
	add_text("tls", l->tls, out);
	add_text("cipher", l->cipher, out);
	add_text("sni", l->sni, out);
	add_text("alpn", l->alpn, out);
	buf_printf(out, ",\"resumed\":%s", word(l->resumed));
}

void
access_line_json(const struct access_line *l, struct buf *out)
{
	char when[TIME_BYTES];
	struct tm tm = utc(l->now_s);
	struct str rest = l->request_line;
	buf_add_lit(out, "{\"time\":\"");
	buf_add(out, when, strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm));
	buf_add_lit(out, "\"");
	add_text("client", l->client, out);
	add_text("host", l->host, out);
	add_text("method", next_word(&rest), out);
	add_text("target", next_word(&rest), out);
	add_text("protocol", rest, out);
	buf_printf(out, ",\"status\":%d,\"body_bytes\":%llu", l->status,
		   (unsigned long long)l->body_bytes);
	add_text("referer", l->referer, out);
	add_text("user_agent", l->agent, out);
	add_text("cache", l->cache, out);
	if (l->range.n)
		add_text("range", l->range, out);
	if (l->life.is_known)
		buf_printf(out, ",\"life\":%lld", (long long)l->life.s);
	if (l->variant.is_known)
		buf_printf(out, ",\"var\":\"%08x\"", (unsigned)l->variant.hash);
	if (l->purge.kind.n)
		buf_printf(out, ",\"purge\":\"%s%.*s\"", l->purge.soft ? "soft-" : "",
			   (int)l->purge.kind.n, l->purge.kind.p);
	if (l->origin_host.n)
		add_text("origin_host", l->origin_host, out);
	if (l->origin_target.n)
		add_text("origin_target", l->origin_target, out);
	if (l->id.n)
		add_text("id", l->id, out);
	if (l->trace.n)
		add_text("trace", l->trace, out);
	if (l->tls.n)
		add_tls_members(l, out);
	if (l->tunnel)
		buf_printf(out, ",\"received\":%llu", (unsigned long long)l->received);
	buf_printf(out, ",\"reused\":%s,\"head_us\":%lld,\"total_us\":%lld,\"cut\":%s}\n",
		   word(l->reused), (long long)l->head_us, (long long)l->total_us, word(l->cut));
}
