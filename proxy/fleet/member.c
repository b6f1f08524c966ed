/* member.c - JSON by jansson, and every text held against what may be in it. */
#include "proxy/fleet/member.h"

#include "proxy/fleet/node_id.h"
#include "proxy/http/syntax.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

/* ---- texts --------------------------------------------------------------------------------- */

static bool
consists_of(struct str s, const char *more)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = byte_lower(s.p[i]);
		if (!(c >= 'a' && c <= 'z') && !byte_is_digit(c) && !(c && strchr(more, c)))
			return false;
	}
	return s.n > 0;
}

bool
member_may_be_named(struct str name)
{
	return name.n < MEMBER_NAME && consists_of(name, "-_.");
}

bool
member_is_near(const struct member *a, const struct member *b)
{
	return strcmp(a->zone, b->zone) == 0;
}

bool
member_may_be_at(struct str address)
{
	int64_t port = 0;
	size_t at = address.n;
	while (at > 0 && address.p[at - 1] != ':')
		at--;
	struct str host = {address.p, at ? at - 1 : 0};
	bool is_v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
	if (is_v6)
		host = (struct str){host.p + 1, host.n - 2};
	return address.n < MEMBER_ADDRESS && consists_of(host, is_v6 ? ":." : "-_.") &&
	       digits_parse(str_from(address, at), &port) && port > 0 && port < 65536;
}

/* ---- out ----------------------------------------------------------------------------------- */

static void
sign(const struct secret *s, uint64_t id, struct str json, char mac[SECRET_MAC_TEXT])
{
	char text[NODE_ID_TEXT + 1];
	struct str parts[] = {str_of(node_id_print(id, text)), json};
	secret_sign(s, SECRET_RECORD, parts, 2, mac);
}

void
member_format(const struct member *m, const struct secret *s, struct buf *out)
{
	char mac[SECRET_MAC_TEXT], instance[NODE_ID_TEXT + 1];
	json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:I}", "address", m->address, "instance",
				 node_id_print(m->instance, instance), "name", m->name, "version",
				 m->version, "weight", (json_int_t)m->weight);
	if (json && m->zone[0])
		json_object_set_new(json, "zone", json_string(m->zone));
	char *text = json ? json_dumps(json, JSON_SORT_KEYS) : NULL;
	assert(text && m->id && m->instance);
	sign(s, m->id, str_of(text), mac);
	buf_add(out, mac, sizeof mac);
	buf_printf(out, " %s", text);
	free(text);
	json_decref(json);
}

/* ---- in ------------------------------------------------------------------------------------ */

static bool
take_text(const json_t *json, const char *key, char *to, size_t room)
{
	const json_t *v = json_object_get(json, key);
	size_t n = json_string_length(v);
	if (!json_is_string(v) || n >= room || strlen(json_string_value(v)) != n)
		return false;
	memcpy(to, json_string_value(v), n + 1);
	return true;
}

static bool
take_weight(const json_t *json, uint64_t *out)
{
	const json_t *v = json_object_get(json, "weight");
	json_int_t weight = json_is_integer(v) ? json_integer_value(v) : 0;
	if (weight < 1 || weight > (json_int_t)MEMBER_WEIGHT_MOST)
		return false;
	*out = (uint64_t)weight;
	return true;
}

static bool
take_zone(const json_t *json, char zone[MEMBER_NAME])
{
	zone[0] = '\0';
	return !json_object_get(json, "zone") ||
	       (take_text(json, "zone", zone, MEMBER_NAME) && member_may_be_named(str_of(zone)));
}

static bool
is_printable(const char *z)
{
	for (; *z; z++)
		if (*z <= ' ' || *z > '~')
			return false;
	return true;
}

static bool
take_all(const json_t *json, struct member *m)
{
	char instance[NODE_ID_TEXT + 1];
	return json_is_object(json) && take_text(json, "name", m->name, sizeof m->name) &&
	       take_text(json, "address", m->address, sizeof m->address) &&
	       take_text(json, "version", m->version, sizeof m->version) &&
	       take_text(json, "instance", instance, sizeof instance) &&
	       take_weight(json, &m->weight) && take_zone(json, m->zone) &&
	       node_id_parse(str_of(instance), &m->instance) &&
	       member_may_be_named(str_of(m->name)) && member_may_be_at(str_of(m->address)) &&
	       is_printable(m->version);
}

int
member_parse(struct str record, uint64_t id, const struct secret *s, struct member *out)
{
	char text[NODE_ID_TEXT + 1];
	struct str mac, json;
	struct member m = {.id = id};
	if (record.n > MEMBER_RECORD_MOST || !str_cut(record, ' ', &mac, &json))
		return -1;
	struct str parts[] = {str_of(node_id_print(id, text)), json};
	if (!secret_is_signed(s, SECRET_RECORD, parts, 2, mac))
		return -1;
	json_t *tree = json_loadb(json.p, json.n, JSON_REJECT_DUPLICATES, NULL);
	bool fine = tree && take_all(tree, &m);
	json_decref(tree);
	if (fine)
		*out = m;
	return fine ? 0 : -1;
}
