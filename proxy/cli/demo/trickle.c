/* trickle.c - one request after the other on one kept connection. */
#include "proxy/cli/demo/trickle.h"

#include "proxy/base/mem.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { NEW_EVERY = 4, NEW_BYTES = 20000 };

struct trickle {
	const struct mix *mix;
	unsigned port;
	CURL *curl;
	uint64_t random, count;
};

struct trickle *
trickle_create(const struct mix *mix, unsigned port)
{
	CURL *curl = curl_easy_init();
	if (!curl)
		return NULL;
	struct trickle *t = NEW(struct trickle);
	*t = (struct trickle){.mix = mix, .port = port, .curl = curl};
	t->random = (uint64_t)time(NULL) | 1; /* other new URLs each time */
	return t;
}

static uint64_t
next_random(struct trickle *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

static size_t
on_body(char *p, size_t size, size_t n, void *ctx)
{
	(void)p, (void)ctx;
	return size * n;
}

void
trickle_one(struct trickle *t)
{
	char path[MIX_PATH_BYTES], url[128];
	uint64_t random = next_random(t);
	struct mix_object fresh = {.name = random, .bytes = NEW_BYTES};
	uint32_t i = (uint32_t)(random % t->mix->request_count);
	mix_path(++t->count % NEW_EVERY == 0 ? &fresh : mix_request(t->mix, i), path);
	snprintf(url, sizeof url, "http://127.0.0.1:%u%s", t->port, path);
	curl_easy_setopt(t->curl, CURLOPT_URL, url);
	curl_easy_setopt(t->curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->curl, CURLOPT_TIMEOUT_MS, 1000L);
	curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_perform(t->curl);
}

void
trickle_destroy(struct trickle **tp)
{
	struct trickle *t = *tp;
	*tp = NULL;
	if (!t)
		return;
	curl_easy_cleanup(t->curl);
	free(t);
}
