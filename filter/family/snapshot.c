#include "filter/family/snapshot.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAGIC	   UINT64_C(0x6c69667465636977) /* "wicetfil", read as a number */
#define HEAD_BYTES offsetof(struct twice_snapshot_head, checksum)

_Static_assert(sizeof(struct twice_snapshot_head) == 104,
	       "the head is written as it lies in memory");

static uint64_t
checksum_of(const struct twice_snapshot_head *head, const void *payload)
{
	/* The head's own checksum is the seed: a payload cannot move under another head. */
	return XXH3_64bits_withSeed(payload, (size_t)head->payload_bytes, head->checksum);
}

int
twice_snapshot_write(const struct twice_snapshot_sink *to, enum twice_snapshot_kind kind,
		     const uint64_t params[], const void *payload, uint64_t bytes)
{
	struct twice_snapshot_head head = {.magic = MAGIC,
					   .version = TWICE_SNAPSHOT_VERSION,
					   .kind = kind,
					   .tag = to->tag,
					   .payload_bytes = bytes};
	memcpy(head.params, params, sizeof(head.params));
	head.checksum = XXH3_64bits(&head, HEAD_BYTES);
	uint64_t sum = checksum_of(&head, payload);
	if (to->write(to->ctx, &head, sizeof(head)) ||
	    (bytes && to->write(to->ctx, payload, (size_t)bytes)))
		return -1;
	return to->write(to->ctx, &sum, sizeof(sum));
}

int
twice_snapshot_refuse(struct twice_snapshot_source *from, enum twice_snapshot_fault fault)
{
	from->fault = fault;
	from->why = twice_snapshot_word(fault);
	return -1;
}

static int
read_some(struct twice_snapshot_source *from, void *bytes, uint64_t n)
{
	if (n > from->limit || from->read(from->ctx, bytes, (size_t)n) < n)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_CUT);
	from->limit -= n;
	return 0;
}

int
twice_snapshot_open(struct twice_snapshot_source *from, enum twice_snapshot_kind kind,
		    struct twice_snapshot_head *head)
{
	from->fault = TWICE_SNAPSHOT_NONE;
	from->why = NULL;
	if (read_some(from, head, sizeof(*head)))
		return -1;
	if (head->magic != MAGIC || head->version != TWICE_SNAPSHOT_VERSION || head->kind != kind)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_FOREIGN);
	if (head->checksum != XXH3_64bits(head, HEAD_BYTES))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_DAMAGED);
	if (head->tag != from->tag)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_FOREIGN);
	if (head->payload_bytes > from->limit)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_CUT);
	return 0;
}

int
twice_snapshot_take(struct twice_snapshot_source *from, const struct twice_snapshot_head *head,
		    void *payload)
{
	uint64_t sum;
	if (head->payload_bytes && read_some(from, payload, head->payload_bytes))
		return -1;
	if (read_some(from, &sum, sizeof(sum)))
		return -1;
	if (sum != checksum_of(head, payload))
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_DAMAGED);
	return 0;
}

int
twice_snapshot_read(struct twice_snapshot_source *from, enum twice_snapshot_kind kind,
		    uint64_t params[])
{
	struct twice_snapshot_head head;
	if (twice_snapshot_open(from, kind, &head))
		return -1;
	if (head.payload_bytes)
		return twice_snapshot_refuse(from, TWICE_SNAPSHOT_ABSURD);
	memcpy(params, head.params, sizeof(head.params));
	return twice_snapshot_take(from, &head, NULL);
}

void *
twice_snapshot_room(struct twice_snapshot_source *from, size_t bytes)
{
	void *room = calloc(1, bytes);
	if (!room)
		twice_snapshot_refuse(from, TWICE_SNAPSHOT_NO_MEMORY);
	return room;
}

const char *
twice_snapshot_word(enum twice_snapshot_fault fault)
{
	static const char *const words[] = {
#define X(name, sentence) [TWICE_SNAPSHOT_##name] = sentence,
		TWICE_SNAPSHOT_FAULTS(X)
#undef X
	};
	return fault <= TWICE_SNAPSHOT_NO_MEMORY ? words[fault] : "unknown";
}

uint64_t
twice_snapshot_from_double(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

double
twice_snapshot_to_double(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

int
twice_snapshot_buffer_write(void *ctx, const void *bytes, size_t n)
{
	struct twice_snapshot_buffer *b = ctx;
	if (n > b->size - b->used)
		return -1;
	memcpy(b->bytes + b->used, bytes, n);
	b->used += n;
	return 0;
}

size_t
twice_snapshot_buffer_read(void *ctx, void *bytes, size_t n)
{
	struct twice_snapshot_buffer *b = ctx;
	size_t left = b->size - b->used;
	n = n < left ? n : left;
	memcpy(bytes, b->bytes + b->used, n);
	b->used += n;
	return n;
}
