/* schema.c - one row per setting, and the only meeting with libcyaml.
 *
 * libcyaml builds the structs and frees them. It knows no units, defaults, ranges or suggestions
 * and says little about lines, so read.c deals with those first, from the same rows.
 */
#include "config/schema.h"

#include "proxy/base/mem.h"

#include <cyaml/cyaml.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define DAY  86400.0
#define YEAR (366 * DAY)
#define KiB  1024.0
#define MiB  (KiB * KiB)
#define TiB  (MiB * MiB)

#define RANGE(from, to) .least = from, .most = to
#define NO_RANGE	.least = 0
#define VALUE(kind_, member, key_, fallback_, words_, range, sentence_)                     \
	{                                                                                   \
		.kind = KIND_##kind_, .at = offsetof(STRUCT, member),                       \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .fallback = fallback_, \
		.words = words_, range, .sentence = sentence_                               \
	}
#define LIST(each_, member, count, key_, fallback_, sentence_)                             \
	{                                                                                  \
		.kind = KIND_LIST, .each = KIND_##each_, .at = offsetof(STRUCT, member),   \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(char *), .key = key_, \
		.fallback = fallback_, .sentence = sentence_                               \
	}
/* The word stands for an empty list, which is the default. */
#define LIST_OR(word, each_, member, count, key_, sentence_)                               \
	{                                                                                  \
		.kind = KIND_LIST, .each = KIND_##each_, .at = offsetof(STRUCT, member),   \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(char *), .key = key_, \
		.fallback = "", .words = word, .sentence = sentence_                       \
	}
#define GROUP(member, key_, rows, sentence_)                                         \
	{                                                                            \
		.kind = KIND_GROUP, .at = offsetof(STRUCT, member),                  \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .inside = rows, \
		.sentence = sentence_                                                \
	}
#define GROUPS(member, count, key_, rows, sentence_)                                          \
	{                                                                                     \
		.kind = KIND_GROUPS, .at = offsetof(STRUCT, member),                          \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(*((STRUCT *)0)->member), \
		.key = key_, .fallback = "", .inside = rows, .sentence = sentence_            \
	}

/* clang-format off */

/*     kind     member                    key                         default     word for 0  range                     sentence */
#define STRUCT struct config_origin
static const struct setting origin[] = {
	VALUE(URL,     url,                      "url",                      NULL,       NULL,       NO_RANGE,                 "http[s]://host[:port], without a path"),
	VALUE(TEXT,    host,                     "host",                     "client",   "client",   NO_RANGE,                 "Host sent to it; client: the one the client sent"),
	VALUE(TEXT,    ca_file,                  "ca_file",                  "system",   "system",   NO_RANGE,                 "certificates trusted; system: the system's"),
	VALUE(SWITCH,  verify,                   "verify",                   "on",       NULL,       NO_RANGE,                 "check its certificate"),
	VALUE(MILLIS,  connect_timeout_ms,       "connect_timeout",          "5s",       NULL,       RANGE(1, 1000 * DAY),     "to connect, TLS included"),
	VALUE(MILLIS,  read_timeout_ms,          "read_timeout",             "1m",       NULL,       RANGE(1, 1000 * DAY),     "without a byte from it"),
	VALUE(COUNT,   max_connections,          "max_connections",          "256",      NULL,       RANGE(1, 65535),          "to it, per worker; further requests queue"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_cache
static const struct setting cache[] = {
	VALUE(TEXT,    dir,                      "dir",                      "/var/cache/twice", "none", NO_RANGE,             "where objects are kept; none: in RAM only"),
	VALUE(BYTES,   disk_bytes,               "disk",                     "10GiB",    NULL,       RANGE(8 * MiB, 1024 * TiB), "hard limit of everything below dir"),
	VALUE(BYTES,   memory_bytes,             "memory",                   "256MiB",   NULL,       RANGE(1 * MiB, 16 * TiB), "RAM for hot objects and for first sightings"),
	VALUE(BYTES,   max_object_bytes,         "max_object",               "auto",     "auto",     RANGE(1, 1024 * TiB),     "largest body stored; auto: by the size of the disk"),
	VALUE(SECONDS, stale_if_error_s,         "stale_if_error",           "1d",       NULL,       RANGE(0, YEAR),           "serve stale so long while the origin is dead"),
	VALUE(MILLIS,  stale_after_ms,           "stale_after",              "3s",       NULL,       RANGE(1, 1000 * DAY),     "serve stale (if_error) when no answer came so long"),
	VALUE(SECONDS, stale_while_revalidate_s, "stale_while_revalidate",   "0s",       NULL,       RANGE(0, YEAR),           "serve stale so long while asking again"),
	VALUE(SECONDS, default_ttl_s,            "default_ttl",              "0s",       NULL,       RANGE(0, YEAR),           "lifetime of answers that say nothing of it"),
	VALUE(SHARE,   heuristic_fraction,       "heuristic_fraction",       "10%",      NULL,       RANGE(0, 1),              "guessed lifetime, of the time since Last-Modified"),
	VALUE(SECONDS, heuristic_max_s,          "heuristic_max",            "1d",       NULL,       RANGE(0, YEAR),           "bound of that guess"),
	VALUE(TEXT,    targeted_field,           "targeted_field",           "none",     "none",     NO_RANGE,                 "own field before CDN-Cache-Control (RFC 9213)"),
	VALUE(SWITCH,  status_key,               "status_key",               "off",      NULL,       NO_RANGE,                 "say the key in Cache-Status"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_admission
static const struct setting admission[] = {
	VALUE(WORD,    filter,                   "filter",                   "pair",     "pair|counting|stable|scalable", NO_RANGE, "how sightings are remembered"),
	VALUE(COUNT,   sightings,                "sightings",                "2",        NULL,       RANGE(1, 15),             "of a URL before it is written; 1: admit everything"),
	VALUE(COUNT,   capacity,                 "capacity",                 "10M",      NULL,       RANGE(1, 1e9),            "distinct URLs per generation"),
	VALUE(SHARE,   false_positives,          "false_positives",          "1%",       NULL,       RANGE(1e-6, 0.5),         "new URLs taken for seen, both generations full"),
	VALUE(SECONDS, rotate_after_s,           "rotate_after",             "1d",       NULL,       RANGE(1, YEAR),           "longest life of a generation"),
	VALUE(SHARE,   fill_until,               "fill_until",               "0%",       NULL,       RANGE(0, 1),              "admit everything until the disk is so full"),
	VALUE(BYTES,   write_budget_bytes_s,     "write_budget",             "none",     "none",     RANGE(4 * KiB, TiB),      "most bytes written to disk per second"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_route
static const struct setting route[] = {
	VALUE(TEXT,    host,                     "host",                     "any",      "any",      NO_RANGE,                 "the host it is for"),
	VALUE(TEXT,    path,                     "path",                     "any",      "any",      NO_RANGE,                 "how the path begins"),
	VALUE(SWITCH,  pass,                     "pass",                     "off",      NULL,       NO_RANGE,                 "never look in or fill the cache"),
	VALUE(WORD,    admit,                    "admit",                    "sightings", "sightings|always|never", NO_RANGE,   "what is written to disk"),
	VALUE(WORD,    query,                    "query",                    "keep",     "keep|ignore|sort", NO_RANGE,         "the query as part of the key"),
	VALUE(SWITCH,  normalise,                "normalise",                "off",      NULL,       NO_RANGE,                 "one key for equivalent spellings of a path"),
	LIST(TEXT,     keep_params, keep_param_count,   "keep_params",       "",                                               "the only query parameters in the key; [ ]: all"),
	LIST(TEXT,     drop_params, drop_param_count,   "drop_params",       "",                                               "query parameters left out of the key"),
	LIST(TEXT,     key_headers, key_header_count,   "key_headers",       "",                                               "request fields that are part of the key"),
	LIST(TEXT,     key_cookies, key_cookie_count,   "key_cookies",       "",                                               "cookies that are part of the key"),
	LIST(TEXT,     pass_cookies, pass_cookie_count, "pass_cookies",      "",                                               "cookies with which a request passes the cache by"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_limits
static const struct setting limits[] = {
	VALUE(BYTES,   head_bytes,               "head",                     "32KiB",    NULL,       RANGE(1 * KiB, MiB),      "of a request's head"),
	VALUE(BYTES,   url_bytes,                "url",                      "8KiB",     NULL,       RANGE(64, MiB),           "of a URL"),
	VALUE(BYTES,   body_bytes,               "body",                     "none",     "none",     RANGE(1, 1024 * TiB),     "of a request's body"),
	VALUE(COUNT,   fields,                   "fields",                   "100",      NULL,       RANGE(4, 1000),           "header fields of a request"),
	VALUE(COUNT,   connections,              "connections",              "20k",      NULL,       RANGE(1, 10e6),           "of clients, all workers together"),
	VALUE(COUNT,   per_address,              "per_address",              "none",     "none",     RANGE(1, 10e6),           "connections from one address; IPv6: from one /64"),
	VALUE(BYTES,   least_rate,               "least_rate",               "240",      "none",     RANGE(1, 1024 * MiB),     "per second, that clients send of a body or take"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_timeouts
static const struct setting timeouts[] = {
	VALUE(MILLIS,  header_ms,                "header",                   "10s",      NULL,       RANGE(1, 1000 * DAY),     "from first byte to end of a request's head"),
	VALUE(MILLIS,  idle_ms,                  "idle",                     "1m",       NULL,       RANGE(1, 1000 * DAY),     "between the requests of a connection"),
	VALUE(MILLIS,  body_ms,                  "body",                     "30s",      NULL,       RANGE(1, 1000 * DAY),     "over which a request's body must keep limits.least_rate"),
	VALUE(MILLIS,  send_ms,                  "send",                     "30s",      NULL,       RANGE(1, 1000 * DAY),     "over which a client must take limits.least_rate"),
	VALUE(MILLIS,  half_close_ms,            "half_close",               "5s",       NULL,       RANGE(1, 1000 * DAY),     "for an answer, once the client has stopped sending"),
	VALUE(MILLIS,  coalesce_ms,              "coalesce",                 "10s",      NULL,       RANGE(1, 1000 * DAY),     "for another request's fetch, all tries together"),
	VALUE(MILLIS,  drain_ms,                 "drain",                    "10s",      NULL,       RANGE(0, 1000 * DAY),     "for the requests under way at SIGTERM"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_forwarded
static const struct setting forwarded[] = {
	LIST_OR("off", NETWORK, trust, trust_count, "trust",                                                                "networks whose (X-)Forwarded* is believed; on: any"),
	VALUE(TEXT,    via,                      "via",                      "twice",    NULL,       NO_RANGE,                 "our name in Via"),
	LIST(TEXT,     drop, drop_count,         "drop",                     "default",                                        "request fields that stop here unless in key_headers"),
	VALUE(SWITCH,  keep_underscores,         "keep_underscores",         "off",      NULL,       NO_RANGE,                 "pass on request fields with \"_\" in their names"),
	{0}
};
#undef STRUCT
#define STRUCT struct config
const struct setting schema_top[] = {
	LIST(ADDRESS,  listen, listen_count,     "listen",                   "0.0.0.0:8080",                                   "addresses that clients connect to"),
	VALUE(ADDRESS, admin,                    "admin",                    "127.0.0.1:9090", "off", NO_RANGE,                "statistics and purging; keep it private"),
	VALUE(COUNT,   workers,                  "workers",                  "auto",     "auto",     RANGE(1, 1024),           "threads; auto: one per core"),
	GROUPS(origins, origin_count,            "origins",                  origin,                                           "where answers come from"),
	GROUP(cache,                             "cache",                    cache,                                            "what is kept, and where"),
	GROUP(admission,                         "admission",                admission,                                        "what is written to disk"),
	GROUPS(routes, route_count,              "routes",                   route,                                            "rules by host and path; the first match applies"),
	GROUP(limits,                            "limits",                   limits,                                           "of what clients may send"),
	GROUP(timeouts,                          "timeouts",                 timeouts,                                         "how long a connection may do nothing"),
	GROUP(forwarded,                         "forwarded",                forwarded,                                        "what origins are told about clients"),
	VALUE(TEXT,    access_log,               "access_log",               "off",      "off",      NO_RANGE,                 "a file for one line per request; \"-\": stdout"),
	VALUE(WORD,    access_log_format,        "access_log_format",        "combined", "combined|json", NO_RANGE,            "the form of a line"),
	VALUE(CHOICE,  log_level,                "log_level",                "info",     "debug|info|warning|error", NO_RANGE, "least that is said on stderr"),
	{0}
};
#undef STRUCT

/* clang-format on */

static cyaml_schema_field_t *fields_of(const struct setting *rows);

static cyaml_schema_value_t
text_value(void)
{
	return (cyaml_schema_value_t){.type = CYAML_STRING,
				      .flags = CYAML_FLAG_POINTER,
				      .data_size = sizeof(char *),
				      .string.max = CYAML_UNLIMITED};
}

static cyaml_schema_value_t
group_value(const struct setting *s)
{
	return (cyaml_schema_value_t){.type = CYAML_MAPPING,
				      .data_size = s->bytes,
				      .mapping.fields = fields_of(s->inside)};
}

static cyaml_schema_value_t
array_value(const struct setting *s, cyaml_schema_value_t element)
{
	cyaml_schema_value_t *entry = NEW(cyaml_schema_value_t);
	*entry = element;
	return (cyaml_schema_value_t){.type = CYAML_SEQUENCE,
				      .flags = CYAML_FLAG_POINTER,
				      .data_size = s->bytes,
				      .sequence = {entry, 0, CYAML_UNLIMITED}};
}

static cyaml_schema_value_t
value_of(const struct setting *s)
{
	switch (s->kind) {
	case KIND_TEXT:
	case KIND_ADDRESS:
	case KIND_URL:
	case KIND_NETWORK:
	case KIND_CHOICE:
		return text_value();
	case KIND_GROUP:
		return group_value(s);
	case KIND_LIST:
		return array_value(s, text_value());
	case KIND_GROUPS:
		return array_value(s, group_value(s));
	case KIND_SWITCH:
		return (cyaml_schema_value_t){.type = CYAML_BOOL, .data_size = s->bytes};
	case KIND_SHARE:
		return (cyaml_schema_value_t){.type = CYAML_FLOAT, .data_size = s->bytes};
	default: /* whole numbers and places in a list of words */
		return (cyaml_schema_value_t){.type = CYAML_UINT, .data_size = s->bytes};
	}
}

/* libcyaml's table for these rows. */
static cyaml_schema_field_t *
fields_of(const struct setting *rows)
{
	size_t n = 0;
	while (rows[n].key)
		n++;
	cyaml_schema_field_t *fields = mem_zalloc((n + 1) * sizeof(*fields));
	for (size_t i = 0; i < n; i++) {
		fields[i].key = rows[i].key;
		fields[i].data_offset = (uint32_t)rows[i].at;
		fields[i].count_offset = (uint32_t)rows[i].count_at;
		fields[i].count_size = sizeof(unsigned);
		fields[i].value = value_of(&rows[i]);
		fields[i].value.flags |= CYAML_FLAG_OPTIONAL;
	}
	return fields;
}

static cyaml_schema_value_t top_value; /* constant once made */

static void
make_top(void)
{
	static const struct setting top = {.bytes = sizeof(struct config), .inside = schema_top};
	top_value = group_value(&top);
	top_value.flags |= CYAML_FLAG_POINTER;
}

static const cyaml_schema_value_t *
top(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_top);
	return &top_value;
}

struct complaint {
	char *text;
	size_t bytes;
};

/* libcyaml's log: the first line of an error is the one that tells. */
__attribute__((format(printf, 3, 0))) static void
on_log(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct complaint *first = ctx;
	if (level >= CYAML_LOG_ERROR && first->bytes && !*first->text)
		vsnprintf(first->text, first->bytes, fmt, args);
}

int
schema_build(struct config *c, const unsigned char *yaml, size_t n, char *err, size_t err_bytes)
{
	struct complaint first = {err, err_bytes};
	cyaml_config_t libcyaml = {.log_fn = on_log,
				   .log_ctx = &first,
				   .log_level = CYAML_LOG_ERROR,
				   .mem_fn = cyaml_mem};
	cyaml_data_t *made = NULL;
	*err = '\0';
	if (cyaml_load_data(yaml, n, &libcyaml, top(), &made, NULL) != CYAML_OK || !made)
		return -1;
	memcpy(c, made, sizeof(*c));
	free(made); /* what it points to lives on in c */
	return 0;
}

void
schema_free(struct config *c)
{
	cyaml_config_t libcyaml = {.mem_fn = cyaml_mem};
	struct config *made = NEW(struct config);
	*made = *c;
	cyaml_free(&libcyaml, top(), made, 0);
	memset(c, 0, sizeof(*c));
}
