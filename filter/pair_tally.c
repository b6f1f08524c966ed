/* pair_tally.c - how many keys a pair holds. They are counted where they are added, in stripes that
 * threads do not share.
 */
#include "filter/pair_inner.h"

struct twice_pair_count
twice_pair_counted(const struct twice_pair *p, unsigned half)
{
	struct twice_pair_count sum = {0};

	for (unsigned i = 0; i < STRIPES; i++) {
		sum.keys += atomic_load(&p->stripe[i].keys[half]);
		sum.recurring += atomic_load(&p->stripe[i].recurring[half]);
	}
	/* One may be counted between the two loads; every recurring key is a key. */
	if (sum.recurring > sum.keys)
		sum.recurring = sum.keys;
	return sum;
}

void
twice_pair_expect(struct twice_pair *p, unsigned half, struct twice_pair_count have)
{
	for (unsigned i = 0; i < STRIPES; i++) {
		struct stripe *s = &p->stripe[i];

		atomic_store(&s->keys[half], i ? 0 : have.keys);
		atomic_store(&s->recurring[half], i ? 0 : have.recurring);
		atomic_store(&s->look_at[half], i ? 1 : have.keys + 1);
	}
}
