/* seal.h - the envelope every saved filter travels in: whole, ours, undamaged, or refused.
 *
 * Layout. Numbers are as this machine writes them; a machine of the other
 * byte order finds a magic that is not its own and refuses.
 *
 *	  0  8  magic
 *	  8  4  version
 *	 12  4  kind: which filter
 *	 16  8  tag: the caller's mark of the seed that hashed the keys
 *	 24  8  payload bytes
 *	 32 64  eight parameters; the kind says what they mean
 *	 96  8  XXH3-64 of the 96 bytes before
 *	104  n  payload
 *	  +  8  XXH3-64 of head and payload
 *
 * A filter of several parts is several seals, one behind the other.
 *
 * Nothing is allocated for a length that the source cannot hold: its limit
 * (the file's size) is counted down. A checksum is no signature: who can
 * write the file can seal nonsense, so every kind checks its parameters too.
 *
 * Errors    writing: 0, or -1 when the sink failed. Loading: NULL or -1, and
 *           the source says why in its fault.
 */
#ifndef FILTER_SEAL_H
#define FILTER_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEAL_VERSION 1
#define SEAL_PARAMS  8

/* Kinds are written to disk: append, never renumber. */
enum seal_kind {
	SEAL_BLOOM = 1,
	SEAL_CELLS,
	SEAL_COUNTING,
	SEAL_CHAIN,
	SEAL_STABLE,
	SEAL_RETOUCHED,
	SEAL_BLOOMIER,
	SEAL_MEMORY,
	SEAL_TWIN,
	SEAL_PAIR,
	SEAL_BLOCKED,
};

/* clang-format off */
#define SEAL_FAULTS(X)                                                     \
	X(NONE,      "fine")                                               \
	X(CUT,       "it ends too early")                                  \
	X(FOREIGN,   "it is of another kind, version, seed or setting")   \
	X(DAMAGED,   "its checksum does not match")                        \
	X(ABSURD,    "its parameters are impossible")                      \
	X(NO_MEMORY, "there is not enough memory for it")
/* clang-format on */

enum seal_fault {
#define X(name, sentence) SEAL_##name,
	SEAL_FAULTS(X)
#undef X
};

/* Takes all n bytes (0) or fails (-1). */
typedef int seal_write_fn(void *ctx, const void *bytes, size_t n);
/* Says how many it gave; fewer than n is the end. (Both as pair.h has them.) */
typedef size_t seal_read_fn(void *ctx, void *bytes, size_t n);

struct seal_sink {
	seal_write_fn *write;
	void *ctx;
	uint64_t tag;
};

struct seal_source {
	seal_read_fn *read;
	void *ctx;
	uint64_t tag;	       /* another tag is foreign */
	uint64_t limit;	       /* bytes the source holds at most; counted down */
	enum seal_fault fault; /* out: why the last load was refused, */
	const char *why;       /* and in words */
};

struct seal_head {
	uint64_t magic;
	uint32_t version, kind;
	uint64_t tag, payload_bytes;
	uint64_t params[SEAL_PARAMS];
	uint64_t checksum;
};

/* One whole seal. params has SEAL_PARAMS numbers; payload may be NULL when bytes is 0. */
int seal_write(const struct seal_sink *to, enum seal_kind kind, const uint64_t params[],
	       const void *payload, uint64_t bytes);

/* A whole seal without payload, as heads of filters of several parts are: its params. */
int seal_read(struct seal_source *from, enum seal_kind kind, uint64_t params[]);

/* Reads a head of this kind, checked; its payload fits the source's limit. */
int seal_open(struct seal_source *from, enum seal_kind kind, struct seal_head *head);

/* Reads the head's payload into as many bytes of room, and holds it against its checksum. */
int seal_take(struct seal_source *from, const struct seal_head *head, void *payload);

/* Notes why a load is refused. Returns -1, to be returned in turn. */
int seal_refuse(struct seal_source *from, enum seal_fault fault);

/* Zeroed memory for the filter that a load is about to make; NULL is already refused. */
void *seal_room(struct seal_source *from, size_t bytes);

/* A sentence for people. */
const char *seal_word(enum seal_fault fault);

/* A double travels in a parameter as its bits. */
uint64_t seal_from_double(double x);
double seal_to_double(uint64_t bits);

/* Memory as sink and source: room for size bytes, used of them written or read. */
struct seal_buffer {
	unsigned char *bytes; /* borrowed */
	size_t size, used;
};
seal_write_fn seal_buffer_write;
seal_read_fn seal_buffer_read;

#endif
