/* hop.c - an item with parameters, and its signature. */
#include "proxy/fleet/hop.h"

#include "proxy/fleet/node_id.h"
#include "proxy/http/structured.h"

#include <openssl/evp.h>

enum { FORM = 1, PARAMETERS_MOST = 32 };

/* Of a string without escapes, a byte sequence: what lies between its marks. */
static struct str
inside(struct str text)
{
	return (struct str){text.p + 1, text.n - 2};
}

/* False: a parameter that is known has a value that it cannot have. */
static bool
take(struct hop *h, const struct sf_member *m)
{
	struct token {
		struct str key, *to;
	} tokens[] = {{STR("d"), &h->copy},
		      {STR("v"), &h->verdict},
		      {STR("s"), &h->state},
		      {STR("scheme"), &h->scheme}};
	for (unsigned i = 0; i < sizeof tokens / sizeof *tokens; i++)
		if (str_eq(m->key, tokens[i].key)) {
			*tokens[i].to = m->text;
			return m->type == SF_TOKEN;
		}
	if (str_eq(m->key, STR("from")))
		return m->type == SF_STRING && node_id_parse(inside(m->text), &h->from);
	if (str_eq(m->key, STR("at"))) {
		h->at_s = m->integer;
		return m->type == SF_INTEGER && m->integer > 0;
	}
	if (str_eq(m->key, STR("for"))) {
		if (m->type != SF_STRING)
			return false;
		h->client = inside(m->text);
		return h->client.n > 0 && !memchr(h->client.p, '\\', h->client.n);
	}
	if (str_eq(m->key, STR("http"))) {
		h->http = (int)m->integer;
		return m->type == SF_INTEGER && m->integer >= 0 && m->integer <= 2;
	}
	if (str_eq(m->key, STR("ask"))) {
		h->ask = m->integer != 0;
		return m->type == SF_BOOLEAN;
	}
	if (str_eq(m->key, STR("keep"))) {
		h->no_copy = m->integer == 0;
		return m->type == SF_BOOLEAN;
	}
	if (str_eq(m->key, STR("t")) || str_eq(m->key, STR("seen"))) {
		if (m->type != SF_BYTES)
			return false;
		*(str_eq(m->key, STR("t")) ? &h->tags : &h->seen) = inside(m->text);
	}
	if (str_eq(m->key, STR("mac"))) {
		if (m->type != SF_STRING)
			return false;
		h->mac = inside(m->text);
		return h->mac.n == SECRET_MAC_TEXT;
	}
	return true;
}

int
hop_parse(struct str field, struct hop *out)
{
	struct hop h = {0};
	struct str rest = field;
	struct sf_member m;
	unsigned parameters = 0;
	if (field.n > HOP_FIELD_MOST || !sf_item(&rest, &m) || m.type != SF_INTEGER ||
	    m.integer != FORM)
		return -1;
	for (;;) {
		struct str before = {field.p, field.n - rest.n};
		enum sf_step step = sf_parameter_next(&rest, &m);
		if (step == SF_END)
			break;
		/* Behind a mac nothing is covered by it. */
		if (step == SF_ERROR || h.mac.n || ++parameters > PARAMETERS_MOST || !take(&h, &m))
			return -1;
		if (h.mac.n)
			h.covered = before;
	}
	if (!h.from)
		return -1;
	*out = h;
	return 0;
}

/* ---- tags ---------------------------------------------------------------------------------- */

enum { TAG_BYTES = 4 };

void
hop_add_tags(struct str tags, struct buf *out)
{
	unsigned char text[HOP_TAGS_MOST / 3 * 4 + 8];
	if (!tags.n || tags.n > HOP_TAGS_MOST)
		return;
	int n = EVP_EncodeBlock(text, (const unsigned char *)tags.p, (int)tags.n);
	buf_add(out, (const char *)text, (size_t)n);
}

void
hop_read_tags(struct str base64, struct buf *out)
{
	unsigned char bytes[HOP_TAGS_MOST + 8];
	size_t filled = 0;
	if (!base64.n || base64.n % 4 || base64.n / 4 * 3 > HOP_TAGS_MOST)
		return;
	int n = EVP_DecodeBlock(bytes, (const unsigned char *)base64.p, (int)base64.n);
	while (filled < 2 && base64.p[base64.n - 1 - filled] == '=')
		filled++;
	if (n > 0 && ((size_t)n - filled) % TAG_BYTES == 0)
		buf_add(out, (const char *)bytes, (size_t)n - filled);
}

/* ---- signing ------------------------------------------------------------------------------- */

enum { PARTS = 7 };

static void
list_parts(struct str covered, const struct hop_subject *about, char to[NODE_ID_TEXT + 1],
	   struct str parts[PARTS])
{
	parts[0] = about->asked.n ? STR("answer") : STR("request");
	parts[1] = covered;
	parts[2] = str_of(node_id_print(about->to, to));
	parts[3] = about->method;
	parts[4] = about->target;
	parts[5] = about->asked.n ? about->asked : STR("");
	parts[6] = about->content.n ? about->content : STR("");
}

/* Without printf: it is said and read with each hop. */
static void
add(struct buf *out, struct str key, struct str value, struct str end)
{
	if (value.n) {
		buf_add_str(out, key);
		buf_add_str(out, value);
		buf_add_str(out, end);
	}
}

void
hop_format(const struct hop *h, const struct secret *s, const struct hop_subject *about,
	   struct buf *out)
{
	char id[NODE_ID_TEXT + 1], to[NODE_ID_TEXT + 1], mac[SECRET_MAC_TEXT];
	struct str parts[PARTS];
	size_t from = out->n;
	buf_add_u64(out, FORM);
	add(out, STR(";from=\""), str_of(node_id_print(h->from, id)), STR("\";at="));
	buf_add_u64(out, (uint64_t)h->at_s);
	if (h->client.n) {
		add(out, STR(";for=\""), h->client, STR("\";http="));
		buf_add_u64(out, (uint64_t)h->http);
	}
	if (h->ask)
		buf_add_lit(out, ";ask=?1");
	if (h->no_copy)
		buf_add_lit(out, ";keep=?0");
	add(out, STR(";scheme="), h->scheme, STR(""));
	add(out, STR(";d="), h->copy, STR(""));
	add(out, STR(";v="), h->verdict, STR(""));
	add(out, STR(";s="), h->state, STR(""));
	add(out, STR(";t=:"), h->tags, STR(":"));
	add(out, STR(";seen=:"), h->seen, STR(":"));
	if (!s)
		return;
	list_parts((struct str){out->p + from, out->n - from}, about, to, parts);
	secret_sign(s, SECRET_HOP, parts, PARTS, mac);
	add(out, STR(";mac=\""), (struct str){mac, sizeof mac}, STR("\""));
}

bool
hop_is_signed(const struct hop *h, const struct secret *s, const struct hop_subject *about,
	      int64_t now_s)
{
	char to[NODE_ID_TEXT + 1];
	struct str parts[PARTS];
	int64_t apart = now_s > h->at_s ? now_s - h->at_s : h->at_s - now_s;
	if (!h->mac.n || apart > HOP_CLOCKS_APART_S)
		return false;
	list_parts(h->covered, about, to, parts);
	return secret_is_signed(s, SECRET_HOP, parts, PARTS, h->mac);
}
