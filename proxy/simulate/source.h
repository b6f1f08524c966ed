/* source.h - one log as a series of entries: unpacked, its format found, cut into lines.
 *
 * Memory    an entry's views hold until the next call.
 * Errors    bad lines are counted, and the first are known by their number; a log of which most
 *           lines are bad is none.
 */
#ifndef SIMULATE_SOURCE_H
#define SIMULATE_SOURCE_H

#include "proxy/simulate/parse.h"

#include <stdatomic.h>

struct source;

enum { SOURCE_BAD_SHOWN = 5, SOURCE_LINE_BYTES = 1 << 20 };

struct source_options {
	enum format format; /* FORMAT_AUTO: found by looking */
	struct roles_own *own;
	const atomic_uint *stop; /* input.h */
};

struct source_facts {
	const char *name, *packing;
	enum format format;
	uint64_t lines, entries, bad_lines;
	uint64_t late_lines; /* that are older than one before them */
	int64_t latest_us;   /* by how much at most */
	uint64_t bad_numbers[SOURCE_BAD_SHOWN];
	bool host_is_client, host_is_doubtful;
};

/* NULL and a sentence. name is borrowed. */
struct source *
source_open(const char *name, const struct source_options *o, char *err, size_t err_bytes);
void source_close(struct source **s);

enum source_step { SOURCE_ENTRY, SOURCE_END, SOURCE_FAILED };
/* FAILED: it cannot be read on, or most of it is bad; source_trouble says it. */
enum source_step source_next(struct source *s, struct entry *out);
const char *source_trouble(const struct source *s);
void source_facts(const struct source *s, struct source_facts *out);
/* Packed bytes, for a bar; size 0: not known. Any thread. */
uint64_t source_taken(const struct source *s);
uint64_t source_size(const struct source *s);

#endif
