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

/*     id        word           URLs   what it is; where two formats read the same, the first is taken */
/* clang-format off */
#define FORMATS(X)                                                                                   \
	X(CLF,      "clf",           true,  "Apache, nginx, lighttpd, Traefik: common or combined; Varnish NCSA; twice") \
	X(JSON,     "json",          true,  "JSON, an object for each request, in lines or in an array")     \
	X(SQUID,    "squid",         true,  "Squid native; Traffic Server squid")                            \
	X(HAPROXY,  "haproxy",       true,  "HAProxy HTTP log")                                              \
	X(W3C,      "w3c",           true,  "columns named by #Fields: CloudFront, Fastly, IIS")             \
	X(TABLE,    "table",         true,  "TSV or CSV whose first line names the columns")                 \
	X(LOGFMT,   "logfmt",        true,  "name=value ...: Go services, Heroku's router")                  \
	X(ISTIO,    "istio",         true,  "Istio's default text")                                          \
	X(ENVOY,    "envoy",         true,  "Envoy's default text")                                          \
	X(ALB,      "alb",           true,  "AWS Application Load Balancer")                                 \
	X(ELB,      "elb",           true,  "AWS Classic Load Balancer")                                     \
	X(S3,       "s3",            true,  "Amazon S3 server access log")                                   \
	X(BUNNY,    "bunny",         true,  "bunny.net CDN")                                                 \
	X(REALTIME, "cloudfront-realtime", true, "CloudFront real-time, all fields in their order")          \
	X(TWITTER,  "twitter",       false, "Twitter's traces of its caches")                                \
	X(MSR,      "msr",           false, "MSR Cambridge block traces")                                    \
	X(PHOTO,    "tencent-photo", false, "Tencent's trace of photos")                                     \
	X(BLOCK,    "tencent-block", false, "Tencent's block traces")                                        \
	X(TRIPLE,   "triple",        false, "time id size")                                                  \
	X(SIZED,    "time-size-id",  false, "time size id")                                                  \
	X(ORACLE,   "oracle",        false, "libCacheSim oracleGeneral, binary")
/* clang-format on */

enum format {
#define X(id, word, urls, what) FORMAT_##id,
	FORMATS(X)
#undef X
		FORMAT_COUNT,
	FORMAT_AUTO = FORMAT_COUNT
};

const char *parse_word(enum format f);
const char *parse_words(void);				 /* all, for a message */
int parse_format_of(const char *word, enum format *out); /* "auto" too; -1: there is none */
bool parse_has_urls(enum format f);			 /* else it is a trace of numbers */

/* A line may lie within another one, of which only its time is of use. */
enum wrap {
	WRAP_NONE,
	WRAP_DOCKER, /* {"log":"...","stream":"stdout","time":"..."} */
	WRAP_CRI,    /* 2026-11-22T05:20:44Z stdout F ... */
	WRAP_PREFIX, /* words, and then an object of JSON: syslog, Caddy's console */
	WRAP_COUNT
};

/* By what entries are apart. */
enum cut { CUT_LINES, CUT_OBJECTS, CUT_RECORDS };

struct shape {
	enum format format;
	enum wrap wrap;
	enum cut cut;
	size_t skip; /* bytes before the first entry */
};

enum { PARSE_COLUMNS_MOST = 128, PARSE_KEYS_MOST = 128, PARSE_KEY_BYTES = 56 };

/* A name of a key, as a.b.c, and what it means. */
struct parse_key {
	char name[PARSE_KEY_BYTES];
	uint8_t n, role, rank;
	bool leads; /* to names that are known: it is an object */
};

struct parsing {
	struct roles_own *own; /* borrowed, may be NULL */
	enum format format;
	enum wrap wrap;
	struct value_clock clock;
	struct buf scratch, unwrapped;
	struct str outer_time; /* of the line around this one */
	/* Columns: W3C, TABLE, and formats whose columns have a fixed order. */
	uint8_t columns[PARSE_COLUMNS_MOST]; /* enum role */
	unsigned columns_n;
	char delimiter;
	bool has_header, host_is_client, host_is_doubtful;
	/* Names and values: the names of the line before, in their order; most lines have the same. */
	struct parse_key keys[PARSE_KEYS_MOST];
};

void parse_init(struct parsing *p, const struct shape *shape, struct roles_own *own);
void parse_fini(struct parsing *p);

enum parsed { PARSED_ENTRY, PARSED_NOTHING, PARSED_BAD };
/* PARSED_NOTHING: a comment, a header, an empty line. */
enum parsed parse_line(struct parsing *p, struct str line, struct entry *out);

/* The next line, object or record of *rest, which it is taken from. False: the rest holds no whole
 * one; of lines and objects what is there is in *line. */
bool parse_cut(struct str *rest, enum cut cut, struct str *line);

/* Which format is this, of the first bytes of a log? wanted: only this one is tried, and taken in
 * any case; FORMAT_AUTO: any. The answer's format may be FORMAT_AUTO: none that is known. */
struct shape parse_detect(struct str first, enum format wanted, struct roles_own *own);

/* Why is no format known? Adds a sentence: which columns or keys were looked for, and an example. */
void parse_explain(struct str first, struct roles_own *own, struct buf *out);

#endif
