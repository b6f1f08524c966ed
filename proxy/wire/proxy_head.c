/* proxy_head.c - by the letter of HAProxy's doc/proxy-protocol.txt: a forwarder is a program, and one
 * that writes something else is not what it was taken for.
 */
#include "proxy/wire/proxy_head.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* Of version 2: signature, version and command, family, length; then addresses; then TLVs, each with
 * a type and a length in front. */
enum {
	LINE_MOST = 107,
	SIGNATURE_BYTES = 12,
	FIXED_BYTES = 16,
	COMMAND_AT = 12,
	FAMILY_AT = 13,
	LENGTH_AT = 14,
	TLV_HEAD = 3,
	TLV_CRC32C = 0x03
};

static const char signature[] = "\r\n\r\n\0\r\nQUIT\n";
static const char word[] = "PROXY ";

/* As much of it as there is. */
static bool
begins(struct str in, const char *with, size_t n)
{
	size_t k = in.n < n ? in.n : n;
	return memcmp(in.p, with, k) == 0;
}

/* ---- version 1 ----------------------------------------------------------------------------- */

/* The next word of the line, ended by one space or by the line's end. */
static struct str
next_word(struct str *rest)
{
	const char *space = rest->n ? memchr(rest->p, ' ', rest->n) : NULL;
	size_t n = space ? (size_t)(space - rest->p) : rest->n;
	struct str w = {rest->p, n};
	*rest = str_from(*rest, n + (space != NULL));
	return w;
}

static bool
is_address(struct str s, int family, void *to)
{
	char text[INET6_ADDRSTRLEN];
	if (s.n == 0 || s.n >= sizeof text || memchr(s.p, '\0', s.n))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
	return inet_pton(family, text, to) == 1;
}

static bool
is_port(struct str s, in_port_t *to)
{
	unsigned port = 0;
	if (s.n == 0 || s.n > 5 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		port = 10 * port + (unsigned)(s.p[i] - '0');
	}
	*to = htons((in_port_t)port);
	return port <= 65535;
}

static void
set_v4(struct sockaddr_storage *to, struct in_addr from, in_port_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = from, .sin_port = port};
	memset(to, 0, sizeof *to);
	memcpy(to, &a, sizeof a);
}

static void
set_v6(struct sockaddr_storage *to, struct in6_addr from, in_port_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = from, .sin6_port = port};
	memset(to, 0, sizeof *to);
	memcpy(to, &a, sizeof a);
}

/* "192.0.2.1 192.0.2.9 56324 443" */
static bool
read_ends(struct str rest, int family, struct proxy_head *out)
{
	struct in6_addr from, to;
	in_port_t port, to_port;
	bool well = is_address(next_word(&rest), family, &from) &&
		    is_address(next_word(&rest), family, &to) && is_port(next_word(&rest), &port);
	/* The last word is all of the rest: nothing follows it. */
	if (!well || !is_port(rest, &to_port))
		return false;
	out->who = PROXY_HEAD_CLIENT;
	if (family == AF_INET6) {
		set_v6(&out->client, from, port);
	} else {
		struct in_addr v4;
		memcpy(&v4, &from, sizeof v4);
		set_v4(&out->client, v4, port);
	}
	return true;
}

static bool
read_line(struct str line, struct proxy_head *out)
{
	struct str rest = str_from(line, sizeof word - 1);
	struct str family = next_word(&rest);
	if (str_eq(family, STR("TCP4")))
		return read_ends(rest, AF_INET, out);
	if (str_eq(family, STR("TCP6")))
		return read_ends(rest, AF_INET6, out);
	out->who = PROXY_HEAD_NOBODY; /* whatever follows UNKNOWN is to be ignored */
	return str_eq(family, STR("UNKNOWN"));
}

static enum proxy_head_step
read_v1(struct str in, struct proxy_head *out)
{
	struct str most = {in.p, in.n < LINE_MOST ? in.n : LINE_MOST};
	const char *cr = memchr(most.p, '\r', most.n), *lf = memchr(most.p, '\n', most.n);
	if (lf && (!cr || lf != cr + 1))
		return PROXY_HEAD_BROKEN;
	if (!lf) /* a CR is the last byte but one */
		return most.n == LINE_MOST || (cr && cr + 1 < most.p + most.n) ? PROXY_HEAD_BROKEN
									       : PROXY_HEAD_MORE;
	struct proxy_head h = {.bytes = (size_t)(lf - in.p) + 1};
	if (!read_line((struct str){in.p, (size_t)(cr - in.p)}, &h))
		return PROXY_HEAD_BROKEN;
	*out = h;
	return PROXY_HEAD_DONE;
}

/* ---- version 2 ----------------------------------------------------------------------------- */

static unsigned
two_bytes(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static uint32_t
crc32c(uint32_t crc, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		crc ^= (unsigned char)p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return crc;
}

/* The checksum of the whole head, in which its own four bytes count as zero. */
static bool
has_checksum(struct str head, const char *at)
{
	static const char zero[4];
	uint32_t crc = crc32c(UINT32_MAX, head.p, (size_t)(at - head.p));
	crc = crc32c(crc, zero, sizeof zero);
	crc = ~crc32c(crc, at + 4, head.n - (size_t)(at + 4 - head.p));
	uint32_t said = (uint32_t)two_bytes(at) << 16 | two_bytes(at + 2);
	return said == crc;
}

/* From here to the end of the head. */
static bool
are_extensions(struct str head, size_t at)
{
	while (at < head.n) {
		if (head.n - at < TLV_HEAD)
			return false;
		const char *p = head.p + at;
		size_t n = two_bytes(p + 1);
		at += TLV_HEAD;
		if (head.n - at < n)
			return false;
		if (p[0] == TLV_CRC32C && (n != 4 || !has_checksum(head, p + TLV_HEAD)))
			return false;
		at += n;
	}
	return true;
}

static bool
read_ends_v2(struct str head, struct proxy_head *out)
{
	const char *p = head.p + FIXED_BYTES;
	size_t n = head.n - FIXED_BYTES, ends;
	struct in_addr v4;
	struct in6_addr v6;
	in_port_t port;
	switch ((unsigned char)head.p[FAMILY_AT]) {
	case 0x00: /* not said; neither is what follows */
		out->who = PROXY_HEAD_NOBODY;
		return true;
	case 0x11:
		ends = 12;
		if (n < ends)
			return false;
		memcpy(&v4, p, sizeof v4);
		memcpy(&port, p + 8, sizeof port);
		set_v4(&out->client, v4, port);
		break;
	case 0x21:
		ends = 36;
		if (n < ends)
			return false;
		memcpy(&v6, p, sizeof v6);
		memcpy(&port, p + 32, sizeof port);
		set_v6(&out->client, v6, port);
		break;
	case 0x31: /* a Unix socket of the sender's machine */
		ends = 216;
		out->who = PROXY_HEAD_NOBODY;
		break;
	default: /* datagrams, or nothing that the protocol knows */
		return false;
	}
	return n >= ends && are_extensions(head, FIXED_BYTES + ends);
}

static enum proxy_head_step
read_v2(struct str in, struct proxy_head *out)
{
	enum { LOCAL = 0x20, PROXY = 0x21 };
	unsigned command = in.n > COMMAND_AT ? (unsigned char)in.p[COMMAND_AT] : PROXY;
	if (command != LOCAL && command != PROXY)
		return PROXY_HEAD_BROKEN;
	if (in.n < FIXED_BYTES)
		return PROXY_HEAD_MORE;
	struct proxy_head h = {.bytes = FIXED_BYTES + two_bytes(in.p + LENGTH_AT)};
	if (h.bytes > PROXY_HEAD_MOST)
		return PROXY_HEAD_BROKEN;
	if (in.n < h.bytes)
		return PROXY_HEAD_MORE;
	h.who = command == LOCAL ? PROXY_HEAD_SENDER : PROXY_HEAD_CLIENT;
	if (command == PROXY && !read_ends_v2((struct str){in.p, h.bytes}, &h))
		return PROXY_HEAD_BROKEN;
	*out = h;
	return PROXY_HEAD_DONE;
}

enum proxy_head_step
proxy_head_read(struct str in, struct proxy_head *out)
{
	if (in.n == 0)
		return PROXY_HEAD_MORE;
	if (begins(in, signature, SIGNATURE_BYTES))
		return in.n <= SIGNATURE_BYTES ? PROXY_HEAD_MORE : read_v2(in, out);
	if (!begins(in, word, sizeof word - 1))
		return PROXY_HEAD_BROKEN;
	return in.n < sizeof word ? PROXY_HEAD_MORE : read_v1(in, out);
}
