/* sample_origin.h - an origin for the demo and the benches: any object of mix.h, made as it is
 * sent.
 *
 * GET and HEAD over HTTP/1.1 and 1.0 with keep-alive; Content-Length, Cache-Control: max-age,
 * ETag, Last-Modified; conditional requests; single ranges. No files: an object is its URL.
 *
 * Threads   its own; the functions here from any one thread, the counts from any.
 */
#ifndef CLI_SAMPLE_ORIGIN_H
#define CLI_SAMPLE_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

struct sample_origin;

struct sample_origin_options {
	unsigned port;	  /* of 127.0.0.1; 0: a free one */
	unsigned threads; /* 0: 1 */
	unsigned max_age_s;
};

/* 0, or -1 and a sentence. */
int sample_origin_start(struct sample_origin **out, const struct sample_origin_options *o,
			char *err, size_t err_bytes);
void sample_origin_stop(struct sample_origin **o);
unsigned sample_origin_port(const struct sample_origin *o);

struct sample_origin_counts {
	uint64_t requests, body_bytes, connections;
};
void sample_origin_counts(const struct sample_origin *o, struct sample_origin_counts *out);

#endif
