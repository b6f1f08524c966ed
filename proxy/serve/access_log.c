/* access_log.c - gathers the facts of a finished request for its line, and hands it to the writer.
 */
#include "config/config.h"
#include "proxy/serve/access_line.h"
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
	stream_peer(t->stream, peer);
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
	if (s->config->access_log_format == CONFIG_LOG_JSON)
		access_line_json(&line, &log->line);
	else
		access_line_combined(&line, &log->line);
	logfile_add(log->file, log->lane, log->line.p, log->line.n);
	log->line.n = 0;
	buf_fini(&cache);
	buf_fini(&target);
}
