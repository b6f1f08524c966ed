/* send_rules.c - response_headers: what is kept stays as it came, and each client is sent it by the
 * rules that hold now.
 */
#include "proxy/serve/send_inside.h"

#include "proxy/http/forwarded.h"
#include "proxy/http/uri.h"

static bool
hides_stored(const struct header_rules *rules, const struct field_block *b)
{
	struct field_cursor at = {0};
	struct field_line line;
	while (rules->gone_n && field_block_next(b, &at, &line))
		if (header_rules_hide(rules, line.name))
			return true;
	return false;
}

/* Before there is a key the request speaks for itself. */
static struct str
host_of(const struct txn *t)
{
	struct str authority =
		t->key.primary_bytes ? outgoing_authority(key_primary(&t->key)) : t->rq.authority;
	return uri_host(authority);
}

static struct header_values
values_of(struct txn *t, bool per_client, char peer[STREAM_PEER_BYTES])
{
	const struct settings *s = t->settings;
	struct header_values v = {host_of(t), t->rq.scheme, STR("")};
	if (per_client) {
		txn_peer(t, peer);
		v.client =
			forwarded_client(&t->rq.fields, s->trusted, s->trusted_count, str_of(peer));
	}
	return v;
}

static unsigned
add_rules(struct txn *t, const struct header_rules *rules, struct stream_line *out)
{
	char peer[STREAM_PEER_BYTES];
	struct header_values v = values_of(t, rules->per_client, peer);
	struct buf text = {0};
	unsigned n = 0;
	for (unsigned i = 0; i < rules->n; i++) {
		const struct header_rule *l = &rules->lines[i];
		struct str value = l->value;
		if (!header_rules_apply(l, v.scheme))
			continue;
		if (l->expands) {
			text.n = 0;
			header_rules_add_value(l, &v, &text);
			value = arena_copy(t->arena, buf_str(&text));
		}
		out[n++] = (struct stream_line){l->name, value};
	}
	buf_fini(&text);
	return n;
}

const struct stream_line *
send_ruled(struct txn *t, struct maker *m, const struct header_rules *rules,
	   const struct stream_line *lines, unsigned *n)
{
	struct field_cursor at = {0};
	struct field_line line;
	unsigned made = 0;
	bool unpacks = m->head.stored && hides_stored(rules, &m->stored);
	struct stream_line *out =
		arena_alloc(t->arena, (m->stored.count + *n + rules->n + 1) * sizeof *out);
	while (unpacks && field_block_next(&m->stored, &at, &line))
		if (!header_rules_hide(rules, line.name))
			out[made++] = (struct stream_line){line.name, line.value};
	if (unpacks)
		m->head.stored = NULL;
	for (unsigned i = 0; i < *n; i++)
		if (!header_rules_hide(rules, lines[i].name))
			out[made++] = lines[i];
	*n = made + add_rules(t, rules, out + made);
	return out;
}
