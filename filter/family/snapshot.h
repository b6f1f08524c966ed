/* snapshot.h - the envelope around every saved filter: it is whole, ours and undamaged, or refused.
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
 * A filter of several parts is several envelopes, one behind the other.
 *
 * Nothing is allocated for a length that the source cannot hold: its limit
 * (the file's size) is counted down. A checksum is no signature: a program that can
 * write the file can wrap nonsense, so every kind checks its parameters too.
 *
 * Errors    writing: 0, or -1 when the sink failed. Loading: NULL or -1, and
 *           the source says why in its fault.
 */
#ifndef TWICE_SNAPSHOT_H
#define TWICE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWICE_SNAPSHOT_VERSION 1
#define TWICE_SNAPSHOT_PARAMS  8

/* Kinds are written to disk: append, never renumber. */
enum twice_snapshot_kind {
	TWICE_SNAPSHOT_BLOOM = 1,
	TWICE_SNAPSHOT_CELLS,
	TWICE_SNAPSHOT_COUNTING,
	TWICE_SNAPSHOT_CHAIN,
	TWICE_SNAPSHOT_STABLE,
	TWICE_SNAPSHOT_RETOUCHED,
	TWICE_SNAPSHOT_BLOOMIER,
	TWICE_SNAPSHOT_MEMORY,
	TWICE_SNAPSHOT_TWIN,
	TWICE_SNAPSHOT_PAIR,
	TWICE_SNAPSHOT_BLOCKED,
};

/* clang-format off */
#define TWICE_SNAPSHOT_FAULTS(X)                                                     \
	X(NONE,      "fine")                                               \
	X(CUT,       "it ends too early")                                  \
	X(FOREIGN,   "it is of another kind, version, seed or setting")   \
	X(DAMAGED,   "its checksum does not match")                        \
	X(ABSURD,    "its parameters are impossible")                      \
	X(NO_MEMORY, "there is not enough memory for it")
/* clang-format on */

enum twice_snapshot_fault {
#define X(name, sentence) TWICE_SNAPSHOT_##name,
	TWICE_SNAPSHOT_FAULTS(X)
#undef X
};

/* Takes all n bytes (0) or fails (-1). */
typedef int twice_snapshot_write_fn(void *ctx, const void *bytes, size_t n);
/* Says how many it gave; fewer than n is the end. (Both as pair.h has them.) */
typedef size_t twice_snapshot_read_fn(void *ctx, void *bytes, size_t n);

struct twice_snapshot_sink {
	twice_snapshot_write_fn *write;
	void *ctx;
	uint64_t tag;
};

struct twice_snapshot_source {
	twice_snapshot_read_fn *read;
	void *ctx;
	uint64_t tag;			 /* another tag is foreign */
	uint64_t limit;			 /* bytes the source holds at most; counted down */
	enum twice_snapshot_fault fault; /* out: why the last load was refused, */
	const char *why;		 /* and in words */
};

struct twice_snapshot_head {
	uint64_t magic;
	uint32_t version, kind;
	uint64_t tag, payload_bytes;
	uint64_t params[TWICE_SNAPSHOT_PARAMS];
	uint64_t checksum;
};

/* One whole envelope. params has TWICE_SNAPSHOT_PARAMS numbers; payload may be NULL when bytes is
 * 0. */
int twice_snapshot_write(const struct twice_snapshot_sink *to, enum twice_snapshot_kind kind,
			 const uint64_t params[], const void *payload, uint64_t bytes);

/* A whole envelope without payload, as heads of filters of several parts are: its params. */
int twice_snapshot_read(struct twice_snapshot_source *from, enum twice_snapshot_kind kind,
			uint64_t params[]);

/* Reads a head of this kind, checked; its payload fits the source's limit. */
int twice_snapshot_open(struct twice_snapshot_source *from, enum twice_snapshot_kind kind,
			struct twice_snapshot_head *head);

/* Reads the head's payload into as many bytes of room, and holds it against its checksum. */
int twice_snapshot_take(struct twice_snapshot_source *from, const struct twice_snapshot_head *head,
			void *payload);

/* Notes why a load is refused. Returns -1, to be returned in turn. */
int twice_snapshot_refuse(struct twice_snapshot_source *from, enum twice_snapshot_fault fault);

/* Zeroed memory for the filter that a load is about to make; NULL is already refused. */
void *twice_snapshot_room(struct twice_snapshot_source *from, size_t bytes);

/* A sentence for people. */
const char *twice_snapshot_word(enum twice_snapshot_fault fault);

/* A double travels in a parameter as its bits. */
uint64_t twice_snapshot_from_double(double x);
double twice_snapshot_to_double(uint64_t bits);

/* Memory as sink and source: room for size bytes, used of them written or read. */
struct twice_snapshot_buffer {
	unsigned char *bytes; /* borrowed */
	size_t size, used;
};
twice_snapshot_write_fn twice_snapshot_buffer_write;
twice_snapshot_read_fn twice_snapshot_buffer_read;

#ifdef __cplusplus
}
#endif

#endif
