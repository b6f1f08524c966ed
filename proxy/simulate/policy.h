/* policy.h - one cache that is simulated: a rule of admission, a disk and a memory of certain
 * sizes, and the counts of what it did.
 *
 * Text      what decides, then settings, joined by "+": "all", "2", "3+capacity=1M", "auto", "bound".
 *           "bound" is no cache: it says what none of this size exceeds (limit.h), in hits and in
 *           bytes, and nothing of writes.
 */
#ifndef SIMULATE_POLICY_H
#define SIMULATE_POLICY_H

#include "proxy/cache/admission/choice.h"
#include "proxy/simulate/catalogue.h"
#include "proxy/simulate/sights.h"

enum { POLICY_TEXT_BYTES = 96, POLICY_PARTS = 32 };

struct policy_spec {
	char text[POLICY_TEXT_BYTES];
	bool bound;		  /* limit.h */
	unsigned sightings;	  /* 1: all */
	unsigned large_sightings; /* of bodies over 64 KiB; 0: as of others */
	bool chooses;		  /* three of large bodies, or not: choosing.h */
	struct sights_options sights;
	uint64_t max_object_bytes; /* 0: what fits */
	uint64_t exp_bytes;	 /* admitted with probability exp(-size / this); 0: no such rule */
	uint64_t budget_bytes_s; /* 0: none */
	unsigned budget_saved_s; /* cache/admission/budget.h */
	uint64_t disk_bytes, memory_bytes;
	double urls; /* of the log; 0: not known */
	bool lru;
	bool packs_not; /* what is written: as an ordinary cache, and as without the proxy's `compress` */
	bool in_one_piece; /* large bodies too: as where origins have no ranges or no strong validators */
};

/* From text over *base, whose sizes and filter hold where the text names no others. -1 and a
 * sentence. */
int policy_parse(struct policy_spec *out, const struct policy_spec *base, const char *text,
		 char *err, size_t err_bytes);

struct policy;
/* sights: borrowed, of policy_spec.sights; by turns: nobody else's. */
struct policy *
policy_create(const struct policy_spec *o, struct sights *sights, uint32_t most_rows);
void policy_destroy(struct policy **p);
const struct sights *policy_sights(const struct policy *p);

/* sample: of the catalogue that tracks the visits. known: of its sights; not used, and the sights are asked
 * here, when they are by turns. */
void policy_run(struct policy *p, const struct visit *v, size_t n, struct catalogue_sample sample,
		const struct sights_known *known);

/* Scaled up from the sample; requests and bytes are all that were run. */
struct policy_facts {
	uint64_t requests, sent_bytes;
	double ram_hits, disk_hits, validated, fetched, passed;
	double missed;			      /* of requests: that needed the origin */
	double origin_requests, origin_bytes; /* of bodies; slices take several requests */
	double missed_sent_bytes;	      /* of answers that needed the origin */
	double written_bytes, written_objects;
	double packing_saved_bytes;  /* that written_bytes were more without it */
	double once_written_objects; /* ... that the log never asked for again; with two passes */
	double hit_ratio, byte_hit_ratio;
	/* One standard error of the sampling; 0: there was none. */
	double hit_ratio_error, written_error;
	double sample_share;
	uint64_t memory_bytes, entries;
	bool chooses;
	struct choice choice; /* in the end */
};
void policy_facts(const struct policy *p, struct policy_facts *out);

#endif
