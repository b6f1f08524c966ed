/* merge.c - the oldest entry at the head of all logs is next. */
#include "proxy/simulate/merge.h"

#include "proxy/base/mem.h"

#include <stdlib.h>

struct head {
	struct source *source;
	struct entry entry;
	bool there;
};

struct merge {
	struct head *heads; /* owned */
	unsigned n;
	struct head *given; /* whose entry was handed out last: it is read on at the next call */
	const char *trouble;
};

struct merge *
merge_open(const char *const *names, unsigned n, const struct source_options *o, char *err,
	   size_t err_bytes)
{
	struct merge *m = NEW(struct merge);
	m->heads = mem_zalloc(n * sizeof *m->heads);
	for (; m->n < n; m->n++) {
		m->heads[m->n].source = source_open(names[m->n], o, err, err_bytes);
		if (!m->heads[m->n].source) {
			merge_close(&m);
			return NULL;
		}
	}
	return m;
}

void
merge_close(struct merge **pm)
{
	struct merge *m = *pm;
	*pm = NULL;
	if (!m)
		return;
	for (unsigned i = 0; i < m->n; i++)
		source_close(&m->heads[i].source);
	free(m->heads);
	free(m);
}

static bool
advance(struct merge *m, struct head *h)
{
	enum source_step step = source_next(h->source, &h->entry);
	h->there = step == SOURCE_ENTRY;
	if (step == SOURCE_FAILED)
		m->trouble = source_trouble(h->source);
	return step != SOURCE_FAILED;
}

enum source_step
merge_next(struct merge *m, struct entry *out)
{
	struct head *first = NULL;
	if (!m->given)
		for (unsigned i = 0; i < m->n; i++)
			if (!advance(m, &m->heads[i]))
				return SOURCE_FAILED;
	if (m->given && !advance(m, m->given))
		return SOURCE_FAILED;
	for (unsigned i = 0; i < m->n; i++)
		if (m->heads[i].there &&
		    (!first || m->heads[i].entry.time_us < first->entry.time_us))
			first = &m->heads[i];
	if (!first)
		return SOURCE_END;
	m->given = first;
	*out = first->entry;
	return SOURCE_ENTRY;
}

const char *
merge_trouble(const struct merge *m)
{
	return m->trouble;
}

unsigned
merge_count(const struct merge *m)
{
	return m->n;
}

void
merge_facts(const struct merge *m, unsigned i, struct source_facts *out)
{
	source_facts(m->heads[i].source, out);
}

double
merge_progress(const struct merge *m)
{
	uint64_t taken = 0, size = 0;
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t one = source_size(m->heads[i].source);
		if (!one)
			return -1;
		size += one;
		taken += source_taken(m->heads[i].source);
	}
	return size ? (double)taken / (double)size : -1;
}
