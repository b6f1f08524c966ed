/* Cache-Status (RFC 9211) on every path an answer can take. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define STALE "Cache-Control: max-age=10\r\nAge: 20\r\n"
#define SWR   "Cache-Control: max-age=10, stale-while-revalidate=60\r\nAge: 20\r\n"
#define VARY  FRESH "Vary: X-Kind\r\n"

static const struct {
	const char *says;
	struct say origin[2];
	const char *first, *method,
		*second; /* fields of a GET before, if any; then of the request */
	const char *words, *not ;
} rows[] = {
	/* clang-format off */
	{ "a miss", {{.fields = FRESH}}, NULL, "GET", "", "fwd=uri-miss fwd-status=200 detail=first-sight", "hit stored ttl" },
	{ "a miss of what may not be stored", {{.fields = "Cache-Control: no-store\r\n"}}, NULL, "GET", "", "fwd=uri-miss fwd-status=200 detail=not-storable", "hit stored" },
	{ "a hit", {{.fields = FRESH}}, "", "GET", "", "hit ttl= detail=ram", "fwd stored" },
	{ "a HEAD of what is stored", {{.fields = FRESH}}, "", "HEAD", "", "hit detail=ram", "fwd" },
	{ "a HEAD of what is not", {{.fields = FRESH}}, NULL, "HEAD", "", "fwd=uri-miss fwd-status=200 detail=head", "hit stored" },
	{ "a HEAD of what may not be stored", {{.fields = "Cache-Control: no-store\r\n"}}, NULL, "HEAD", "", "fwd=uri-miss fwd-status=200 detail=not-storable", "hit stored" },
	{ "a HEAD of what differs for each request", {{.fields = FRESH "Vary: *\r\n"}}, NULL, "HEAD", "", "fwd=uri-miss fwd-status=200 detail=not-storable", "hit stored" },
	{ "a HEAD that wants nothing stored", {{.fields = FRESH}}, NULL, "HEAD", "Cache-Control: no-store\r\n", "fwd-status=200 detail=not-storable", "hit stored" },
	{ "a HEAD of an error", {{.status = 503}}, NULL, "HEAD", "", "fwd=uri-miss fwd-status=503 detail=not-storable", "hit stored" },
	{ "a HEAD of a stale one replaced", {{.fields = STALE, .etag = "\"1\""}, {.fields = FRESH, .etag = "\"2\""}}, "", "HEAD", "", "fwd=stale fwd-status=200 detail=head", "hit stored" },
	{ "a HEAD with a condition that is no cache's", {{.fields = FRESH, .etag = "\"1\""}}, NULL, "HEAD", "If-Match: \"1\"\r\n", "fwd=bypass", "hit stored uri-miss detail=head" },
	{ "another variant", {{.fields = VARY}}, "X-Kind: a\r\n", "GET", "X-Kind: b\r\n", "fwd=vary-miss fwd-status=200", "hit" },
	{ "a 304", {{.fields = STALE, .etag = "\"1\""}}, "", "GET", "", "fwd=stale fwd-status=304", "hit" },
	{ "a stale one replaced", {{.fields = STALE, .etag = "\"1\""}, {.fields = FRESH, .etag = "\"2\""}}, "", "GET", "", "fwd=stale fwd-status=200", "hit" },
	{ "a stale one while another is fetched", {{.fields = SWR, .etag = "\"1\""}}, "", "GET", "", "hit ttl=-", "fwd" },
	{ "a stale one for an error", {{.fields = STALE, .etag = "\"1\""}, {.status = 503}}, "", "GET", "", "fwd=stale fwd-status=503 ttl=- detail=stale-if-error", "hit" },
	{ "the request's no-cache", {{.fields = FRESH, .etag = "\"1\""}}, "", "GET", "Cache-Control: no-cache\r\n", "fwd=request fwd-status=304", "hit" },
	{ "the request's no-store", {{.fields = FRESH}}, "", "GET", "Cache-Control: no-store\r\n", "fwd=request fwd-status=200", "hit stored" },
	{ "no-cache of the answer", {{.fields = "Cache-Control: no-cache\r\n", .etag = "\"1\""}}, "", "GET", "", "fwd=stale fwd-status=304", "hit" },
	{ "a method that is no cache's", {{.fields = FRESH}}, "", "POST", "", "fwd=method fwd-status=200", "hit stored uri-miss" },
	{ "a condition that is no cache's", {{.fields = FRESH, .etag = "\"1\""}}, "", "GET", "If-Match: \"1\"\r\n", "fwd=bypass", "hit stored" },
	{ "a range of what is stored", {{.fields = FRESH}}, "", "GET", "Range: bytes=0-1\r\n", "hit", "fwd" },
	{ "a range behind a range that left nothing", {{.fields = FRESH, .ranges = true}}, "Range: bytes=0-3\r\n", "GET", "Range: bytes=1-2\r\n", "fwd=uri-miss fwd-status=206", "hit stored" },
	{ "a 404", {{.status = 404}}, NULL, "GET", "", "fwd=uri-miss fwd-status=404", "hit" },
	{ "only-if-cached of nothing", {{.fields = FRESH}}, NULL, "GET", "Cache-Control: only-if-cached\r\n", "detail=only-if-cached", "hit fwd" },
	/* clang-format on */
};

SCENARIO("Cache-Status says what happened, whatever happened, and says it behind the inner caches'")
{
	enum { N = sizeof rows / sizeof *rows };
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 2; k++) {
			struct say s = rows[i].origin[k];
			if (k && !s.fields && !s.status)
				continue;
			s.body = "hello";
			s.fields = text("%sCache-Status: inner; fwd=miss\r\n",
					s.fields ? s.fields : "");
			origin_script(text("/%d", i), &s);
		}
	edge_start_yaml(EDGE_CACHE("  client_directives: obey\n"));
	int wrong = 0;
	for (int i = 0; i < N; i++) {
		char *path = text("/%d", i), *word, *rest;
		if (rows[i].first)
			get_with(path, rows[i].first);
		struct answer a = ask(rows[i].method, path, rows[i].second,
				      strcmp(rows[i].method, "POST") ? NULL : "x");
		bool right = verdict(a) != NULL;
		for (word = strtok_r(strdup(rows[i].words), " ", &rest); word && right;
		     word = strtok_r(NULL, " ", &rest))
			right = strstr(word, "ttl") ? strstr(verdict(a), word) != NULL
						    : verdict_has(a, word);
		for (word = strtok_r(strdup(rows[i].not ), " ", &rest); word && right;
		     word = strtok_r(NULL, " ", &rest))
			right = !verdict_has(a, word) && !strstr(verdict(a), text("%s=", word));
		const char *all = field(a, "Cache-Status");
		right = right && (strncmp(all, "inner; fwd=miss, twice;", 23) == 0 ||
				  strstr(rows[i].words, "only-if-cached"));
		if (right)
			continue;
		wrong++;
		note("%s: %s", rows[i].says, all);
	}
	expect_int(wrong, 0);
}

SCENARIO("an origin that is dead: Cache-Status says why, and no status")
{
	edge_start();
	origin_dies();
	struct answer a = get("/x");
	expect_status(a, 502);
	expect_verdict(a, "fwd=uri-miss");
	expect_that(!strstr(verdict(a), "fwd-status"), "%s", verdict(a));
}
