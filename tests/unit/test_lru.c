/* test_lru.c - the plain cache against ten lines that search a list.
 * rooms: simulate cache coding http base filter
 */
#include "proxy/simulate/lru.h"
#include "tests/kit/unit.h"

#include <string.h>

enum { KEYS = 400, REQUESTS = 200000, LIMIT = 60000 };

static uint64_t
key(uint64_t i)
{
	i = (i + 1) * 0x9e3779b97f4a7c15u;
	i = (i ^ i >> 31) * 0xd6e8feb86659fd93u;
	return i ^ i >> 32;
}

/* The model: newest first. */
struct model {
	struct {
		uint64_t key, bytes;
	} list[KEYS];
	unsigned n;
	uint64_t used;
};

static bool
model_hits(struct model *m, uint64_t k, uint64_t bytes)
{
	unsigned i = 0;
	while (i < m->n && m->list[i].key != k)
		i++;
	bool hit = i < m->n;
	if (hit)
		bytes = m->list[i].bytes;
	else
		for (m->used += bytes; m->used > LIMIT;)
			m->used -= m->list[--m->n].bytes;
	if (!hit)
		i = m->n++;
	memmove(m->list + 1, m->list, i * sizeof *m->list);
	m->list[0].key = k;
	m->list[0].bytes = bytes;
	return hit;
}

START_TEST(it_does_as_the_model_does)
{
	struct model m = {0};
	struct lru *l = lru_create(LIMIT, 1 << 16);
	uint64_t x = 1, written = 0, should = 0;
	for (unsigned i = 0; i < REQUESTS; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 61) ? KEYS : 20), bytes = 100 + url * 7 % 900;
		struct ghost_event e = {
			.key = key(url), .body_bytes = bytes, .fresh_s = UINT32_MAX, .whole = true};
		struct ghost_did did = lru_see(l, &e);
		bool hit = model_hits(&m, e.key, bytes);
		ck_assert_int_eq(did.answer, hit ? GHOST_FROM_DISK : GHOST_MISSED);
		written += did.written_bytes;
		should += hit ? 0 : bytes;
	}
	ck_assert_uint_eq(written, should);
	lru_destroy(&l);
	ck_assert_ptr_null(l);
}
END_TEST

START_TEST(a_sample_tells_of_the_whole)
{
	enum { MANY = 60000, ROWS = 4096 };
	struct lru *all = lru_create(20 << 20, 1 << 20), *some = lru_create(20 << 20, ROWS);
	uint64_t x = 1, a = 0, b = 0;
	for (unsigned i = 0; i < REQUESTS * 2; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		uint64_t url = (x >> 33) % ((x >> 60) ? MANY : 3000);
		struct ghost_event e = {
			.key = key(url), .body_bytes = 1000, .fresh_s = UINT32_MAX, .whole = true};
		a += lru_see(all, &e).written_bytes;
		b += lru_see(some, &e).written_bytes;
	}
	ck_assert_double_lt(lru_share(some), 0.5);
	ck_assert_double_eq_tol((double)b, (double)a, 0.03 * (double)a);
	lru_destroy(&all);
	lru_destroy(&some);
}
END_TEST

static struct ghost_did
ask(struct lru *l, uint64_t url, uint32_t now_s, uint32_t validator, bool refused)
{
	return lru_see(l, &(struct ghost_event){.key = key(url),
						.body_bytes = 100,
						.now_s = now_s,
						.fresh_s = 10,
						.validator = validator,
						.whole = true,
						.refused = refused});
}

START_TEST(what_expired_is_validated_or_fetched)
{
	struct lru *l = lru_create(LIMIT, 1024);
	ck_assert_int_eq(ask(l, 1, 0, 7, false).answer, GHOST_MISSED);
	ck_assert_int_eq(ask(l, 1, 9, 7, false).answer, GHOST_FROM_DISK);
	ck_assert_int_eq(ask(l, 1, 10, 7, false).answer, GHOST_VALIDATED);
	ck_assert_int_eq(ask(l, 1, 19, 7, false).answer, GHOST_FROM_DISK);
	ck_assert_int_eq(ask(l, 1, 20, 8, false).answer, GHOST_MISSED);
	ck_assert_int_eq(ask(l, 2, 0, 0, true).answer, GHOST_MISSED);
	ck_assert_int_eq(ask(l, 2, 1, 0, false).answer, GHOST_MISSED);
	ck_assert_int_eq(ask(l, 2, 2, 0, true).answer, GHOST_FROM_DISK);
	lru_forget(l, key(2));
	struct ghost_did did = ask(l, 2, 3, 0, true);
	ck_assert(did.answer == GHOST_MISSED && !did.wrote && !did.written_bytes);
	lru_destroy(&l);
}
END_TEST

UNIT("lru", TEST(it_does_as_the_model_does), TEST(a_sample_tells_of_the_whole),
     TEST(what_expired_is_validated_or_fetched))
