/* mix.h - the requests a CDN edge sees, made from a seed: what the demo and the benches replay.
 *
 * How often each URL is asked for follows an Akamai edge cluster (Sabnis and Sitaraman, IMC 2021):
 * 74% of the URLs once, 89% fewer than four times, 3.4 requests per URL on average. Sizes do not
 * depend on popularity: median 8 KiB, mean 35 KB, at most 5 MB. A URL carries the size of its
 * object, and every body byte is a function of URL and offset: whoever receives a body can check
 * it byte for byte without having stored anything.
 *
 * Memory    a mix owns its arrays; mix_fini frees them.
 * Threads   constant after mix_init_*.
 */
#ifndef CLI_MIX_H
#define CLI_MIX_H

#include "proxy/base/str.h"

struct mix_object {
	uint64_t name;
	uint64_t bytes;
};

struct mix {
	struct mix_object *objects;
	uint32_t object_count;
	uint32_t *order; /* request i asks for objects[order[i]] */
	uint32_t request_count;
	uint64_t distinct_bytes; /* all objects once */
	uint64_t asked_bytes;	 /* all requests */
	uint32_t asked_once;	 /* objects with a single request */
};

/* A day at a CDN edge. */
void mix_init_cdn(struct mix *m, uint32_t requests, uint64_t seed);
/* The same few objects again and again: a client that only ever hits. */
void
mix_init_same(struct mix *m, uint32_t requests, uint32_t objects, uint64_t bytes, uint64_t seed);
/* Every request for an object of its own: a client that only ever misses. */
static inline void
mix_init_unique(struct mix *m, uint32_t requests, uint64_t bytes, uint64_t seed)
{
	mix_init_same(m, requests, requests, bytes, seed);
	m->asked_once = requests;
}
void mix_fini(struct mix *m);

static inline const struct mix_object *
mix_request(const struct mix *m, uint32_t i)
{
	return &m->objects[m->order[i]];
}

#define MIX_PATH_BYTES 48
/* The path of o, NUL-terminated; returns its length. */
size_t mix_path(const struct mix_object *o, char out[MIX_PATH_BYTES]);
/* The object a path names (a query is ignored); false when it names none. */
bool mix_path_parse(struct str path, struct mix_object *out);

/* Bytes [at, at + n) of the body of o. */
void mix_body_fill(const struct mix_object *o, uint64_t at, char *p, size_t n);
bool mix_body_matches(const struct mix_object *o, uint64_t at, const char *p, size_t n);

#endif
