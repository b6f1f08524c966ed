#include "filter/family/seal.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MAGIC	   UINT64_C(0x6c69667465636977) /* "wicetfil", read as a number */
#define HEAD_BYTES offsetof(struct seal_head, checksum)

_Static_assert(sizeof(struct seal_head) == 104, "the head is written as it lies in memory");

static uint64_t
checksum_of(const struct seal_head *head, const void *payload)
{
	/* The head's own checksum is the seed: a payload cannot move under another head. */
	return XXH3_64bits_withSeed(payload, (size_t)head->payload_bytes, head->checksum);
}

int
seal_write(const struct seal_sink *to, enum seal_kind kind, const uint64_t params[],
	   const void *payload, uint64_t bytes)
{
	struct seal_head head = {.magic = MAGIC,
				 .version = SEAL_VERSION,
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
seal_refuse(struct seal_source *from, enum seal_fault fault)
{
	from->fault = fault;
	from->why = seal_word(fault);
	return -1;
}

static int
read_some(struct seal_source *from, void *bytes, uint64_t n)
{
	if (n > from->limit || from->read(from->ctx, bytes, (size_t)n) < n)
		return seal_refuse(from, SEAL_CUT);
	from->limit -= n;
	return 0;
}

int
seal_open(struct seal_source *from, enum seal_kind kind, struct seal_head *head)
{
	from->fault = SEAL_NONE;
	from->why = NULL;
	if (read_some(from, head, sizeof(*head)))
		return -1;
	if (head->magic != MAGIC || head->version != SEAL_VERSION || head->kind != kind)
		return seal_refuse(from, SEAL_FOREIGN);
	if (head->checksum != XXH3_64bits(head, HEAD_BYTES))
		return seal_refuse(from, SEAL_DAMAGED);
	if (head->tag != from->tag)
		return seal_refuse(from, SEAL_FOREIGN);
	if (head->payload_bytes > from->limit)
		return seal_refuse(from, SEAL_CUT);
	return 0;
}

int
seal_take(struct seal_source *from, const struct seal_head *head, void *payload)
{
	uint64_t sum;
	if (head->payload_bytes && read_some(from, payload, head->payload_bytes))
		return -1;
	if (read_some(from, &sum, sizeof(sum)))
		return -1;
	if (sum != checksum_of(head, payload))
		return seal_refuse(from, SEAL_DAMAGED);
	return 0;
}

int
seal_read(struct seal_source *from, enum seal_kind kind, uint64_t params[])
{
	struct seal_head head;
	if (seal_open(from, kind, &head))
		return -1;
	if (head.payload_bytes)
		return seal_refuse(from, SEAL_ABSURD);
	memcpy(params, head.params, sizeof(head.params));
	return seal_take(from, &head, NULL);
}

void *
seal_room(struct seal_source *from, size_t bytes)
{
	void *room = calloc(1, bytes);
	if (!room)
		seal_refuse(from, SEAL_NO_MEMORY);
	return room;
}

const char *
seal_word(enum seal_fault fault)
{
	static const char *const words[] = {
#define X(name, sentence) [SEAL_##name] = sentence,
		SEAL_FAULTS(X)
#undef X
	};
	return fault <= SEAL_NO_MEMORY ? words[fault] : "unknown";
}

uint64_t
seal_from_double(double x)
{
	uint64_t bits;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

double
seal_to_double(uint64_t bits)
{
	double x;
	memcpy(&x, &bits, sizeof(x));
	return x;
}

int
seal_buffer_write(void *ctx, const void *bytes, size_t n)
{
	struct seal_buffer *b = ctx;
	if (n > b->size - b->used)
		return -1;
	memcpy(b->bytes + b->used, bytes, n);
	b->used += n;
	return 0;
}

size_t
seal_buffer_read(void *ctx, void *bytes, size_t n)
{
	struct seal_buffer *b = ctx;
	size_t left = b->size - b->used;
	n = n < left ? n : left;
	memcpy(bytes, b->bytes + b->used, n);
	b->used += n;
	return n;
}
