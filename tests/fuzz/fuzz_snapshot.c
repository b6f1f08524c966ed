/* fuzz_snapshot.c - bytes that somebody else wrote, restored as every kind of filter.
 * rooms: filter
 *
 * The first byte chooses the kind and whether the rest is taken as it is, or
 * as the inside of seals that are made here: with checksums that are right,
 * what is tested is whether each kind believes impossible parameters.
 *
 * A restored filter is used: asked, added to and saved again.
 */
#include <stdlib.h>
#include <string.h>

#include "filter/family/bloom.h"
#include "filter/family/bloomier.h"
#include "filter/family/cells.h"
#include "filter/family/chain.h"
#include "filter/family/counting.h"
#include "filter/family/filter.h"
#include "filter/mix.h"
#include "filter/family/retouched.h"
#include "filter/family/stable.h"

#define ROOM	 (1u << 20)
#define KEYS	 64
#define SEALED	 0x80 /* of the first byte: make the seals */
#define IN_SEALS 100  /* of a record: kind, payload length, parameters */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);
const char *__asan_default_options(void);

/* A filter may ask for more than there is, and is told so. */
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static unsigned char room[ROOM];

static const struct twice_seed seed;

static struct twice_snapshot_sink
sink_to(struct twice_snapshot_buffer *b)
{
	*b = (struct twice_snapshot_buffer){.bytes = room, .size = ROOM};
	return (struct twice_snapshot_sink){twice_snapshot_buffer_write, b,
					    twice_seed_fingerprint(&seed)};
}

static struct twice_key_hash
key(uint64_t i)
{
	return (struct twice_key_hash){mix_bits(i), mix_bits(i + KEYS)};
}

/* Restores a filter of this kind and, when it is one, does all of this with it. */
#define TRY(kind, each)                                             \
	static void try_##kind(struct twice_snapshot_source *from)  \
	{                                                           \
		struct twice_snapshot_buffer b;                     \
		struct twice_snapshot_sink to = sink_to(&b);        \
		struct twice_##kind *f = twice_##kind##_load(from); \
		for (uint64_t i = 0; f && i < KEYS; i++) {          \
			struct twice_key_hash h = key(i);           \
			each;                                       \
		}                                                   \
		if (!f)                                             \
			return;                                     \
		(void)twice_##kind##_memory(f);                     \
		(void)twice_##kind##_count(f);                      \
		(void)twice_##kind##_save(f, &to);                  \
		twice_##kind##_destroy(&f);                         \
	}

/* clang-format off */
TRY(bloom,     twice_bloom_add(f, h); if (!twice_bloom_has(f, h)) abort())
TRY(cells,     if (twice_cells_add(f, h) >= 0 && !twice_cells_has(f, h)) abort())
TRY(counting,  twice_counting_add(f, h); if (!twice_counting_has(f, h)) abort(); twice_counting_remove(f, h))
TRY(chain,     twice_chain_add(f, h); if (!twice_chain_has(f, h)) abort())
TRY(stable,    twice_stable_add(f, h); if (!twice_stable_has(f, h)) abort())
TRY(retouched, twice_retouched_add(f, h); twice_retouched_clear(f, h, (enum twice_retouched_rule)(i % 4)))
TRY(bloomier,  uint32_t v; twice_bloomier_get(f, h, &v))
/* clang-format on */

static void
try_memory(struct twice_snapshot_source *from, enum twice_filter_kind kind, unsigned sightings)
{
	struct twice_filter *m = NULL;
	struct twice_filter_options told, o = {.kind = kind,
					       .sightings = sightings,
					       .capacity = 100,
					       .false_positives = 0.01,
					       .seed = 1};
	struct twice_snapshot_buffer *b = from->ctx;
	/* A head tells options that are possible, and those of what can be loaded. */
	bool tells = b->size - b->used >= TWICE_FILTER_HEAD &&
		     twice_filter_saved_options(b->bytes + b->used, &seed, &told);
	if (tells && twice_filter_may(&told))
		abort();
	if (twice_filter_load(&m, &o, &(struct twice_filter_place){&seed, 0}, *from))
		return;
	if (!tells || told.kind != twice_filter_kind_for(&o) || told.capacity != o.capacity)
		abort();
	for (uint64_t i = 0; i < KEYS; i++)
		twice_filter_record(m, key(i));
	twice_filter_tick(m, 1);
	twice_filter_destroy(&m);
}

static void
try(unsigned kind, struct twice_snapshot_source *from)
{
	switch (kind % 11) {
	case 0:
		try_bloom(from);
		break;
	case 1:
		try_cells(from);
		break;
	case 2:
		try_counting(from);
		break;
	case 3:
		try_chain(from);
		break;
	case 4:
		try_stable(from);
		break;
	case 5:
		try_retouched(from);
		break;
	case 6:
		try_bloomier(from);
		break;
	default:
		try_memory(from, (enum twice_filter_kind)(kind % 11 - 7), 2 + kind / 11 % 2);
	}
}

/* Records of the input, each made a seal; says how many bytes they are. */
static size_t
make_seals(const unsigned char *data, size_t n)
{
	struct twice_snapshot_buffer b;
	struct twice_snapshot_sink to = sink_to(&b);
	while (n >= IN_SEALS) {
		uint64_t params[TWICE_SNAPSHOT_PARAMS], words[512];
		size_t bytes = (size_t)(data[1] | (data[2] & 3) << 8) * sizeof(*words);
		memcpy(params, data + 3, sizeof(params));
		n -= IN_SEALS;
		bytes = bytes < sizeof(words) ? bytes : sizeof(words);
		bytes = bytes < n ? bytes : n;
		memcpy(words, data + IN_SEALS, bytes);
		if (twice_snapshot_write(&to, (enum twice_snapshot_kind)(data[0] % 16), params,
					 words, bytes))
			break;
		data += IN_SEALS + bytes;
		n -= bytes;
	}
	return b.used;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	if (n < 1 || n > ROOM)
		return 0;
	struct twice_snapshot_buffer b = {.bytes = malloc(ROOM)};
	b.size = data[0] & SEALED ? make_seals(data + 1, n - 1) : n - 1;
	memcpy(b.bytes, data[0] & SEALED ? room : data + 1, b.size);
	struct twice_snapshot_source from = {.read = twice_snapshot_buffer_read,
					     .ctx = &b,
					     .tag = twice_seed_fingerprint(&seed),
					     .limit = b.size};
	try(data[0] & 0x7f, &from);
	free(b.bytes);
	return 0;
}
