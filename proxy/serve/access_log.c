/* access_log.c - gathers the facts of a finished request for its line, and hands it to the writer.
 */
#include "config/config.h"
#include "proxy/serve/access_line.h"
#include "proxy/serve/access_log.h"
#include "proxy/serve/txn.h"

#include "proxy/http/forwarded.h"

static struct str
text_of(const char *z)
{
	return z ? str_of(z) : STR("");
}

/* An origin that does not know the name, or the path, that it is asked for answers with an error. */
static bool
tells_what_was_asked(const struct txn *t)
{
	return t->status >= 400 && t->cs.fwd && t->answer != ANSWER_ONLY_IF_CACHED;
}

static struct str
origin_host_of(const struct txn *t)
{
	if (!tells_what_was_asked(t))
		return STR("");
	struct str client = outgoing_host(&t->outgoing, key_primary(&t->key));
	return upstream_host(t->settings->groups[t->route->group], client);
}

static struct str
origin_target_of(const struct txn *t, struct buf *made)
{
	if (!t->outgoing.path.n || !tells_what_was_asked(t))
		return STR("");
	return outgoing_target(&t->outgoing, key_primary(&t->key), made);
}

static struct str
purge_word(enum forget_kind kind)
{
	static const char *const words[FORGET_KINDS] = {
#define ROW(id, number, word, by_hand, soft, argument, sentence) [FORGET_##id] = word,
		FORGET_ROWS(ROW)
#undef ROW
	};
	return kind < FORGET_KINDS ? text_of(words[kind]) : STR("");
}

/* Another hash of the key than that by which things are found, so that lines tell nothing of it. */
static uint32_t
variant_of(const struct txn *t)
{
	struct twice_key_hash h = t->learnt.variant.lo ? t->learnt.variant : t->key.sighting;
	return (uint32_t)twice_key_hash_of(t->serve->shelves->seed, &h, sizeof h).lo;
}

static bool
has_variants(const struct txn *t)
{
	return t->key.primary_bytes &&
	       (t->variants.names.n || t->learnt.variant.lo || route_splits_urls(t->route));
}

static void
write_line(const struct config *c, const struct access_line *line, struct buf *out)
{
	if (c->access_log_format == CONFIG_LOG_JSON)
		access_line_json(line, out);
	else
		access_line_combined(line, out);
}

void
access_log_purge(const struct config *c, enum forget_kind kind, bool soft, struct str name,
		 struct buf *out)
{
	struct buf request = {0};
	struct access_line line = {.now_s = now_s(),
				   .client = STR("-"),
				   .status = 200,
				   .purge = {purge_word(kind), soft}};
	buf_add_str(&request, name.n ? STR("PURGE ") : STR("PURGE *"));
	for (size_t i = 0; i < name.n; i++) /* a space would end it */
		buf_add(&request, name.p[i] == ' ' ? "+" : name.p + i, 1);
	buf_add_lit(&request, " HTTP/1.1");
	line.request_line = buf_str(&request);
	write_line(c, &line, out);
	buf_fini(&request);
}

void
access_log(struct txn *t)
{
	const struct settings *s = t->settings;
	struct log_lines *log = &t->serve->log;
	if (!log->file)
		return;
	char peer[STREAM_PEER_BYTES];
	struct buf cache = {0}, target = {0};
	unsigned at = 0;
	const struct field *referer = fields_next_named(&t->rq.fields, STR("referer"), &at);
	at = 0;
	const struct field *trace = fields_next_named(&t->rq.fields, STR("traceparent"), &at);
	struct stream_link link;
	txn_peer(t, peer);
	stream_link(t->stream, &link);
	t->cs.detail = t->detail;
	cache_status_format(&t->cs, &cache);
	struct access_line line = {
		.now_s = now_s(),
		.client =
			forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer)),
		.request_line = t->line,
		.host = t->rq.authority,
		.status = t->status,
		.body_bytes = t->body_sent,
		.referer = referer ? referer->value : STR(""),
		.agent = fields_get(&t->rq.fields, FIELD_USER_AGENT),
		.cache = buf_str(&cache),
		.range = t->status == 206 ? fields_get(&t->rq.fields, FIELD_RANGE) : STR(""),
		.life = {t->learnt.may_be_stored, t->learnt.life_s},
		.variant = {.is_known = has_variants(t)},
		.purge = {purge_word(t->learnt.purged), t->learnt.softly},
		.origin_host = origin_host_of(t),
		.origin_target = origin_target_of(t, &target),
		.head_us = t->head_us ? t->head_us - t->begun_us : 0,
		.total_us = now_us() - t->begun_us,
		.tunnel = t->tunnel.is_open,
		.received = t->tunnel.received,
		.cut = t->cut,
		.reused = link.reused,
		.resumed = link.resumed,
		.tls = text_of(link.version),
		.cipher = text_of(link.cipher),
		.sni = text_of(link.name),
		.alpn = link.protocol,
		.id = txn_request_id(t),
		.trace = trace ? trace->value : STR(""),
	};
	if (line.variant.is_known)
		line.variant.hash = variant_of(t);
	write_line(s->config, &line, &log->line);
	logfile_add(log->file, log->lane, log->line.p, log->line.n);
	log->line.n = 0;
	buf_fini(&cache);
	buf_fini(&target);
}
