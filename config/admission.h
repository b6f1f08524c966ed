/* admission.h - settings of `admission`: what is written to disk, and what remembers sightings.
 *
 * Units     bytes or seconds as the names say.
 */
#ifndef CONFIG_ADMISSION_H
#define CONFIG_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

enum config_filter {
	CONFIG_FILTER_PAIR,
	CONFIG_FILTER_COUNTING,
	CONFIG_FILTER_STABLE,
	CONFIG_FILTER_SCALABLE
};

enum { CONFIG_SIGHTINGS_CHOSEN_MOST = 3 };

/* A setting of the top: what is packed before it is written. */
struct config_compress {
	char **types; /* patterns of media types; "default"; "none" */
	unsigned type_count;
	double cpu;  /* of one core, 0..1 */
	bool stream; /* coded on its way, too */
};

struct config_admission {
	enum config_filter filter;
	unsigned sightings; /* 0: two, or three of large bodies, as is chosen while it runs */
	uint64_t capacity;
	double false_positives;	 /* 0..1 */
	uint64_t rotate_after_s; /* 0: a tenth of a turn of the log */
	uint64_t turn_alarm_s;	 /* 0: none */
	double fill_until;	 /* 0..1 */
	uint64_t address_bytes;	 /* in an hour, of what one address alone asks for; 0: no bound */
	struct config_compress compress;
	uint64_t write_budget; /* as units_parse_rate says it; 0: none: see config_budget */
};

#endif
