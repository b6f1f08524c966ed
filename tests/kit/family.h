/* family.h - the words the filters' tests are written in: keys, rates, sealed bytes.
 *
 * Keys are numbers; a salt makes another set, so that a row of tests can use
 * several seeds and still be the same on every run.
 */
#ifndef KIT_FAMILY_H
#define KIT_FAMILY_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/hash.h"
#include "filter/mix.h"
#include "filter/family/snapshot.h"
#include "tests/kit/unit.h"

static inline struct twice_key_hash
key_at(uint64_t salt, uint64_t i)
{
	static struct twice_seed seed;
	static uint64_t salted = 0;
	if (salted != salt + 1) {
		uint64_t row = salt;
		for (size_t n = 0; n < sizeof(seed.secret); n++)
			seed.secret[n] = (unsigned char)mix_next(&row);
		salted = salt + 1;
	}
	char url[48];
	int n = snprintf(url, sizeof(url), "http://example.com/%llu", (unsigned long long)i);
	return twice_key_hash_of(&seed, url, (size_t)n);
}

/* so many of the tries within so many standard errors of the chance forecast */
static inline void
check_within(double errors, double hits, double tries, double forecast)
{
	double error = sqrt(forecast * (1 - forecast) / tries);
	ck_assert_msg(fabs(hits / tries - forecast) <= errors * error,
		      "measured %.6f, forecast %.6f, off by %.2f standard errors", hits / tries,
		      forecast, (hits / tries - forecast) / error);
}

static inline void
check_rate(double hits, double tries, double forecast)
{
	check_within(3, hits, tries, forecast);
}

/* --- sealed bytes: any filter, its type erased --- */

struct sealed {
	int (*save)(const void *filter, const struct twice_snapshot_sink *to);
	void *(*load)(struct twice_snapshot_source *from);
	void (*destroy)(void *filter);
};

/* SEALED(bloom) is bloom's row: const struct sealed bloom_sealed. */
#define SEALED(kind)                                                                        \
	static int kind##_sealed_save(const void *f, const struct twice_snapshot_sink *to)  \
	{                                                                                   \
		return twice_##kind##_save(f, to);                                          \
	}                                                                                   \
	static void *kind##_sealed_load(struct twice_snapshot_source *from)                 \
	{                                                                                   \
		return twice_##kind##_load(from);                                           \
	}                                                                                   \
	static void kind##_sealed_destroy(void *f)                                          \
	{                                                                                   \
		struct twice_##kind *x = f;                                                 \
		twice_##kind##_destroy(&x);                                                 \
	}                                                                                   \
	static const struct sealed kind##_sealed = {kind##_sealed_save, kind##_sealed_load, \
						    kind##_sealed_destroy};

#define SEALED_TAG  77
#define SEALED_ROOM (1u << 22)

static inline struct twice_snapshot_buffer
sealed_bytes(const struct sealed *s, const void *filter)
{
	struct twice_snapshot_buffer b = {.bytes = malloc(SEALED_ROOM), .size = SEALED_ROOM};
	ck_assert_int_eq(0, s->save(filter, &(struct twice_snapshot_sink){
						    twice_snapshot_buffer_write, &b, SEALED_TAG}));
	b.size = b.used;
	b.used = 0;
	return b;
}

static inline void *
sealed_load(const struct sealed *s, const struct twice_snapshot_buffer *b, uint64_t tag,
	    enum twice_snapshot_fault *why)
{
	struct twice_snapshot_buffer copy = {b->bytes, b->size, 0};
	struct twice_snapshot_source from = {
		.read = twice_snapshot_buffer_read, .ctx = &copy, .tag = tag, .limit = b->size};
	void *filter = s->load(&from);
	*why = from.fault;
	return filter;
}

static inline void
check_refused(const struct sealed *s, const struct twice_snapshot_buffer *b, uint64_t tag,
	      const char *what)
{
	enum twice_snapshot_fault why;
	void *filter = sealed_load(s, b, tag, &why);
	ck_assert_msg(!filter, "%s was accepted", what);
	ck_assert_msg(why != TWICE_SNAPSHOT_NONE, "%s was refused without a reason", what);
}

/* Saved, restored, saved again: the same bytes. Flipped, cut or foreign: refused.
 * Returns the restored filter, to be asked about its keys and destroyed. */
static inline void *
check_sealed(const struct sealed *s, const void *filter)
{
	enum twice_snapshot_fault why;
	struct twice_snapshot_buffer b = sealed_bytes(s, filter);
	void *again = sealed_load(s, &b, SEALED_TAG, &why);
	ck_assert_msg(again != NULL, "refused: %s", twice_snapshot_word(why));
	struct twice_snapshot_buffer c = sealed_bytes(s, again);
	ck_assert_uint_eq(b.size, c.size);
	ck_assert_mem_eq(b.bytes, c.bytes, b.size);
	free(c.bytes);

	/* Every byte of the heads; of long payloads some hundred, or thousand. */
	size_t stride = 1 + b.size / (getenv("TWICE_LONG") ? 4096 : 512);
	for (size_t i = 0; i < b.size; i += i < 256 || i + 256 > b.size ? 1 : stride) {
		b.bytes[i] ^= (unsigned char)(1u << (i % 8));
		check_refused(s, &b, SEALED_TAG, "a flipped bit");
		b.bytes[i] ^= (unsigned char)(1u << (i % 8));
	}
	for (size_t whole = b.size; b.size > 0;
	     b.size -= b.size > whole / 50 ? 1 + whole / 50 : 1) {
		struct twice_snapshot_buffer cut = {b.bytes, b.size - 1, 0};
		check_refused(s, &cut, SEALED_TAG, "a cut end");
		if (b.size == whole)
			check_refused(s, &b, SEALED_TAG + 1, "another seed's filter");
	}
	free(b.bytes);
	return again;
}

#endif
