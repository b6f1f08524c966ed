/* node_id.c - digits to a number and back. */
#include "proxy/fleet/node_id.h"

bool
node_id_parse(struct str text, uint64_t *out)
{
	uint64_t id = 0;
	if (text.n != NODE_ID_TEXT)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		unsigned digit = c >= '0' && c <= '9'	? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							: 16;
		if (digit > 15)
			return false;
		id = id << 4 | digit;
	}
	*out = id;
	return id != 0;
}

char *
node_id_print(uint64_t id, char out[NODE_ID_TEXT + 1])
{
	for (unsigned i = 0; i < NODE_ID_TEXT; i++)
		out[i] = "0123456789abcdef"[id >> (60 - 4 * i) & 15];
	out[NODE_ID_TEXT] = '\0';
	return out;
}
