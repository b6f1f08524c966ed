/* store_inside.h - what store.c (running) and restore.c (starting) both know. */
#ifndef CACHE_STORE_INSIDE_H
#define CACHE_STORE_INSIDE_H

#include "proxy/base/buf.h"
#include "proxy/cache/index.h"
#include "proxy/cache/ledger.h"
#include "proxy/cache/store.h"

#include <pthread.h>
#include <stdatomic.h>

/* Gathered in memory, then written by one pwrite. Bytes below used never change. */
struct batch {
	struct diskio_job job; /* first */
	struct store *store;
	struct batch *next; /* pending: older first; or in the pool */
	uint32_t segment, generation;
	uint64_t offset;	       /* in the segment */
	uint32_t used, entries, bytes; /* bytes: with table and padding, once closed */
	int64_t born_ms;
	struct buf table;
	char *p; /* batch_bytes, page-aligned */
};

struct store {
	struct store_options o;
	struct diskio *io;
	struct index *index;
	uint32_t batch_bytes, fragment_bytes;
	uint64_t opening; /* random */

	/* Per slot; read without the lock. */
	_Atomic uint32_t *generations; /* 0: not open or sealed */
	_Atomic uint64_t *written;     /* the file is right up to here */
	_Atomic int *fds;

	pthread_mutex_t lock; /* everything below */
	pthread_cond_t drained;
	struct ledger ledger;
	struct batch *open;	       /* or NULL */
	struct batch *pending, **last; /* the open one too */
	struct batch *pool;
	unsigned pool_n;
	uint64_t pending_bytes;
	uint64_t link;		      /* seal of the last closed batch of the open segment */
	struct buf table;	      /* entries of the open segment's closed batches */
	bool urgent;		      /* the open batch holds a tombstone */
	int64_t flushed_ms, retry_ms; /* retry_ms: no appends before, while failing */
	int64_t grow_ms;	      /* no new files before, while the disk is too full */
	bool is_cramped;	      /* said once */
	bool preparing, closing;
	struct diskio_job prepare;

	_Atomic bool failing;
	_Atomic uint64_t written_bytes, evicted, carried_bytes, io_errors, refused;
};

/* Finds segment files, restores index and ledger; err as store_open. Opens the files it finds. */
int store_restore(struct store *st, char *err, size_t err_bytes);
int store_open_segment_file(const struct store *st, uint32_t slot, bool create);

#endif
