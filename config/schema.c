/* schema.c - one row per setting. */
#include "config/schema.h"

#include "config/config.h"

#define DAY  86400.0
#define YEAR (366 * DAY)
#define KiB  1024.0
#define MiB  (KiB * KiB)
#define TiB  (MiB * MiB)

#define RANGE(from, to) .least = from, .most = to
#define NO_RANGE	.least = 0
#define UTF8		.utf8 = true
#define VALUE(kind_, member, key_, fallback_, words_, range, sentence_)                     \
	{                                                                                   \
		.kind = KIND_##kind_, .at = offsetof(STRUCT, member),                       \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .fallback = fallback_, \
		.words = words_, range, .sentence = sentence_                               \
	}
/* Of a route: a number that 0 is one of, or what is set for all. */
#define INHERITS(kind_, member, key_, range, sentence_)                                       \
	{                                                                                     \
		.kind = KIND_##kind_, .at = offsetof(STRUCT, member),                         \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .fallback = "inherited", \
		.words = "inherited", .plus_one = true, range, .sentence = sentence_          \
	}
/* Of a route: a number that 0 is one of, or what the origin says. */
#define ORIGINS(kind_, member, key_, range, sentence_)                                     \
	{                                                                                  \
		.kind = KIND_##kind_, .at = offsetof(STRUCT, member),                      \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .fallback = "origin", \
		.words = "origin", .plus_one = true, range, .sentence = sentence_          \
	}
/* Other members may follow the sentence. */
#define LIST(each_, member, count, key_, fallback_, ...)                                   \
	{                                                                                  \
		.kind = KIND_LIST, .each = KIND_##each_, .at = offsetof(STRUCT, member),   \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(char *), .key = key_, \
		.fallback = fallback_, .sentence = __VA_ARGS__                             \
	}
/* The word means an empty list, which is the default. Other members may follow the sentence. */
#define LIST_OR(word, each_, member, count, key_, ...)                                     \
	{                                                                                  \
		.kind = KIND_LIST, .each = KIND_##each_, .at = offsetof(STRUCT, member),   \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(char *), .key = key_, \
		.fallback = "", .words = word, .sentence = __VA_ARGS__                     \
	}
#define GROUP(member, key_, rows, ...)                                               \
	{                                                                            \
		.kind = KIND_GROUP, .at = offsetof(STRUCT, member),                  \
		.bytes = sizeof(((STRUCT *)0)->member), .key = key_, .inside = rows, \
		.sentence = __VA_ARGS__                                              \
	}
#define GROUPS(member, count, key_, rows, ...)                                                \
	{                                                                                     \
		.kind = KIND_GROUPS, .at = offsetof(STRUCT, member),                          \
		.count_at = offsetof(STRUCT, count), .bytes = sizeof(*((STRUCT *)0)->member), \
		.key = key_, .fallback = "", .inside = rows, .sentence = __VA_ARGS__          \
	}

/* clang-format off */

/*     kind     member                    key                         default     word for 0  range                     sentence */
#define STRUCT struct config_server
static const struct setting server[] = {
	VALUE(URL,     url,                      "url",                      NULL,       NULL,       NO_RANGE,                 "http[s]://host[:port], or unix:/path"),
	VALUE(COUNT,   weight,                   "weight",                   "1",        NULL,       RANGE(1, 1000),           "its share of the requests, against that of the others"),
	VALUE(SWITCH,  backup,                   "backup",                   "off",      NULL,       NO_RANGE,                 "asked only when no other server can be asked"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_health
static const struct setting health[] = {
	VALUE(TEXT,    path,                     "path",                     "none",     "none",     NO_RANGE,                 "path and query that each server is asked for; none: no checks"),
	VALUE(MILLIS,  every_ms,                 "every",                    "5s",       NULL,       RANGE(100, 1 * DAY * 1000), "time from one check of a server to the next"),
	VALUE(MILLIS,  timeout_ms,               "timeout",                  "2s",       NULL,       RANGE(10, 1 * DAY * 1000), "time limit for a whole answer; at most every"),
	VALUE(TEXT,    expect,                   "expect",                   "200-399",  NULL,       NO_RANGE,                 "statuses of a server that is well"),
	VALUE(COUNT,   fall,                     "fall",                     "3",        NULL,       RANGE(1, 1000),           "failed checks in a row that put a server out"),
	VALUE(COUNT,   rise,                     "rise",                     "2",        NULL,       RANGE(1, 1000),           "good checks in a row that bring it back"),
	VALUE(HOST,    host,                     "host",                     "origin",   "origin",   NO_RANGE,                 "Host field sent; origin: the host or address of the server"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_origin
static const struct setting origin[] = {
	VALUE(URL,     url,                      "url",                      "none",     "none",     NO_RANGE,                 "http[s]://host[:port] or unix:/path; none: see servers"),
	VALUE(LABEL,   name,                     "name",                     "default",  "default",  NO_RANGE,                 "name of the group; all without a name are one group"),
	GROUPS(servers, server_count,            "servers",                  server,                                           "of a group with a name: { url, weight: 1, backup: off }, ...", .short_form = true),
	VALUE(WORD,    balance,                  "balance",                  "auto",     "auto|order|least|round-robin|hash", NO_RANGE, "auto: least, urls in order"),
	VALUE(COUNT,   retries,                  "retries",                  "1",        NULL,       RANGE(0, 10),             "other servers that are asked when one fails"),
	VALUE(COUNT,   queue,                    "queue",                    "none",     "none",     RANGE(1, 10e6),           "most requests that wait for connections; then stale or 503"),
	VALUE(HOST,    host,                     "host",                     "client",   "client",   NO_RANGE,                 "Host field sent to it; client: as the client sent it"),
	VALUE(FILE,    ca_file,                  "ca_file",                  "system",   "system",   NO_RANGE,                 "certificates to trust; system: those of the system"),
	VALUE(FILE,    cert_file,                "cert_file",                "none",     "none",     NO_RANGE,                 "own certificate for an https origin that asks for one"),
	VALUE(FILE,    key_file,                 "key_file",                 "cert_file", "cert_file", NO_RANGE,               "private key of it; cert_file: it is in the same file"),
	VALUE(HOST,    server_name,              "server_name",              "url",      "url",      NO_RANGE,                 "name in TLS (SNI, certificate); url: that of the url"),
	VALUE(SWITCH,  verify,                   "verify",                   "on",       NULL,       NO_RANGE,                 "check the certificate of an https origin"),
	VALUE(MILLIS,  connect_timeout_ms,       "connect_timeout",          "5s",       NULL,       RANGE(1, 1000 * DAY),     "time limit for connecting, TLS included"),
	VALUE(MILLIS,  first_byte_timeout_ms,    "first_byte_timeout",       "auto",     "auto",     RANGE(1, 1000 * DAY),     "time limit for the first byte of an answer; auto: read_timeout"),
	VALUE(MILLIS,  read_timeout_ms,          "read_timeout",             "1m",       NULL,       RANGE(1, 1000 * DAY),     "time limit for the next byte of an answer"),
	VALUE(MILLIS,  total_timeout_ms,         "total_timeout",            "none",     "none",     RANGE(1, 1000 * DAY),     "time limit for a whole answer"),
	VALUE(COUNT,   max_connections,          "max_connections",          "256",      NULL,       RANGE(1, 65535),          "most connections of a server per worker; more requests wait"),
	GROUP(health,                            "health",                   health,                                           "checks of the servers of a group with a name", .short_form = true),
	{0}
};
#undef STRUCT
#define STRUCT struct config_cache
static const struct setting cache[] = {
	VALUE(FILE,    dir,                      "dir",                      "/var/cache/twice", "none", NO_RANGE,             "directory of the disk cache; none: RAM only"),
	VALUE(BYTES,   disk_bytes,               "disk",                     "10GiB",    NULL,       RANGE(8 * MiB, 1024 * TiB), "hard limit for everything in dir"),
	VALUE(ROOM,    keep_free,                "keep_free",                "auto",     "auto",     RANGE(0, 1.9e19),         "free space left on the file system; auto: 5%, at most 1GiB"),
	VALUE(BYTES,   endurance_bytes,          "endurance",                "none",     "none",     RANGE(1, 1.8e19),         "bytes that the drives endure (TBW), such as 600TB"),
	VALUE(BYTES,   memory_bytes,             "memory",                   "256MiB",   NULL,       RANGE(1 * MiB, 16 * TiB), "RAM for popular objects and for first sightings"),
	VALUE(BYTES,   max_object_bytes,         "max_object",               "auto",     "auto",     RANGE(1, 1024 * TiB),     "largest body that is stored; auto: 3/8 of the disk's log"),
	VALUE(COUNT,   io_threads,               "io_threads",               "8",        NULL,       RANGE(1, 256),            "threads that read from the disk"),
	VALUE(WORD,    checks.verify,            "verify",                   "once",     "once|always", NO_RANGE,              "how often checksums of large bodies are looked at"),
	VALUE(SECONDS, checks.scrub_every_s,     "scrub_every",              "30d",      "none",     RANGE(1, YEAR),           "period in which the whole disk is read and checked once"),
	VALUE(MILLIS,  read_timeout_ms,          "read_timeout",             "3s",       NULL,       RANGE(1, 1000 * DAY),     "time limit for a read from the disk; then origins are asked"),
	VALUE(SWITCH,  required,                 "required",                 "off",      NULL,       NO_RANGE,                 "do not start while dir cannot be written; off: use RAM only"),
	VALUE(SECONDS, stale_if_error_s,         "stale_if_error",           "1d",       NULL,       RANGE(0, YEAR),           "how long stale objects are served when the origin fails"),
	VALUE(MILLIS,  stale_after_ms,           "stale_after",              "3s",       NULL,       RANGE(1, 1000 * DAY),     "how long an origin may hang before stale is served"),
	VALUE(SECONDS, stale_while_revalidate_s, "stale_while_revalidate",   "0s",       NULL,       RANGE(0, YEAR),           "how long stale objects are served during a refresh"),
	VALUE(SECONDS, default_ttl_s,            "default_ttl",              "0s",       NULL,       RANGE(0, YEAR),           "lifetime of answers that state none; 0s: it may be guessed"),
	VALUE(SHARE,   heuristic_fraction,       "heuristic_fraction",       "10%",      NULL,       RANGE(0, 1),              "guessed lifetime: this share of the time since Last-Modified"),
	VALUE(SECONDS, heuristic_max_s,          "heuristic_max",            "1d",       NULL,       RANGE(0, YEAR),           "longest guessed lifetime"),
	LIST_OR("any", HEADER, heuristic_fields, heuristic_field_count, "heuristic_fields",                                   "request fields that allow a guess; any: all but credentials", .stars = true),
	VALUE(HEADER,  targeted_field,           "targeted_field",           "none",     "none",     NO_RANGE,                 "field that overrides CDN-Cache-Control (RFC 9213)"),
	VALUE(COUNT,   variants,                 "variants",                 "64",       NULL,       RANGE(1, 1000),           "most variants (Vary) of one URL; the least used are removed"),
	VALUE(SWITCH,  status_key,               "status_key",               "off",      NULL,       NO_RANGE,                 "include the cache key in Cache-Status"),
	VALUE(WORD,    client_directives,        "client_directives",        "ignore",   "ignore|validate|obey", NO_RANGE,     "clients' no-cache, max-age, min-fresh"),
	VALUE(WORD,    set_cookie,               "set_cookie",               "never",    "never|strip|share", NO_RANGE,        "whether answers with Set-Cookie are stored"),
	LIST(COOKIE,   ignore_cookies, ignore_cookie_count, "ignore_cookies", "",                                               "cookies left out of requests; default: those of analytics", .stars = true, .usual = "default"),
	VALUE(SWITCH,  client_errors,            "client_errors",            "off",      NULL,       NO_RANGE,                 "store errors that a request can cause (400, 403, 414 ...)"),
	VALUE(SWITCH,  invalidate_locations,     "invalidate_locations",     "off",      NULL,       NO_RANGE,                 "unsafe methods also purge the URL that their Location names"),
	LIST(HEADER,   tags.headers, tags.header_count, "tag_headers",         "default",                                        "answer fields with tags; default: Surrogate-Key, Cache-Tag"),
	LIST(NETWORK,  purge_from, purge_from_count, "purge_from",           "",                                               "networks whose requests may have the method PURGE"),
	VALUE(SWITCH,  tags.strip,               "strip_tags",               "off",      NULL,       NO_RANGE,                 "do not send these fields to clients"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_disk
static const struct setting disk[] = {
	VALUE(FILE,    dir,                      "dir",                      NULL,       NULL,       NO_RANGE,                 "directory on that disk"),
	VALUE(BYTES,   bytes,                    "size",                     "10GiB",    NULL,       RANGE(8 * MiB, 1024 * TiB), "hard limit for everything in it"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_admission
static const struct setting admission[] = {
	VALUE(WORD,    filter,                   "filter",                   "pair",     "pair|counting|stable|scalable", NO_RANGE, "filter that remembers sightings"),
	VALUE(COUNT,   sightings,                "sightings",                "auto",     "auto",     RANGE(1, 15),             "requests for a URL before it is written; 1: all; auto: 2 or 3"),
	VALUE(COUNT,   capacity,                 "capacity",                 "10M",      NULL,       RANGE(1, 1e9),            "distinct URLs per generation"),
	VALUE(SHARE,   false_positives,          "false_positives",          "1%",       NULL,       RANGE(1e-6, 0.5),         "share of new URLs taken for seen when the filter is full"),
	VALUE(SECONDS, rotate_after_s,           "rotate_after",             "auto",     "auto",     RANGE(1, YEAR),           "longest life of a generation; auto: 1/10 of the disk rewritten"),
	VALUE(SECONDS, turn_alarm_s,             "turn_alarm",               "5m",       "none",     RANGE(1, YEAR),           "a gauge is raised while generations end sooner than this"),
	VALUE(SHARE,   fill_until,               "fill_until",               "0%",       NULL,       RANGE(0, 1),              "write everything until this share of the disk is used"),
	VALUE(RATE,    write_budget,             "write_budget",             "none",     "none",     RANGE(1, 1.9e19),         "most bytes written: 10MiB/s, 50GB/day, 0.5DWPD (of disk)"),
	VALUE(BYTES,   address_bytes,            "per_address",              "none",     "none",     RANGE(1, 1024 * TiB),     "most bytes written in an hour for one address alone: 100MiB"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_compress
static const struct setting compress[] = {
	LIST(TEXT,     types, type_count,        "types",                    "default",                                        "media types that are packed; text/*: all of text; or none"),
	VALUE(SHARE,   cpu,                      "cpu",                      "5%",       NULL,       RANGE(0, 1),              "share of one core that packing may use; 0%: nothing is packed"),
	VALUE(SWITCH,  stream,                   "stream",                   "off",      NULL,       NO_RANGE,                 "code what comes from origins on its way to clients, too"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_headers
static const struct setting headers[] = {
	LIST(FIELD,    set, set_count,           "set",                      "",                                               "\"Name: value\" in its place; { Name: value } means the same"),
	LIST(FIELD,    add, add_count,           "add",                      "",                                               "\"Name: value\" that is added"),
	LIST(HEADER,   remove, remove_count,     "remove",                   "",                                               "names of fields to remove; X-Internal-* is all that begin so", .stars = true),
	{0}
};
#undef STRUCT
#define STRUCT struct config_rate
static const struct setting rate[] = {
	VALUE(COUNT,   requests,                 "requests",                 "none",     "none",     RANGE(1, 1e6),            "most requests of an address (IPv6: /64) in the time per"),
	VALUE(SECONDS, per_s,                    "per",                      "1s",       NULL,       RANGE(1, DAY),            "time in which these requests are granted again, one by one"),
	VALUE(COUNT,   burst,                    "burst",                    "auto",     "auto",     RANGE(1, 1e6),            "requests that may come at once; auto: as many as requests"),
	VALUE(SWITCH,  hits,                     "hits",                     "on",       NULL,       NO_RANGE,                 "off: only requests for which an origin is asked count"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_rewrite
static const struct setting rewrite[] = {
	VALUE(TEXT,    from,                     "from",                     "none",     "none",     NO_RANGE,                 "matched with the path: ^/blog/([0-9]+)/(.*)$; none: nothing"),
	VALUE(TEXT,    to,                       "to",                       "none",     "none",     NO_RANGE,                 "path, and perhaps query: /posts?id=$1&rest=$2"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_moved
static const struct setting moved[] = {
	VALUE(TEXT,    to,                       "to",                       "none",     "none",     NO_RANGE,                 "such as https://www.example.com$path$query; none: nowhere"),
	VALUE(CHOICE,  status,                   "status",                   "301",      "301|302|303|307|308", NO_RANGE,      "POST and such: 308 for 301, 307 for 302"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_answer
static const struct setting answer[] = {
	VALUE(COUNT,   status,                   "status",                   "none",     "none",     RANGE(200, 599),          "such as 503; none: the cache and the origin answer"),
	VALUE(BODY,    body,                     "body",                     "none",     "none",     NO_RANGE,                 "text of the answer"),
	VALUE(FILE,    file,                     "file",                     "none",     "none",     NO_RANGE,                 "file that is sent, of 1MiB at most; a reload reads it anew"),
	VALUE(TEXT,    content_type,             "content_type",             "auto",     "auto",     NO_RANGE,                 "Content-Type of the answer; auto: by the name of file"),
	VALUE(SECONDS, retry_after_s,            "retry_after",              "none",     "none",     RANGE(1, YEAR),           "when clients may ask again (Retry-After)"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_route_cache
static const struct setting route_cache[] = {
	INHERITS(SECONDS, default_ttl_s,         "default_ttl",                                  RANGE(0, YEAR),           "lifetime of answers that state none; 0s: it may be guessed"),
	INHERITS(SECONDS, heuristic_max_s,       "heuristic_max",                                RANGE(0, YEAR),           "longest guess; without default_ttl here, the guess goes first"),
	INHERITS(SECONDS, stale_if_error_s,      "stale_if_error",                               RANGE(0, YEAR),           "how long stale objects are served when the origin fails"),
	INHERITS(SECONDS, stale_while_revalidate_s, "stale_while_revalidate",                    RANGE(0, YEAR),           "how long stale objects are served during a refresh"),
	INHERITS(MILLIS,  stale_after_ms,        "stale_after",                                  RANGE(1, 1000 * DAY),     "how long an origin may hang before stale is served"),
	VALUE(WORD,    set_cookie,               "set_cookie",               "inherited", "inherited|never|strip|share", NO_RANGE, "answers with Set-Cookie"),
	ORIGINS(SECONDS, ttl_s,                  "ttl",                                          RANGE(0, YEAR),           "lifetime whatever answers below 400 state; see ignore"),
	LIST(TTL,      ttl_status, ttl_status_count, "ttl_status",           "",                                               "the same by status: { 404: 1m, 302: 10s }"),
	LIST(TYPED,    ttl_type, ttl_type_count, "ttl_type",               "",                                               "by Content-Type, before ttl: { image/*: 1d, text/css: 1h }"),
	LIST(LABEL,    ignore, ignore_count,     "ignore",                   "",                                               "cache-control, expires, set-cookie, vary, private, no-store"),
	VALUE(WORD,    client_errors,            "client_errors",            "inherited", "inherited|off|on", NO_RANGE,        "store errors that a request can cause"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_route_admission
static const struct setting route_admission[] = {
	VALUE(COUNT,   sightings,                "sightings",                "inherited", "inherited", RANGE(1, 15),           "requests for a URL before it is written; 1: write all"),
	VALUE(BYTES,   max_object_bytes,         "max_object",               "inherited", "inherited", RANGE(1, 1024 * TiB),   "largest body that is written to disk"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_route
static const struct setting route[] = {
	VALUE(LABEL,   name,                     "name",                     "none",     "none",     NO_RANGE,                 "name under which it is counted in /stats and /metrics"),
	VALUE(HOST,    host,                     "host",                     "any",      "any",      NO_RANGE,                 "host that the rule applies to; *.host: all names below it"),
	VALUE(TEXT,    path,                     "path",                     "any",      "any",      UTF8,                     "beginning of the paths that it applies to, or all of it: *.css"),
	LIST(LABEL,    match.methods, match.method_count, "methods",         "",                                               "methods that it applies to, such as POST; GET is HEAD, too"),
	LIST(FIELD,    match.headers, match.header_count, "headers",         "",                                               "fields that its requests have: { Accept-Language: \"de*\" }"),
	VALUE(LABEL,   target.origin,            "origin",                   "first",    "first",    NO_RANGE,                 "name of the group that is asked; first: the first of origins"),
	VALUE(SWITCH,  pass,                     "pass",                     "off",      NULL,       NO_RANGE,                 "do not use the cache for these requests"),
	VALUE(WORD,    admit,                    "admit",                    "sightings", "sightings|always|never", NO_RANGE,   "which objects are written to disk"),
	VALUE(WORD,    admission.compress,       "compress",                 "inherited", "inherited|off|any", NO_RANGE,       "any: answers to requests with cookies, too"),
	GROUP(cache,                             "cache",                    route_cache,                                      "settings of this route, instead of those of cache", .open = true),
	GROUP(admission,                         "admission",                route_admission,                                  "settings of this route, instead of those of admission", .open = true),
	LIST(LABEL,    cache.accept_encoding.words, cache.accept_encoding.count, "accept_encoding", "",                                          "codings asked of its origins: br, gzip, zstd; or none"),
	VALUE(WORD,    query,                    "query",                    "keep",     "keep|ignore|sort", NO_RANGE,         "how the query becomes part of the key"),
	VALUE(SWITCH,  normalise,                "normalise",                "off",      NULL,       NO_RANGE,                 "use one key for equivalent spellings of a path"),
	LIST(PARAM,    keep_params, keep_param_count,   "keep_params",       "",                                               "query parameters that are part of the key; [ ]: all", .stars = true),
	LIST(PARAM,    drop_params, drop_param_count,   "drop_params",       "",                                               "query parameters that are not part of the key", .stars = true),
	LIST(HEADER,   key_headers, key_header_count,   "key_headers",       "",                                               "request fields that are part of the key; X-Feature-* works", .stars = true),
	LIST(COOKIE,   key_cookies, key_cookie_count,   "key_cookies",       "",                                               "cookies that are part of the key; ab_* works, too", .stars = true),
	LIST(COOKIE,   pass_cookies, pass_cookie_count, "pass_cookies",      "",                                               "cookies with which requests pass the cache by; wp_*: all such", .stars = true),
	LIST(LABEL,    upgrades, upgrade_count,  "upgrade",                  "",                                               "protocols that clients may switch to, such as websocket"),
	VALUE(SWITCH,  streams,                  "stream",                   "off",      NULL,       NO_RANGE,                 "pass uploads on as they come, for calls that talk both ways"),
	GROUP(request_headers,                   "request_headers",          headers,                                          "request fields for origins, after the rules for all routes"),
	GROUP(response_headers,                  "response_headers",         headers,                                          "answer fields for clients, after the rules for all routes"),
	VALUE(TEXT,    target.strip_prefix,      "strip_prefix",             "none",     "none",     NO_RANGE,                 "left out of the path that the origin is asked for: /api"),
	GROUP(target.rewrite,                    "rewrite",                  rewrite,                                          "which path the origin is asked for, by a regular expression"),
	VALUE(TEXT,    target.add_prefix,        "add_prefix",               "none",     "none",     NO_RANGE,                 "put before the path that the origin is asked for: /v2"),
	LIST_OR("off", NETWORK, clients.allow, clients.allow_count, "allow",                                                  "networks of clients that may ask; without deny, only they", .nobody = "none"),
	LIST(NETWORK,  clients.deny, clients.deny_count, "deny",             "",                                               "networks that may not ask (403), except those in allow"),
	GROUP(rate,                              "rate",                     rate,                                             "how often a client may ask here (429), beside the rate for all", .short_form = true),
	GROUP(redirect,                          "redirect",                 moved,                                            "sends clients elsewhere", .short_form = true),
	GROUP(answer,                            "answer",                   answer,                                           "answer given here, for example while an origin is repaired", .short_form = true),
	{0}
};
#undef STRUCT
#define STRUCT struct config_limits
static const struct setting limits[] = {
	VALUE(BYTES,   head_bytes,               "head",                     "32KiB",    NULL,       RANGE(1 * KiB, MiB),      "largest request head, in bytes"),
	VALUE(BYTES,   url_bytes,                "url",                      "8KiB",     NULL,       RANGE(64, MiB),           "longest URL"),
	VALUE(BYTES,   body_bytes,               "body",                     "none",     "none",     RANGE(1, 1024 * TiB),     "largest request body"),
	VALUE(COUNT,   fields,                   "fields",                   "100",      NULL,       RANGE(4, 256),            "most header fields in a request"),
	VALUE(COUNT,   connections,              "connections",              "20k",      NULL,       RANGE(1, 10e6),           "most client connections of all workers together"),
	VALUE(COUNT,   per_address,              "per_address",              "none",     "none",     RANGE(1, 10e6),           "connections per address (IPv6: /64) outside forwarded.trust"),
	VALUE(COUNT,   tunnels,                  "tunnels",                  "1000",     NULL,       RANGE(1, 10e6),           "most tunnels (WebSocket); a client has 3 times those left"),
	VALUE(BYTES,   least_rate,               "least_rate",               "240",      "none",     RANGE(1, 1024 * MiB),     "bytes per second a client must at least send or take"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_http2
static const struct setting http2[] = {
	VALUE(COUNT,   streams,                  "streams",                  "100",      NULL,       RANGE(1, 1000),           "most requests of a connection under way, reset ones included"),
	VALUE(COUNT,   resets,                   "resets",                   "200",      NULL,       RANGE(1, 1e6),            "requests that may fail at once; a tenth more each second"),
	VALUE(COUNT,   frames,                   "frames",                   "1000",     NULL,       RANGE(100, 1e6),          "useless frames (PING ...) at once; a tenth more each second"),
	VALUE(BYTES,   memory_bytes,             "memory",                   "256MiB",   NULL,       RANGE(1 * MiB, 16 * TiB), "memory that all requests by HTTP/2 may hold together"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_timeouts
static const struct setting timeouts[] = {
	VALUE(MILLIS,  header_ms,                "header",                   "10s",      NULL,       RANGE(1, 1000 * DAY),     "from the first to the last byte of a request head"),
	VALUE(MILLIS,  idle_ms,                  "idle",                     "1m",       NULL,       RANGE(1, 1000 * DAY),     "idle time between two requests"),
	VALUE(MILLIS,  body_ms,                  "body",                     "30s",      NULL,       RANGE(1, 1000 * DAY),     "period over which a request body must keep least_rate"),
	VALUE(MILLIS,  send_ms,                  "send",                     "30s",      NULL,       RANGE(1, 1000 * DAY),     "period over which a client must take least_rate"),
	VALUE(MILLIS,  half_close_ms,            "half_close",               "5s",       NULL,       RANGE(1, 1000 * DAY),     "time for an answer after the client stopped sending"),
	VALUE(MILLIS,  coalesce_ms,              "coalesce",                 "10s",      NULL,       RANGE(1, 1000 * DAY),     "wait for another request's fetch, all tries together"),
	VALUE(MILLIS,  tunnel_ms,                "tunnel",                   "1h",       NULL,       RANGE(1, 1000 * DAY),     "silence that ends a tunnel, an event stream, a stream: on call"),
	VALUE(MILLIS,  lame_duck_ms,             "lame_duck",                "0s",       NULL,       RANGE(0, 1000 * DAY),     "after SIGTERM: /healthz says 503, all are served; then drain"),
	VALUE(MILLIS,  upgrade_ms,               "upgrade",                  "1m",       NULL,       RANGE(100, 1000 * DAY),   "time for a new process to open the cache, and again to serve"),
	VALUE(MILLIS,  drain_ms,                 "drain",                    "10s",      NULL,       RANGE(0, 1000 * DAY),     "time to finish requests after SIGTERM"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_forwarded
static const struct setting forwarded[] = {
	LIST_OR("off", NETWORK, trust, trust_count, "trust",                                                                "networks whose X-Forwarded-*, PROXY heads are trusted; or any"),
	VALUE(LABEL,   via,                      "via",                      "twice",    NULL,       NO_RANGE,                 "name of this proxy in Via; a number of the node is added"),
	LIST(HEADER,   drop, drop_count,         "drop",                     "default",                                        "request fields not passed on unless in key_headers", .stars = true),
	VALUE(SWITCH,  keep_underscores,         "keep_underscores",         "off",      NULL,       NO_RANGE,                 "pass on request fields with \"_\", \".\" and such in names"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_tls
static const struct setting tls[] = {
	LIST(FILE,     certificates, certificate_count, "certificates",      "",                                               "files and directories of certificates with their keys (PEM)"),
	VALUE(SWITCH,  self_signed,              "self_signed",              "off",      NULL,       NO_RANGE,                 "for a first try: a certificate that browsers warn of"),
	VALUE(CHOICE,  min_version,              "min_version",              "1.2",      "1.2|1.3",  NO_RANGE,                 "oldest version of TLS that is spoken"),
	VALUE(FILE,    client_ca,                "client_ca",                "none",     "none",     NO_RANGE,                 "authorities of clients' certificates; none: none is asked for"),
	VALUE(SWITCH,  client_required,          "client_required",          "on",       NULL,       NO_RANGE,                 "with client_ca: refuse clients without a certificate"),
	VALUE(SWITCH,  strict_host,              "strict_host",              "on",       NULL,       NO_RANGE,                 "421 for hosts that the connection's certificate does not have"),
	VALUE(FILE,    ticket_key,               "ticket_key",               "random",   "random",   NO_RANGE,                 "file of a secret that nodes share, so each resumes sessions"),
	VALUE(SECONDS, ticket_period_s,          "ticket_period",            "12h",      NULL,       RANGE(1, 7 * DAY),        "how long sessions can be resumed; then keys change"),
	VALUE(CHOICE,  kernel,                   "kernel",                   "off",      "off|auto", NO_RANGE,                 "auto: the kernel encrypts, where it can"),
	VALUE(COUNT,   handshakes,               "handshakes",               "4096",     NULL,       RANGE(1, 1e6),            "most handshakes under way"),
	VALUE(COUNT,   handshakes_per_address,   "handshakes_per_address",   "256",      "unlimited", RANGE(1, 1e6),           "most handshakes under way from one address"),
	VALUE(WORD,    redirect,                 "redirect",                 "off",      "off|https", NO_RANGE,                "https: send clients that come by http there"),
	VALUE(COUNT,   redirect_port,            "redirect_port",            "443",      NULL,       RANGE(1, 65535),          "port to which redirect sends clients"),
	VALUE(FILE,    acme_challenges,          "acme_challenges",          "none",     "none",     NO_RANGE,                 "directory for /.well-known/acme-challenge/, never redirected"),
	{0}
};
#undef STRUCT
#define STRUCT struct config_fleet
static const struct setting fleet[] = {
	LIST(TEXT,     engine, engine_count,     "engine",                   "",                                               "Redis: redis[s]://HOST:PORT, unix:PATH, sentinel://HOST/NAME"),
	LIST(HOST,     members, member_count,    "members",                  "",                                               "without engine: HOST:PORT of each, or a name of several"),
	VALUE(ADDRESS, listen,                   "listen",                   "none",     "none",     NO_RANGE,                 "IP:PORT where the other nodes ask this one"),
	VALUE(FILE,    ca_file,                  "ca_file",                  "none",     "none",     NO_RANGE,                 "authority of the nodes' certificates, and of rediss://"),
	VALUE(FILE,    cert_file,                "cert_file",                "none",     "none",     NO_RANGE,                 "this node's certificate, for its name; none: no TLS"),
	VALUE(FILE,    key_file,                 "key_file",                 "cert_file", "cert_file", NO_RANGE,               "private key of it; cert_file: it is in the same file"),
	LIST(NETWORK,  networks, network_count,  "networks",                 "",                                               "networks of the other nodes; needed without cert_file"),
	VALUE(FILE,    secret_file,              "secret_file",              "none",     "none",     NO_RANGE,                 "file of a secret that all nodes share, of 32 bytes at least"),
	VALUE(LABEL,   name,                     "name",                     "host",     "host",     NO_RANGE,                 "name of this node, another one for each; host: the machine's"),
	VALUE(LABEL,   zone,                     "zone",                     "none",     "none",     NO_RANGE,                 "part of the fleet with owners of its own, such as a site"),
	VALUE(BYTES,   weight_bytes,             "weight",                   "auto",     "auto",     RANGE(1, 9e15),           "its share, against that of the others; auto: bytes of disks"),
	{0}
};
#undef STRUCT
#define STRUCT struct config
const struct setting schema_top[] = {
	LIST(ADDRESS,  listen, listen_count,     "listen",                   "0.0.0.0:8080",                                   "for clients: [proxy+][https:// | h2c://] IP:PORT or unix:PATH"),
	VALUE(ADDRESS, admin,                    "admin",                    "127.0.0.1:9180", "off", NO_RANGE,                "address for statistics and purging; keep it private"),
	LIST(HOST,     admin_hosts, admin_host_count, "admin_hosts",         "",                                               "host names that admin answers to, beside addresses"),
	VALUE(TEXT,    admin_token,              "admin_token",              "none",     "none",     NO_RANGE,                 "token for POST; beyond loopback every request needs it"),
	VALUE(FILE,    admin_token_file,         "admin_token_file",         "none",     "none",     NO_RANGE,                 "file that holds the token, instead of admin_token"),
	VALUE(FILE,    admin_socket,             "admin_socket",             "none",     "none",     NO_RANGE,                 "path of a Unix socket for admin; socket_mode guards it"),
	VALUE(CHOICE,  socket_mode,              "socket_mode",              "660",      "600|660|666", NO_RANGE,                 "permissions of unix:PATH: who may connect"),
	VALUE(LABEL,   identity.user,            "user",                     "none",     "none",     NO_RANGE,                 "user that twice becomes when root starts it; none: root"),
	VALUE(LABEL,   identity.group,           "group",                    "auto",     "auto",     NO_RANGE,                 "group that twice becomes when root starts it; auto: user's"),
	VALUE(COUNT,   workers,                  "workers",                  "auto",     "auto",     RANGE(1, 1024),           "worker threads; auto: one per core"),
	GROUPS(origins, origin_count,            "origins",                  origin,                                           "servers that have the content", .short_form = true),
	VALUE(SECONDS, resolve_s,                "resolve",                  "30s",      NULL,       RANGE(1, DAY),            "time from one lookup of the names of origins to the next"),
	GROUP(cache,                             "cache",                    cache,                                            "place and size of the cache, lifetimes of objects"),
	GROUPS(disks, disk_count,                "more_disks",               disk,                                             "disks beside that of cache.dir; objects lie on one of all", .short_form = true),
	GROUP(admission,                         "admission",                admission,                                        "which objects are written to disk"),
	GROUP(admission.compress,                "compress",                 compress,                                         "how plain text is packed before it is written to disk"),
	LIST(LABEL,    forwarded.accept_encoding.words, forwarded.accept_encoding.count, "accept_encoding", "default",                                   "codings asked of origins, best first; default: br, gzip"),
	GROUP(request_headers,                   "request_headers",          headers,                                          "changes to the request fields that origins are sent"),
	GROUP(response_headers,                  "response_headers",         headers,                                          "changes to the answer fields that clients are sent"),
	GROUP(rate,                              "rate",                     rate,                                             "how often a client may ask, all routes together (429)", .short_form = true),
	GROUPS(routes, route_count,              "routes",                   route,                                            "rules by host and path; the first match applies"),
	GROUP(limits,                            "limits",                   limits,                                           "limits on requests and connections of clients"),
	GROUP(http2,                             "http2",                    http2,                                            "limits on connections that speak HTTP/2"),
	GROUP(timeouts,                          "timeouts",                 timeouts,                                         "time limits for connections of clients"),
	GROUP(tls,                               "tls",                      tls,                                              "certificates and handshakes of listeners with https://"),
	GROUP(forwarded,                         "forwarded",                forwarded,                                        "information about clients that is passed to origins"),
	GROUP(fleet,                             "fleet",                    fleet,                                            "several nodes that act as one cache; see docs/fleet.md"),
	VALUE(FILE,    access_log,               "access_log",               "off",      "off",      NO_RANGE,                 "file with one line per request; \"-\": standard output"),
	VALUE(WORD,    access_log_format,        "access_log_format",        "combined", "combined|json", NO_RANGE,            "format of a line"),
	VALUE(CHOICE,  log_level,                "log_level",                "info",     "debug|info|warning|error", NO_RANGE, "minimum level logged to stderr"),
	{0}
};
#undef STRUCT

/* clang-format on */
