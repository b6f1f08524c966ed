/* packer.h - a thread that packs in the background, with a share of one core and at a low priority.
 *
 * A worker hands it a job and goes on; the answer is there at once. The job's strength is decided and paid for
 * in advance (ration.h), so that a queue never holds more than there is time for.
 *
 * Nobody waits for the packer. Its thread may be taken off its processor at any moment and for long, with a lock in
 * its hands; so a worker that finds the queue locked is told BUSY. malloc has locks too: let run append to a buf that
 * has the room already, and let its owner free what its owner made.
 *
 * Memory    jobs lie in their owners' structs, and are the packer's from TAKEN until done is called.
 * Threads   packer_give, packer_count: any. packer_start, packer_stop: the owner, and nobody gives any more
 *           when packer_stop is called. run and done are called on the packer's thread, one job at a time.
 * Units     ppm of one core: 50,000 are 5%. us of a monotonic clock, which callers hand in.
 */
#ifndef CODING_PACKER_H
#define CODING_PACKER_H

#include "proxy/coding/pack.h"

#include <stdint.h>

enum { PACKER_NICE = 10 };
enum { PACKER_JOBS_MOST = 64, PACKER_BYTES_MOST = 16 << 20 }; /* that wait */

/* clang-format off */
enum packer_answer {
#define ANSWER(name, meaning) PACKER_##name,
#include "proxy/coding/packer_answers.h"
#undef ANSWER
	PACKER_ANSWERS
};
/* clang-format on */

struct packer_job {
	size_t bytes; /* of the plain body; 0: it packs nothing, and its time counts all the same */
	/* Does the work with the thread's own encoders, as it is told: br 5, or zstd 3, which costs a fifth. (gzip 6
	 * costs as much as br 5, and may be made in its place.) Returns how many bytes the packed body has; 0: there
	 * is none. */
	size_t (*run)(void *ctx, struct pack *pack, struct pack_as as);
	/* Called once for each job that was taken, the last that the packer does with it. ran: run was called. */
	void (*done)(void *ctx, bool ran);
	void *ctx;
	/* The packer's own. */
	struct packer_job *next;
	int strength;
	int64_t paid_ns;
};

struct packer;

/* share_ppm 0: every job is refused. NULL: there is no thread, or no memory. */
struct packer *packer_start(uint32_t share_ppm, int64_t now_us);

/* Another share from now on. Any thread. */
void packer_change(struct packer *p, uint32_t share_ppm, int64_t now_us);
/* Whether it has a share; NULL: it has none. Any thread, without a lock. */
bool packer_is_on(const struct packer *p);

/* TAKEN, and done will be called; else nothing was done with it, and the answer says why. */
enum packer_answer packer_give(struct packer *p, struct packer_job *job, int64_t now_us);

/* Ends the thread. drain: jobs that wait are run before; else their done is called with ran false. When it
 * returns, done has been called for all. NULL is fine. */
void packer_stop(struct packer **p, bool drain);

struct packer_counts {
	uint64_t answers[PACKER_ANSWERS]; /* of packer_give */
	uint64_t best, quick;		  /* jobs with bytes that were run, by strength */
	uint64_t packed;		  /* those of which something came */
	uint64_t bytes_in, bytes_out;	  /* of those */
	uint64_t cpu_us;		  /* of the thread, all that it did */
	uint64_t waiting;		  /* jobs, now */
};
/* It may wait for the thread: not for workers. */
struct packer_counts packer_count(struct packer *p);

#endif
