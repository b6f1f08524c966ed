/* parse.h - one line of a log into an entry: a row per format.
 *
 * Every parser takes any bytes at all. It says no to a line that it does not understand, and to one
 * that lacks what a request must have: a time, and a URL or an id.
 *
 * Memory    an entry's views are of the line or of the parsing's scratch memory.
 * Threads   one at a time for one struct parsing.
 */
#ifndef SIMULATE_PARSE_H
#define SIMULATE_PARSE_H

#include "proxy/base/buf.h"
#include "proxy/simulate/roles.h"
#include "proxy/simulate/value.h"

/*     id       word        header lines  what it is */
/* clang-format off */
#define FORMATS(X)                                                                            \
	X(CLF,     "clf",      false, "Apache or nginx, common or combined; Varnish NCSA; twice") \
	X(JSON,    "json",     false, "JSON lines: nginx, Caddy, Envoy, Cloudflare, twice")       \
	X(SQUID,   "squid",    false, "Squid native; Traffic Server squid")                       \
	X(HAPROXY, "haproxy",  false, "HAProxy HTTP log")                                         \
	X(W3C,     "w3c",      true,  "columns named by #Fields: CloudFront, Fastly, IIS")        \
	X(TABLE,   "table",    true,  "TSV or CSV whose first line names the columns")            \
	X(TRIPLE,  "triple",   false, "time id size")                                             \
	X(ORACLE,  "oracle",   false, "libCacheSim oracleGeneral, binary")
/* clang-format on */

enum format {
#define X(id, word, headed, what) FORMAT_##id,
	FORMATS(X)
#undef X
		FORMAT_COUNT,
	FORMAT_AUTO = FORMAT_COUNT
};

const char *parse_word(enum format f);
const char *parse_words(void);				 /* all, for a message */
int parse_format_of(const char *word, enum format *out); /* "auto" too; -1: there is none */

enum { PARSE_COLUMNS_MOST = 128, PARSE_KEYS_MOST = 64, PARSE_KEY_BYTES = 40 };

struct parsing {
	struct roles_own *own; /* borrowed, may be NULL */
	enum format format;
	struct value_clock clock;
	struct buf scratch;
	/* Columns: W3C, TABLE. */
	uint8_t columns[PARSE_COLUMNS_MOST]; /* enum role */
	unsigned columns_n;
	char delimiter;
	bool has_header, host_is_client, host_is_doubtful, escaped;
	/* JSON: the keys of the line before, in their order; most lines have the same. */
	struct {
		char name[PARSE_KEY_BYTES];
		uint8_t n, role, rank;
	} keys[PARSE_KEYS_MOST];
};

void parse_init(struct parsing *p, enum format f, struct roles_own *own);
void parse_fini(struct parsing *p);

enum parsed { PARSED_ENTRY, PARSED_NOTHING, PARSED_BAD };
/* PARSED_NOTHING: a comment, a header, an empty line. */
enum parsed parse_line(struct parsing *p, struct str line, struct entry *out);

/* Which format is this, of the first bytes of a log? FORMAT_AUTO: none that is known. */
enum format parse_detect(struct str first, struct roles_own *own);

#endif
