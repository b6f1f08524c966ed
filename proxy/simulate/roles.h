/* roles.h - what a named field of a log means: one table for JSON keys and for column titles. */
#ifndef SIMULATE_ROLES_H
#define SIMULATE_ROLES_H

#include "proxy/simulate/entry.h"

/* The names that are known, the best first: of several in one line the best is taken. */
/* clang-format off */
#define ROLES(X)                                                                                     \
	X(TIME,     "time",     "time_us", "timestamp_ms", "startTimeMs", "msec", "StartUTC", "reqTimeMSec", \
		"ts", "unixtime", "timestamp", "time", "start_time", "@timestamp", "time_iso8601",   \
		"EdgeStartTimestamp", "time_local", "datetime", "EdgeEndTimestamp", "date-time",     \
		"time_start", "real_time", "clock_time")                                             \
	X(DATE,     "date",     "date")                                                              \
	X(REQUEST,  "request",  "request", "request_line", "cs-request")                             \
	X(METHOD,   "method",   "method", "request_method", "ClientRequestMethod", "cs-method",      \
		"http_method", "httpMethod", "reqMethod", "http.request.method", "verb",             \
		"requestMethod", ":method", "op", "operation", "OpType")                             \
	X(SCHEME,   "scheme",   "scheme", "ClientRequestScheme", "RequestScheme", "url.scheme",      \
		"cs-protocol", "protocol_scheme", "proto")                                           \
	X(HOST,     "host",     "ClientRequestHost", "x-host-header", "RequestHost", "reqHost", "authority", \
		":authority", "http_host", "vhost", "cs-host", "cs(Host)", "request_host",           \
		"url.domain", "domain", "server_name", "host")                                       \
	X(TARGET,   "target",   "request_uri", "ClientRequestURI", "requestUri", "url.full", "url.original", \
		"target", "url", "x-envoy-original-path", "uri", "path", "requestUrl",               \
		"request_url", "cs-uri", "cs-uri-stem", "cs-url", "ClientRequestPath",               \
		"RequestPath", "reqPath", "url.path", ":path", "uripath", "request_path")            \
	X(QUERY,    "query",    "args", "query_string", "cs-uri-query", "query", "ClientRequestQuery", \
		"queryStr", "url.query", "uri_param", "param")                                       \
	X(STATUS,   "status",   "status", "response_code", "EdgeResponseStatus", "sc-status",        \
		"response_status", "responseStatus", "DownstreamStatus", "httpStatusCode",           \
		"http.response.status_code", "http_code", "return_code", "status_code",              \
		"response", "code", "http_status", "statusCode")                                     \
	X(SIZE,     "size",     "object_size", "obj_size", "objectSize", "objSize", "file_size",     \
		"content_length", "sc-content-len", "resp_header_content_length", "response_size")   \
	X(BYTES,    "bytes",    "body_bytes_sent", "body_bytes", "EdgeResponseBodyBytes",            \
		"response_body_size", "resp_body_size", "DownstreamContentSize",                     \
		"http.response.body.bytes", "size", "bytes_sent", "bytes", "sc-bytes",               \
		"EdgeResponseBytes", "http.response.bytes", "responseBytes", "responseSize",         \
		"rsp_size", "rspContentLen", "bytes_out", "resp_bytes", "value_size")                \
	X(ID,       "id",       "obj_id", "object_id", "cacheKey", "id", "key", "url_hash")          \
	X(CLIENT,   "client",   "client", "remote_addr", "ClientIP", "client_ip", "remote_ip",       \
		"c-ip", "cliIP", "ClientHost", "source.ip", "source.address", "client.ip",           \
		"downstream_remote_address", "remote_host", "clientip")                              \
	X(CACHE,    "cache",    "cache", "upstream_cache_status", "CacheCacheStatus",                \
		"x-edge-result-type", "cache_status", "cacheStatus")                                 \
	X(LIFETIME, "lifetime", "life", "ttl", "max_age", "lifetime")                                \
	X(VARIANT,  "variant",  "var", "variant")                                                    \
	X(TYPE,     "type",     "sent_http_content_type", "content_type", "contentType",             \
		"resp_content_type", "response_content_type", "EdgeResponseContentType",             \
		"sc-content-type", "mime_type", "mimeType", "http.response.mime_type")               \
	X(CODING,   "coding",   "sent_http_content_encoding", "content_encoding", "contentEncoding", \
		"resp_content_encoding", "response_content_encoding", "sc-content-encoding")         \
	X(PURGE,    "purge",    "purge")                                                             \
	X(RANGE,    "range",    "sent_http_content_range", "content_range", "range", "http_range",   \
		"clientRequestRange", "request_range")
/* clang-format on */

enum role {
#define X(id, word, ...) ROLE_##id,
	ROLES(X)
#undef X
		ROLE_COUNT,
	ROLE_NONE = ROLE_COUNT
};

/* Names that the user gave, before all others: "target=my_url". */
enum { ROLES_OWN_MOST = 16 };
struct roles_own {
	struct {
		enum role role;
		char name[64];
		_Atomic bool found; /* in a log; set by any thread */
	} rows[ROLES_OWN_MOST];
	unsigned n;
};
/* -1: there is no such role, or no room. */
int roles_name(struct roles_own *own, const char *role, const char *name);
/* The first name that no log has; NULL: all are there. */
const char *roles_missing(const struct roles_own *own);
/* Did the user name a field for this role? own may be NULL. */
bool roles_is_named(const struct roles_own *own, enum role role);
const char *roles_words(void); /* all roles, for a message */

/* Finds what the name means, and how good it is: 0 is the best. ROLE_NONE: nothing. */
enum role roles_find(struct roles_own *own, struct str name, unsigned *rank);
/* Is it an object that holds what has a meaning: does name.x for some x? */
bool roles_lead(const struct roles_own *own, struct str name);
/* The role of this word; ROLE_NONE: there is none. */
enum role roles_of_word(struct str word);
/* The names of a role, the best first; ends with NULL. */
const char *const *roles_names(enum role r);

/* Sets what the value says; what cannot be read is left as not known. False: it had to be there,
 * and it is nonsense. */
bool roles_set(struct entry *e, enum role role, struct str value);

/* "GET /a HTTP/1.1" into method and target. */
bool roles_set_request(struct entry *e, struct str line);

#endif
