/* fuzz_explain.c - a question of a stranger about a URL: GET /explain.
 * rooms: node serve wire serve config admin fleet origin cache coding http base filter
 *
 * The input is the URL, and behind its first line end the headers. Whatever it is, the answer is
 * JSON or a sentence, and nothing is recorded.
 */
#include "config/config.h"
#include "config/load.h"
#include "proxy/cache/cache.h"
#include "proxy/cache/admission/seen.h"
#include "proxy/node/explain.h"

#include <assert.h>
#include <jansson.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static struct shelves shelves;
static struct settings *settings;
static struct worker worker;

static void
begin(void)
{
	static const char yaml[] =
		"origins:\n  - url: http://127.0.0.1:1\n"
		"routes:\n  - path: /account\n    pass: on\n  - host: b.example\n    path: /v\n"
		"    query: sort\n    key_headers: [ accept-language ]\n    key_cookies: [ id ]\n"
		"    pass_cookies: [ session ]\n";
	static struct config config;
	char err[512];
	config_init(&config);
	if (config_parse(&config, "fuzz", yaml, sizeof yaml - 1, err, sizeof err))
		abort();
	settings = settings_create(&config, 1);
	if (cache_open(&shelves.cache, &(struct cache_options){.memory_bytes = 1 << 20}, err,
		       sizeof err))
		abort();
	shelves.seed = cache_seed(shelves.cache);
	struct seen_options o = {
		.cache = shelves.cache,
		.memory = {.sightings = 2, .capacity = 1000, .false_positives = 0.01},
		.rule = {.sightings = 2}};
	if (seen_open(&shelves.seen, &o, err, sizeof err))
		abort();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct str all = {(const char *)data, n}, url = str_before(all, '\n');
	struct explain_order o = {.url = url, .fields = str_from(all, url.n + 1)};
	struct buf out = {0};
	struct twice_pair_stats before, after;
	if (!settings)
		begin();
	seen_report(shelves.seen, &before);
	const char *no = explain_url(&shelves, settings, &worker, 1, &o, &out);
	assert((no != NULL) == (out.n == 0));
	if (!no) {
		json_t *json = json_loadb(out.p, out.n, JSON_REJECT_DUPLICATES, NULL);
		assert(json_object_get(json, "refused") || json_object_get(json, "now"));
		json_decref(json);
	}
	seen_report(shelves.seen, &after);
	assert(before.keys == after.keys);
	buf_fini(&out);
	return 0;
}
