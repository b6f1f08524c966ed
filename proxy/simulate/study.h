/* study.h - the whole of it: logs, policies and sizes in; what each policy would have done out.
 *
 * Logs that can be read twice are gone through twice: first to learn how many bytes there are and
 * what is asked for again, then with all policies at once. Standard input is gone through once.
 */
#ifndef SIMULATE_STUDY_H
#define SIMULATE_STUDY_H

#include "proxy/simulate/merge.h"
#include "proxy/simulate/policy.h"
#include "proxy/simulate/screen.h"

#include <stdatomic.h>

/* The least disk of the proxy, as in the configuration; a smaller share of a log is taken as this. */
enum { STUDY_LEAST_DISK = 8 << 20 };

enum { STUDY_DISKS_MOST = 16, STUDY_POLICIES_MOST = 64, STUDY_ROWS_MOST = 256 };

struct study_progress {
	unsigned pass, passes;
	double share; /* of this pass; below 0: not known */
	uint64_t lines;
	double seconds; /* since the pass began */
};
typedef void study_tell_fn(void *ctx, const struct study_progress *now);

struct study_options {
	const char *logs[MERGE_MOST]; /* "-": standard input */
	unsigned logs_n;
	struct source_options source;
	struct screen_options screen;
	/* Rooms of units.h: bytes, or a share: of the log's distinct bytes; of the disk. */
	uint64_t disks[STUDY_DISKS_MOST], memory;
	unsigned disks_n;
	const char *policies[STUDY_POLICIES_MOST]; /* of the first disk */
	const char *curves[STUDY_POLICIES_MOST];   /* of each other disk too */
	unsigned policies_n, curves_n;
	struct policy_spec base;
	uint64_t use_bytes;  /* of memory, for tables; 0: chosen */
	unsigned halvings;   /* of the sample, to begin with */
	bool never_samples;  /* tables grow instead */
	uint64_t tbw;	     /* for the advice: advice.h */
	unsigned threads;    /* 0: one per core */
	study_tell_fn *tell; /* some times a second */
	void *ctx;
	/* How often somebody wanted it to end. Once ends a pass, and the second one sees only what
	 * the first one saw. */
	const atomic_uint *stop;
};

struct study_row {
	struct policy_spec spec;
	struct policy_facts facts;
	struct sights_facts sights;
	unsigned disk; /* which of the options' */
};

struct study {
	struct study_row *rows; /* owned */
	unsigned rows_n;
	struct source_facts logs[MERGE_MOST];
	unsigned logs_n;
	struct screen_facts screen;
	struct catalogue_facts log;
	unsigned passes;
	bool stopped;	/* before the log's end */
	uint32_t run_s; /* time in the log that the policies have run over */
	uint64_t lines;
	double seconds, memory_bytes;
};

/* How often logs like these can be gone through: 2; 1: one of them is no file. */
unsigned study_passes(const struct study_options *o);
/* 0; or -1 and a sentence. */
int study_run(struct study *out, const struct study_options *o, char *err, size_t err_bytes);
void study_fini(struct study *s);

/* Whether a log of it tells URLs: others are traces of numbers. */
bool study_has_urls(const struct study *s);
/* The row that a row is compared with: all is admitted, at the same disk. NULL: none was run. */
const struct study_row *study_baseline(const struct study *s, const struct study_row *row);

#endif
