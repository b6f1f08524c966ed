/* measures.h - the histograms of a worker, and what it asked of each origin; summed when somebody
 * asks.
 *
 * Threads   as histogram.h and metrics.h: one writer, any reader.
 */
#ifndef BASE_MEASURES_H
#define BASE_MEASURES_H

#include "proxy/base/histogram.h"

enum measure {
#define MEASURE(id, group, key, family, label, per_one, help) MEASURE_##id,
#include "proxy/base/measures_list.h"
#undef MEASURE
	MEASURE_COUNT
};

/* Answers by class of status: 1xx to 5xx; 0: none of these. */
enum { MEASURES_CLASSES = 6 };

static inline unsigned
measures_class(int status)
{
	return status >= 100 && status < 600 ? (unsigned)status / 100 : 0;
}

struct origin_measures { /* what one worker asked of one origin */
	_Alignas(64) _Atomic uint64_t requests, errors, answers[MEASURES_CLASSES];
	struct histogram wait_us; /* from the question to the head of the answer */
};

/* One worker answered this for the routes of one name. */
enum { MEASURES_ROUTES = 128 };
struct route_measures {
	_Alignas(64) _Atomic uint64_t requests, hits, bytes, answers[MEASURES_CLASSES];
	struct histogram first_byte_us;
};

struct measures {
	_Alignas(64) struct histogram of[MEASURE_COUNT];
	struct origin_measures *origins;  /* by number; owned */
	struct origin_measures *siblings; /* nodes of the fleet, one row for all; behind those */
	struct route_measures *routes;	  /* the same */
	void *memory, *route_memory;	  /* in which they lie */
};

void measures_init(struct measures *m, unsigned origins);
/* An origin has this number from now on. The writer's thread. */
void measures_forget_origin(struct measures *m, unsigned number);
/* A name of routes has this number from now on. The same. */
void measures_forget_route(struct measures *m, unsigned number);
void measures_fini(struct measures *m);

struct measures_row {
	const char *group, *key, *family, *label, *help;
	double per_one;
};

/* The rows of measures_list.h, in order of enum measure. */
extern const struct measures_row measures_rows[MEASURE_COUNT];

#endif
