/* rooms: fleet origin http base
 *
 * test_member.c - the record of a node, there and back, and what is none. */
#include "proxy/fleet/member.h"
#include "proxy/fleet/node_id.h"
#include "tests/kit/unit.h"

static struct secret
secret(const char *text)
{
	struct secret s;
	ck_assert_int_eq(secret_make(&s, str_of(text)), 0);
	return s;
}

static const struct member edge = {
	.id = 0x9f00000000000001,
	.instance = 7,
	.weight = 100 << 20,
	.name = "edge-fra-1",
	.address = "10.0.0.11:8443",
	.zone = "fra-1",
	.version = "0.3.0~20261127101822+dirty",
};

START_TEST(a_record_comes_back)
{
	struct secret s = secret("0123456789abcdef0123456789abcdef"),
		      other = secret("another secret of more than 32 bytes");
	struct buf b = {0};
	struct member m;
	member_format(&edge, &s, &b);
	ck_assert_uint_lt(b.n, MEMBER_RECORD_MOST);
	ck_assert_int_eq(member_parse(buf_str(&b), edge.id, &s, &m), 0);
	ck_assert(m.id == edge.id && m.instance == 7 && m.weight == 100 << 20 && !m.drains);
	ck_assert_str_eq(m.name, edge.name);
	ck_assert_str_eq(m.zone, edge.zone);
	ck_assert_str_eq(m.address, edge.address);
	ck_assert_str_eq(m.version, edge.version);
	ck_assert_int_eq(member_parse(buf_str(&b), edge.id + 1, &s, &m), -1);
	ck_assert_int_eq(member_parse(buf_str(&b), edge.id, &other, &m), -1);
	for (size_t i = 0; i < b.n; i++) { /* no byte of it may be another */
		b.p[i] ^= 1;
		ck_assert_int_eq(member_parse(buf_str(&b), edge.id, &s, &m), -1);
		b.p[i] ^= 1;
		ck_assert_int_eq(member_parse((struct str){b.p, i}, edge.id, &s, &m), -1);
	}
	buf_fini(&b);
}
END_TEST

#define REST ", \"version\": \"1\", \"weight\": 5}"

/* Signed by somebody who has the secret: an older, a newer or a broken version. */
static const struct {
	const char *says, *json;
	bool is_one;
} records[] = {
	/* clang-format off */
	{"as it should be",          "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, true},
	{"a newer one says more",    "{\"site\": [1], \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, true},
	{"of a zone",                "{\"zone\": \"fra-1\", \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, true},
	{"a zone that is a list",    "{\"zone\": [1], \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a zone without a name",    "{\"zone\": \"\", \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a zone with a blank",      "{\"zone\": \"a b\", \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"IPv6",                     "{\"name\": \"a\", \"address\": \"[2001:db8::1]:65535\", \"instance\": \"00000000000000ff\"" REST, true},
	{"no name",                  "{\"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a name with a line break", "{\"name\": \"a\\nb\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a name with NUL",          "{\"name\": \"a\\u0000b\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"no port",                  "{\"name\": \"a\", \"address\": \"h\", \"instance\": \"00000000000000ff\"" REST, false},
	{"port 0",                   "{\"name\": \"a\", \"address\": \"h:0\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a port too large",         "{\"name\": \"a\", \"address\": \"h:65536\", \"instance\": \"00000000000000ff\"" REST, false},
	{"an address with a path",   "{\"name\": \"a\", \"address\": \"h/x:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"an address with a user",   "{\"name\": \"a\", \"address\": \"u@h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"a short instance",         "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"ff\"" REST, false},
	{"an instance of 0",         "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"0000000000000000\"" REST, false},
	{"a name that is a number",  "{\"name\": 1, \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"said twice",               "{\"name\": \"b\", \"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\"" REST, false},
	{"no weight",                "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\", \"version\": \"1\"}", false},
	{"a weight of 0",            "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\", \"version\": \"1\", \"weight\": 0}", false},
	{"a negative weight",        "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\", \"version\": \"1\", \"weight\": -5}", false},
	{"a weight beyond doubles",  "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\", \"version\": \"1\", \"weight\": 9007199254740993}", false},
	{"a broken weight",          "{\"name\": \"a\", \"address\": \"h:1\", \"instance\": \"00000000000000ff\", \"version\": \"1\", \"weight\": 1.5}", false},
	{"a list",                   "[1]", false},
	{"nothing",                  "", false},
	{"cut short",                "{\"name\"", false},
	/* clang-format on */
};

START_TEST(record)
{
	struct secret s = secret("0123456789abcdef0123456789abcdef");
	char mac[SECRET_MAC_TEXT], id[NODE_ID_TEXT + 1];
	struct str parts[] = {str_of(node_id_print(5, id)), str_of(records[_i].json)};
	struct buf b = {0};
	struct member m;
	secret_sign(&s, SECRET_RECORD, parts, 2, mac);
	buf_add(&b, mac, sizeof mac);
	buf_printf(&b, " %s", records[_i].json);
	ck_assert_msg((member_parse(buf_str(&b), 5, &s, &m) == 0) == records[_i].is_one, "%s",
		      records[_i].says);
	buf_fini(&b);
}
END_TEST

static const struct {
	const char *text;
	uint64_t id;
} ids[] = {
	{"0000000000000001", 1},
	{"ffffffffffffffff", UINT64_MAX},
	{"0123456789abcdef", 0x0123456789abcdef},
	{"0000000000000000", 0},
	{"0123456789ABCDEF", 0},
	{"0123456789abcde", 0},
	{"0123456789abcdef0", 0},
	{"0123456789abcdeg", 0},
	{"", 0},
};

START_TEST(id)
{
	uint64_t got = 0;
	char text[NODE_ID_TEXT + 1];
	ck_assert(node_id_parse(str_of(ids[_i].text), &got) == (ids[_i].id != 0));
	if (ids[_i].id)
		ck_assert_str_eq(node_id_print(got, text), ids[_i].text);
	ck_assert(got == ids[_i].id || !ids[_i].id);
}
END_TEST

UNIT("member", TEST(a_record_comes_back), LOOP(record, records), LOOP(id, ids))
