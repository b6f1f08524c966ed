/* fuzz_member.c - the record of a node, as whoever can write to the engine may make it; once as it comes, once
 * signed, for nodes of other versions have the secret too.
 * rooms: fleet origin http base
 */
#include "proxy/fleet/member.h"

#include "proxy/fleet/node_id.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
look(struct str record, const struct secret *s, bool may)
{
	struct member m, again;
	struct buf b = {0};
	if (member_parse(record, 5, s, &m))
		return;
	if (!may || !m.weight || !m.instance || !member_may_be_named(str_of(m.name)) ||
	    !member_may_be_at(str_of(m.address)))
		abort();
	member_format(&m, s, &b);
	if (member_parse(buf_str(&b), 5, s, &again) || again.weight != m.weight ||
	    strcmp(again.address, m.address) != 0)
		abort();
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct secret s;
	char mac[SECRET_MAC_TEXT], id[NODE_ID_TEXT + 1];
	struct str parts[] = {str_of(node_id_print(5, id)), {(const char *)data, n}};
	struct buf b = {0};
	if (!s.fingerprint[0])
		secret_make(&s, STR("0123456789abcdef0123456789abcdef"));
	look(parts[1], &s, false);
	secret_sign(&s, SECRET_RECORD, parts, 2, mac);
	buf_add(&b, mac, sizeof mac);
	buf_add_lit(&b, " ");
	buf_add_str(&b, parts[1]);
	look(buf_str(&b), &s, true);
	buf_fini(&b);
	return 0;
}
