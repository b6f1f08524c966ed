/* test_formats.c - a log of each kind that people have, known by looking, and what is read of it.
 * rooms: simulate config cache coding http base filter
 *
 * The samples are written after each product's own description of its log.
 */
#include "proxy/simulate/parse.h"
#include "proxy/simulate/source.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* Sizes that several ids have, and ids that have one size each. */
static char sized[4096];

/* clang-format off */
static const struct sample {
	const char *says;
	enum format format;
	enum wrap wrap;
	enum cut cut;
	const char *text;
	const char *method, *scheme, *host, *target, *query, *client;
	int64_t time_us;
	int status;
	uint64_t bytes;
	bool whole_size;
} samples[] = {
	{ "lighttpd", FORMAT_CLF, WRAP_NONE, CUT_LINES,
	  "1.2.3.4 h.example - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"curl/8.5\"",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "nginx, with the site behind", FORMAT_CLF, WRAP_NONE, CUT_LINES,
	  "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"curl/8.5\" \"10.0.0.9\" h.example",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "lighttpd, with the site behind in quotes", FORMAT_CLF, WRAP_NONE, CUT_LINES,
	  "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"curl/8.5\" \"h.example:8080\"",
	  "GET", "", "h.example:8080", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Traefik, text", FORMAT_CLF, WRAP_NONE, CUT_LINES,
	  "1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"curl/8.5\" 7 \"web@docker\" \"http://10.0.0.2:80\" 3ms",
	  "GET", "", "", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Fastly, JSON", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"timestamp\":\"2026-11-22T05:20:44+0000\",\"client_ip\":\"1.2.3.4\",\"geo_country\":\"germany\",\"host\":\"h.example\",\"url\":\"/a\",\"request_method\":\"GET\",\"request_protocol\":\"HTTP/2\",\"request_referer\":\"\",\"request_user_agent\":\"curl/8.5\",\"response_state\":\"HIT\",\"response_status\":200,\"response_reason\":\"OK\",\"response_body_size\":612,\"fastly_server\":\"cache-fra1\",\"fastly_is_edge\":true}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Fastly, JSON whose request is the method", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"service_id\":\"x\",\"time_start\":\"2026-11-22T05:20:44Z\",\"time_elapsed\":310,\"client_ip\":\"1.2.3.4\",\"request\":\"GET\",\"protocol\":\"HTTP/1.1\",\"host\":\"h.example\",\"url\":\"/a\",\"status\":\"200\",\"resp_body_size\":612}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "CDN77", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"startTimeMs\":1795324844250,\"requestTimeMs\":12,\"resourceID\":1693215245,\"cacheAge\":5,\"cacheStatus\":\"HIT\",\"clientIP\":\"1.2.3.4\",\"clientRequestHost\":\"h.example\",\"clientRequestMethod\":\"GET\",\"clientRequestProtocol\":\"HTTP20\",\"clientRequestScheme\":\"HTTPS\",\"clientRequestURI\":\"/a\",\"responseStatus\":200,\"responseBytes\":612,\"locationID\":\"praguecz\"}",
	  "GET", "HTTPS", "h.example", "/a", "", "1.2.3.4", 1795324844250000, 200, 612, false },
	{ "Traefik, JSON", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"ClientAddr\":\"1.2.3.4:51234\",\"ClientHost\":\"1.2.3.4\",\"ClientPort\":\"51234\",\"DownstreamContentSize\":612,\"DownstreamStatus\":200,\"Duration\":1234,\"OriginContentSize\":9,\"OriginStatus\":500,\"RequestAddr\":\"h.example\",\"RequestContentSize\":0,\"RequestHost\":\"h.example\",\"RequestMethod\":\"GET\",\"RequestPath\":\"/a\",\"RequestPort\":\"-\",\"RequestProtocol\":\"HTTP/1.1\",\"RequestScheme\":\"https\",\"StartUTC\":\"2026-11-22T05:20:44.5Z\",\"entryPointName\":\"web\",\"level\":\"info\",\"msg\":\"\",\"time\":\"2026-11-22T05:20:44Z\"}",
	  "GET", "https", "h.example", "/a", "", "1.2.3.4", 1795324844500000, 200, 612, false },
	{ "Akamai DataStream 2", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"version\":1,\"cp\":\"123456\",\"reqId\":\"1239f220\",\"reqTimeMSec\":\"1795324844.250\",\"bytes\":\"612\",\"cliIP\":\"1.2.3.4\",\"statusCode\":\"206\",\"proto\":\"HTTPS\",\"reqHost\":\"h.example\",\"reqMethod\":\"GET\",\"reqPath\":\"/a\",\"reqPort\":\"443\",\"rspContentLen\":\"600\",\"rspContentType\":\"text/html\",\"UA\":\"curl/8.5\",\"queryStr\":\"b=c\",\"objSize\":\"4840\",\"cacheStatus\":\"1\"}",
	  "GET", "HTTPS", "h.example", "/a", "b=c", "1.2.3.4", 1795324844250000, 206, 4840, true },
	{ "Azure Front Door", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"time\":\"2026-11-22T05:20:44.1234567Z\",\"resourceId\":\"/SUBSCRIPTIONS/X\",\"category\":\"FrontdoorAccessLog\",\"operationName\":\"Microsoft.Cdn/Profiles/AccessLog/Write\",\"properties\":{\"trackingReference\":\"0abc\",\"httpMethod\":\"GET\",\"httpVersion\":\"2.0\",\"requestUri\":\"https://h.example:443/a?b=c\",\"requestBytes\":\"3013\",\"responseBytes\":\"612\",\"userAgent\":\"curl/8.5\",\"clientIp\":\"1.2.3.4\",\"clientPort\":\"46817\",\"timeTaken\":\"0.1\",\"httpStatusCode\":\"200\",\"cacheStatus\":\"HIT\"}}",
	  "GET", "", "", "https://h.example:443/a?b=c", "", "1.2.3.4", 1795324844123456, 200, 612, false },
	{ "Elastic Common Schema", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"@timestamp\":\"2026-11-22T05:20:44.000Z\",\"http\":{\"request\":{\"method\":\"GET\",\"bytes\":1437,\"id\":\"123e4567\"},\"response\":{\"status_code\":200,\"body\":{\"bytes\":612},\"bytes\":900},\"version\":\"1.1\"},\"url\":{\"domain\":\"h.example\",\"path\":\"/a\",\"query\":\"b=c\",\"scheme\":\"https\"},\"source\":{\"ip\":\"1.2.3.4\",\"port\":9},\"event\":{\"id\":\"x\"}}",
	  "GET", "https", "h.example", "/a", "b=c", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Elastic Common Schema, names in one piece", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"@timestamp\":\"2026-11-22T05:20:44.000Z\",\"http.request.method\":\"GET\",\"http.response.status_code\":200,\"http.response.body.bytes\":612,\"url.original\":\"/a?b=c\",\"url.domain\":\"h.example\",\"client.ip\":\"1.2.3.4\"}",
	  "GET", "", "h.example", "/a?b=c", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "nested JSON with an id of the request", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"id\":\"b3f0c1\",\"ts\":1795324844,\"http\":{\"request\":{\"method\":\"GET\",\"url\":\"/a\",\"host\":\"h.example\",\"remote_addr\":\"1.2.3.4\",\"id\":7,\"bytes\":9},\"response\":{\"status\":200,\"bytes\":612}}}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Google Cloud", FORMAT_JSON, WRAP_NONE, CUT_LINES,
	  "{\"httpRequest\":{\"remoteIp\":\"1.2.3.4\",\"requestMethod\":\"GET\",\"requestSize\":\"99\",\"requestUrl\":\"https://h.example/a\",\"responseSize\":\"612\",\"status\":200},\"insertId\":\"1x2\",\"timestamp\":\"2026-11-22T05:20:44Z\"}",
	  "GET", "", "", "https://h.example/a", "", "", 1795324844000000, 200, 612, false },
	{ "an array of JSON", FORMAT_JSON, WRAP_NONE, CUT_OBJECTS,
	  "[{\"time\":1795324844,\"url\":\"/b\",\"status\":404,\"size\":1},\n {\"time\":1795324844,\"host\":\"h.example\",\"method\":\"GET\",\"url\":\"/a\",\"client_ip\":\"1.2.3.4\",\"status\":200,\"size\":612,\"t\":[{}]}]\n",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "JSON over several lines", FORMAT_JSON, WRAP_NONE, CUT_OBJECTS,
	  "{\n  \"time\": 1795324844,\n  \"host\": \"h.example\",\n  \"method\": \"GET\",\n  \"url\": \"/a\",\n  \"client_ip\": \"1.2.3.4\",\n  \"status\": 200,\n  \"size\": 612\n}\n",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "an array called records", FORMAT_JSON, WRAP_NONE, CUT_OBJECTS,
	  "{\"records\": [{\"time\":1795324844,\"host\":\"h.example\",\"method\":\"GET\",\"url\":\"/a\",\"client_ip\":\"1.2.3.4\",\"status\":200,\"size\":612}]}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Caddy, console", FORMAT_JSON, WRAP_PREFIX, CUT_LINES,
	  "2026/11/22 05:20:44.250\tINFO\thttp.log.access.log0\thandled request\t{\"request\": {\"remote_ip\": \"1.2.3.4\", \"proto\": \"HTTP/2.0\", \"method\": \"GET\", \"host\": \"h.example\", \"uri\": \"/a\"}, \"bytes_read\": 0, \"duration\": 0.001, \"size\": 612, \"status\": 200}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844250000, 200, 612, false },
	{ "JSON behind the head of syslog", FORMAT_JSON, WRAP_PREFIX, CUT_LINES,
	  "<134>1 2026-11-22T05:20:44Z cache-fra1 logs 9 - - {\"ts\":1795324844,\"client_ip\":\"1.2.3.4\",\"host\":\"h.example\",\"url\":\"/a\",\"request_method\":\"GET\",\"response_status\":200,\"response_body_size\":612}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Docker, json-file", FORMAT_CLF, WRAP_DOCKER, CUT_LINES,
	  "{\"log\":\"1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \\\"GET /a HTTP/1.1\\\" 200 612 \\\"-\\\" \\\"curl/8.5\\\" \\\"h.example\\\"\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-22T05:20:44.5Z\"}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Docker, json-file of JSON without a time", FORMAT_JSON, WRAP_DOCKER, CUT_LINES,
	  "{\"log\":\"{\\\"method\\\":\\\"GET\\\",\\\"host\\\":\\\"h.example\\\",\\\"url\\\":\\\"/a\\\",\\\"client_ip\\\":\\\"1.2.3.4\\\",\\\"status\\\":200,\\\"size\\\":612}\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-22T05:20:44.5Z\"}",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844500000, 200, 612, false },
	{ "a container of Kubernetes", FORMAT_CLF, WRAP_CRI, CUT_LINES,
	  "2026-11-22T05:20:44.5Z stdout F 1.2.3.4 - - [22/Nov/2026:05:20:44 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"curl/8.5\" \"h.example\"",
	  "GET", "", "h.example", "/a", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "logfmt", FORMAT_LOGFMT, WRAP_NONE, CUT_LINES,
	  "time=2026-11-22T05:20:44Z level=info msg=\"handled request\" method=GET host=h.example path=\"/a?q=\\\"x\\\"\" remote_addr=1.2.3.4 status=200 bytes=612 duration=1ms",
	  "GET", "", "h.example", "/a?q=\"x\"", "", "1.2.3.4", 1795324844000000, 200, 612, false },
	{ "Heroku's router", FORMAT_LOGFMT, WRAP_NONE, CUT_LINES,
	  "2026-11-22T05:20:44.25+00:00 heroku[router]: at=info method=GET path=\"/a\" host=h.example request_id=8601b555 fwd=\"1.2.3.4\" dyno=web.1 connect=1ms service=18ms status=200 bytes=612",
	  "GET", "", "h.example", "/a", "", "", 1795324844250000, 200, 612, false },
	{ "Envoy, text", FORMAT_ENVOY, WRAP_NONE, CUT_LINES,
	  "[2026-11-22T05:20:44.310Z] \"GET /a HTTP/2\" 200 - 154 612 226 100 \"10.0.35.28\" \"curl/8.5\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"h.example\" \"tcp://10.0.2.1:80\"",
	  "GET", "", "h.example", "/a", "", "", 1795324844310000, 200, 612, false },
	{ "Istio", FORMAT_ISTIO, WRAP_NONE, CUT_LINES,
	  "[2026-11-22T05:20:44.409Z] \"GET /a HTTP/1.1\" 200 - via_upstream - \"-\" 0 612 4 4 \"-\" \"curl/7.73.0\" \"84961386-6d84\" \"h.example\" \"10.44.1.27:80\" outbound|8000||httpbin.foo.svc.cluster.local 10.44.1.23:37652 10.0.45.184:8000 10.44.1.23:46520 - default",
	  "GET", "", "h.example", "/a", "", "", 1795324844409000, 200, 612, false },
	{ "ALB", FORMAT_ALB, WRAP_NONE, CUT_LINES,
	  "https 2026-11-22T05:20:44.186641Z app/my-lb/50dc6c495c0c9188 1.2.3.4:2817 10.0.0.1:80 0.086 0.048 0.037 200 500 0 612 \"GET https://h.example:443/a HTTP/1.1\" \"curl/7.46.0\" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:x \"Root=1-58337281\" \"h.example\" \"arn:aws:y\" 1 2026-11-22T05:20:44.364000Z \"forward\" \"-\" \"-\" \"10.0.0.1:80\" \"200\" \"-\" \"-\"",
	  "GET", "", "", "https://h.example:443/a", "", "1.2.3.4:2817", 1795324844186641, 200, 612, false },
	{ "ELB, classic", FORMAT_ELB, WRAP_NONE, CUT_LINES,
	  "2026-11-22T05:20:44.943958Z my-lb 1.2.3.4:2817 10.0.0.1:80 0.000073 0.001048 0.000057 200 500 0 612 \"GET http://h.example:80/a HTTP/1.1\" \"curl/7.38.0\" - -",
	  "GET", "", "", "http://h.example:80/a", "", "1.2.3.4:2817", 1795324844943958, 200, 612, false },
	{ "S3", FORMAT_S3, WRAP_NONE, CUT_LINES,
	  "79a59df900b949e5 my-bucket [22/Nov/2026:05:20:44 +0000] 1.2.3.4 - 3E57427F3EXAMPLE REST.GET.OBJECT a \"GET /a HTTP/1.1\" 206 - 612 4406 28 26 \"-\" \"curl/7.15.1\" - x= SigV4 ECDHE AuthHeader my-bucket.s3.amazonaws.com TLSV1.2",
	  "GET", "", "my-bucket", "/a", "", "1.2.3.4", 1795324844000000, 206, 4406, true },
	{ "bunny.net", FORMAT_BUNNY, WRAP_NONE, CUT_LINES,
	  "HIT|200|1795324844250|612|390|1.2.3.4|-|https://h.example/a|WA|Mozilla/5.0 (X|Y)|322b688bd63fb63f2babe9de30a5d262|DE",
	  "", "", "", "https://h.example/a", "", "1.2.3.4", 1795324844250000, 200, 612, false },
	{ "CloudFront real-time", FORMAT_REALTIME, WRAP_NONE, CUT_LINES,
	  "1795324844.250\t1.2.3.4\t0.001\t200\t612\tGET\thttps\td111.cloudfront.net\t/a?b=c\t27\tFRA56-C1\tabc==\th.example\t0.002\tHTTP/2.0\tIPv4\tcurl/8.5\t-\t-\tb=c\tHit",
	  "GET", "https", "h.example", "/a?b=c", "", "1.2.3.4", 1795324844250000, 200, 612, false },
	{ "Twitter", FORMAT_TWITTER, WRAP_NONE, CUT_LINES,
	  "44,nz:u:eeW511W3dcH3de3d15ec,22,612,26,get,0",
	  "get", "", "", "nz:u:eeW511W3dcH3de3d15ec", "", "", 44000000, ENTRY_NO_STATUS, 612, true },
	{ "MSR Cambridge", FORMAT_MSR, WRAP_NONE, CUT_LINES,
	  "134397984440000000,hm,1,Read,383496192,612,413",
	  "Read", "", "", "hm:1:383496192", "", "", 1795324844000000, ENTRY_NO_STATUS, 612, true },
	{ "Tencent, photos", FORMAT_PHOTO, WRAP_NONE, CUT_LINES,
	  "20261122052044 085abb02a06850729bb01479466420d9e102d325 5 m 612 1 PHONE 1",
	  "", "", "", "085abb02a06850729bb01479466420d9e102d325:5:m", "", "", 1795324844000000, ENTRY_NO_STATUS, 612, true },
	{ "Tencent, blocks", FORMAT_BLOCK, WRAP_NONE, CUT_LINES,
	  "1795324844,12910952,2,0,1063",
	  "GET", "", "", "12910952:1063", "", "", 1795324844000000, ENTRY_NO_STATUS, 1024, true },
	{ "Meta CDN", FORMAT_TABLE, WRAP_NONE, CUT_LINES,
	  "timestamp,cacheKey,OpType,objectSize,responseSize,responseHeaderSize,rangeStart,rangeEnd,TTL,SamplingRate,cache_hit,item_value,RequestHandler,cdn_content_type_id,vip_type\n1795324844,3f9a,1,612,100,10,0,99,86400,0.1,1,,x,1,2",
	  "", "", "", "3f9a", "", "", 1795324844000000, ENTRY_NO_STATUS, 612, true },
	{ "time,size,id with titles", FORMAT_TABLE, WRAP_NONE, CUT_LINES,
	  "time,size,id\n1795324844,612,abc",
	  "", "", "", "abc", "", "", 1795324844000000, ENTRY_NO_STATUS, 612, true },
	{ "time,size,id without titles", FORMAT_SIZED, WRAP_NONE, CUT_LINES,
	  sized,
	  "", "", "", "abc", "", "", 1795324844000000, ENTRY_NO_STATUS, 612, true },
};

static const struct { const char *says, *text, *wanted[4]; } refused[] = {
	{ "JSON without a URL tells its keys and an example",
	  "{\"ts\":1,\"id\":\"a1\",\"client_ip\":\"1.2.3.4\",\"req\":{\"full_uri\":\"/a\",\"x\":[{\"y\":1}]},\"status\":200}\n",
	  { "no URL and no id of an object", "ts, id, client_ip, req.full_uri, status", "request_uri, ClientRequestURI", "--field target=req.full_uri" } },
	{ "JSON without a time", "{\"event\":{\"date\":\"x\"},\"url\":\"/a\"}\n",
	  { "no time is among", "event.date, url", "timestamp_ms", "--field time=event.date" } },
	{ "JSON that has neither", "{\"a\":1}\n", { "no time and no URL", ": a.", " and request_uri", "--field time=event.created --field target=request.url" } },
	{ "JSON in an array", "[{\"a\":1},\n{\"a\":2}]\n", { "lines are JSON", ": a." } },
	{ "titles that are not known", "when;what;how much\n1;/a;3\n",
	  { "first line names columns", "when, what, how much", "--field time=" } },
	{ "columns without titles", "1,2,x,y,z,/a\n2,3,x,y,z,/b\n", { "\"1,2,x,y,z,/a\"", "write a first line that names them", "time,url,status,bytes" } },
	{ "words", "hello there\nall of you\n", { "Line 1 is \"hello there\"", "--format (auto, clf, json", "--field target=request.url" } },
};
/* clang-format on */

static void
fill_sized(void)
{
	static const int sizes[] = {612, 100, 200};
	size_t n = 0;
	for (int i = 0; i < 44; i++)
		n += (size_t)snprintf(sized + n, sizeof sized - n, "%d,%d,%d\n", 1795324800 + i,
				      sizes[i % 11 % 3], 500000 + i % 11);
	snprintf(sized + n, sizeof sized - n, "1795324844,612,abc");
}

static bool
is(struct str s, const char *z)
{
	return str_eq(s, str_of(z));
}

static void
expect_entry(const struct sample *s, const struct entry *e)
{
	ck_assert_msg(is(e->method, s->method), "%s: method %.*s", s->says, STR_ARG(e->method));
	ck_assert_msg(is(e->scheme, s->scheme), "%s: scheme %.*s", s->says, STR_ARG(e->scheme));
	ck_assert_msg(is(e->host, s->host), "%s: host %.*s", s->says, STR_ARG(e->host));
	ck_assert_msg(is(e->target, s->target), "%s: target %.*s", s->says, STR_ARG(e->target));
	ck_assert_msg(is(e->query, s->query), "%s: query %.*s", s->says, STR_ARG(e->query));
	ck_assert_msg(is(e->client, s->client), "%s: client %.*s", s->says, STR_ARG(e->client));
	ck_assert_msg(e->time_us == s->time_us, "%s: time %lld", s->says, (long long)e->time_us);
	ck_assert_msg(e->status == s->status, "%s: status %d", s->says, e->status);
	ck_assert_msg(e->has_bytes && e->bytes == s->bytes, "%s: bytes %llu", s->says,
		      (unsigned long long)e->bytes);
	ck_assert_msg(e->whole_size == s->whole_size, "%s: whole size", s->says);
}

static char dir[256], path[300];

static struct source *
open_log(const char *text, char *err, size_t err_bytes)
{
	struct source_options o = {.format = FORMAT_AUTO};
	snprintf(path, sizeof path, "%s/log", dir);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return source_open(path, &o, err, err_bytes);
}

/* The last entry is the one that the sample tells: entries hold until the next one. */
static void
expect_log(const struct sample *s, const char *text)
{
	char err[1024] = "";
	struct entry e;
	unsigned n = 0;
	struct source_facts facts;
	struct source *log = open_log(text, err, sizeof err);
	ck_assert_msg(log != NULL, "%s: %s", s->says, err);
	while (source_next(log, &e) == SOURCE_ENTRY)
		n++;
	source_facts(log, &facts);
	ck_assert_msg(n > 0 && facts.bad_lines == 0, "%s: %u entries, %d bad", s->says, n,
		      (int)facts.bad_lines);
	source_close(&log);
	log = open_log(text, err, sizeof err);
	while (n--)
		ck_assert_int_eq(source_next(log, &e), SOURCE_ENTRY);
	expect_entry(s, &e);
	source_close(&log);
}

START_TEST(a_sample_is_read)
{
	const struct sample *s = &samples[_i];
	char text[8192];
	fill_sized();
	struct shape shape = parse_detect(str_of(s->text), FORMAT_AUTO, NULL);
	ck_assert_msg(shape.format == s->format && shape.wrap == s->wrap && shape.cut == s->cut,
		      "%s: taken for %s, wrapped %d, cut %d", s->says, parse_word(shape.format),
		      shape.wrap, shape.cut);
	tmpdir_make(dir, sizeof dir);
	expect_log(s, s->text);
	snprintf(text, sizeof text, "\xef\xbb\xbf%s", s->text); /* behind a mark of UTF-8 */
	expect_log(s, text);
	if (s->cut == CUT_LINES) { /* with what is remembered of the line before, and its end */
		const char *last = strrchr(s->text, '\n');
		snprintf(text, sizeof text, "%s\r\n%s\r\n", s->text, last ? last + 1 : s->text);
		expect_log(s, text);
	}
	tmpdir_remove(dir);
}
END_TEST

START_TEST(what_is_looked_for_is_told)
{
	char err[1024] = "";
	tmpdir_make(dir, sizeof dir);
	ck_assert_msg(!open_log(refused[_i].text, err, sizeof err), "%s", refused[_i].says);
	for (int i = 0; i < 4 && refused[_i].wanted[i]; i++)
		ck_assert_msg(strstr(err, refused[_i].wanted[i]) != NULL, "%s: no \"%s\" in: %s",
			      refused[_i].says, refused[_i].wanted[i], err);
	tmpdir_remove(dir);
}
END_TEST

/* A format that is named is read so, wrapped or not. */
START_TEST(a_format_can_be_named)
{
	const struct sample *s = &samples[_i];
	fill_sized();
	struct shape shape = parse_detect(str_of(s->text), s->format, NULL);
	ck_assert_msg(shape.format == s->format && shape.wrap == s->wrap && shape.cut == s->cut,
		      "%s: wrapped %d, cut %d", s->says, shape.wrap, shape.cut);
}
END_TEST

START_TEST(nested_names_can_be_given)
{
	struct roles_own own = {0};
	struct parsing p;
	struct entry e;
	struct str line = STR(
		"{\"url\":\"/no\",\"log\":{\"when\":5,\"in\":{\"url\":\"/a\"},\"url\":\"/no\"}}");
	ck_assert_int_eq(roles_name(&own, "target", "log.in.url"), 0);
	ck_assert_int_eq(roles_name(&own, "time", "log.when"), 0);
	struct shape shape = parse_detect(line, FORMAT_AUTO, &own);
	ck_assert_int_eq(shape.format, FORMAT_JSON);
	parse_init(&p, &shape, &own);
	for (int twice = 0; twice < 2; twice++) {
		ck_assert_int_eq(parse_line(&p, line, &e), PARSED_ENTRY);
		ck_assert(is(e.target, "/a") && e.time_us == 5000000);
	}
	parse_fini(&p);
	ck_assert_ptr_null(roles_missing(&own));
}
END_TEST

START_TEST(utf16_is_told)
{
	char err[1024] = "";
	tmpdir_make(dir, sizeof dir);
	ck_assert(!open_log("\xff\xfe{\"", err, sizeof err));
	ck_assert_msg(strstr(err, "iconv -f UTF-16") != NULL, "%s", err);
	tmpdir_remove(dir);
}
END_TEST

UNIT("formats", LOOP(a_sample_is_read, samples), LOOP(a_format_can_be_named, samples),
     LOOP(what_is_looked_for_is_told, refused), TEST(nested_names_can_be_given),
     TEST(utf16_is_told))
