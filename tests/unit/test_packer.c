/* rooms: coding http base
 *
 * test_packer.c - jobs are run in their order, refused at once, and told of their end, each once. */
#include "proxy/coding/expand.h"
#include "proxy/coding/packer.h"
#include "tests/kit/coded.h"
#include "tests/kit/expanded.h"
#include "tests/kit/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum { ALL = 1000000, PERCENT = 10000 };
static const int64_t START = 99;

static sem_t holds, may_go; /* a job that is held says so, and waits */
static pthread_t ran_on;
static int order[2 * PACKER_JOBS_MOST];
static int ran_n;

struct work {
	struct packer_job job;
	int id;
	struct pack_as as;
	int ran, ended; /* how often */
	bool last_ran;
	bool gives_way;
	struct str body;
	struct buf out;
};

static size_t
run(void *ctx, struct pack *pack, struct pack_as as)
{
	struct work *w = ctx;
	(void)pack;
	w->ran++;
	w->as = as;
	order[ran_n++] = w->id;
	ran_on = pthread_self();
	return 0;
}

static size_t
run_held(void *ctx, struct pack *pack, struct pack_as as)
{
	sem_post(&holds);
	while (sem_wait(&may_go))
		continue;
	return run(ctx, pack, as);
}

static size_t
run_real(void *ctx, struct pack *pack, struct pack_as as)
{
	struct work *w = ctx;
	run(ctx, pack, as);
	w->gives_way = getpriority(PRIO_PROCESS, 0) == PACKER_NICE;
	return pack_and_check(pack, as, &PIECES_OF(w->body), &w->out) == PACK_DONE ? w->out.n : 0;
}

static void
done(void *ctx, bool ran)
{
	struct work *w = ctx;
	ck_assert_int_eq(w->ran, ran);
	w->last_ran = ran;
	w->ended++;
}

static void
make(struct work *w, int n, size_t bytes)
{
	memset(w, 0, (size_t)n * sizeof *w);
	for (int i = 0; i < n; i++) {
		w[i].id = i;
		w[i].job =
			(struct packer_job){.bytes = bytes, .run = run, .done = done, .ctx = &w[i]};
	}
}

/* A packer whose thread is held in the job w[0]. */
static struct packer *
held(struct work *w, uint32_t share_ppm)
{
	sem_init(&holds, 0, 0);
	sem_init(&may_go, 0, 0);
	ran_n = 0;
	struct packer *p = packer_start(share_ppm, START);
	ck_assert_ptr_nonnull(p);
	w[0].job.run = run_held;
	ck_assert_int_eq(packer_give(p, &w[0].job, START), PACKER_TAKEN);
	while (sem_wait(&holds))
		continue;
	return p;
}

/* The only other one at the queue is the packer, which is held: nobody is told BUSY. */
START_TEST(a_full_queue_refuses_at_once)
{
	enum { N = PACKER_JOBS_MOST + 2 };
	static struct work w[N];
	make(w, N, 10);
	struct packer *p = held(w, ALL);
	for (int i = 1; i <= PACKER_JOBS_MOST; i++)
		ck_assert_int_eq(packer_give(p, &w[i].job, START), PACKER_TAKEN);
	ck_assert_int_eq(packer_give(p, &w[PACKER_JOBS_MOST + 1].job, START), PACKER_FULL);
	struct packer_counts c = packer_count(p);
	ck_assert_uint_eq(c.waiting, PACKER_JOBS_MOST);
	ck_assert_uint_eq(c.answers[PACKER_TAKEN], PACKER_JOBS_MOST + 1);
	ck_assert_uint_eq(c.answers[PACKER_FULL], 1);
	ck_assert_uint_eq(c.best + c.quick, 0);
	sem_post(&may_go);
	packer_stop(&p, true);
	ck_assert_ptr_null(p);
	ck_assert(!pthread_equal(ran_on, pthread_self()));
	for (int i = 0; i <= PACKER_JOBS_MOST; i++) {
		ck_assert_int_eq(order[i], i);
		ck_assert(w[i].ran == 1 && w[i].ended == 1 && w[i].last_ran);
	}
	ck_assert_int_eq(w[PACKER_JOBS_MOST + 1].ended, 0); /* refused is refused */
}
END_TEST

START_TEST(so_do_bytes_that_wait)
{
	static struct work w[4];
	make(w, 4, PACKER_BYTES_MOST / 2);
	struct packer *p = held(w, ALL); /* which does not wait any more */
	ck_assert_int_eq(packer_give(p, &w[1].job, START), PACKER_TAKEN);
	w[2].job.bytes++;
	ck_assert_int_eq(packer_give(p, &w[2].job, START), PACKER_FULL);
	w[2].job.bytes--;
	ck_assert_int_eq(packer_give(p, &w[2].job, START), PACKER_TAKEN);
	w[3].job.bytes = 1;
	ck_assert_int_eq(packer_give(p, &w[3].job, START), PACKER_FULL);
	sem_post(&may_go);
	packer_stop(&p, true);
	ck_assert(w[1].ended == 1 && w[2].ended == 1 && w[3].ended == 0);
}
END_TEST

/* 1% of a core: 100 ms are saved up. A body of 1 MiB costs 26.2 ms of them, or 5.2. */
START_TEST(the_budget_says_how)
{
	static struct work w[30];
	make(w, 30, 1 << 20);
	struct packer *p = held(w, PERCENT);
	int taken = 1;
	while (packer_give(p, &w[taken].job, START) == PACKER_TAKEN)
		taken++;
	ck_assert_int_eq(packer_give(p, &w[taken].job, START), PACKER_NO_BUDGET);
	ck_assert_uint_eq(packer_count(p).answers[PACKER_NO_BUDGET], 2);
	/* half a second earns 5 ms, 0.1 s more the rest */
	ck_assert_int_eq(packer_give(p, &w[taken].job, START + 100000), PACKER_NO_BUDGET);
	ck_assert_int_eq(packer_give(p, &w[taken].job, START + 600000), PACKER_TAKEN);
	sem_post(&may_go);
	packer_stop(&p, true);
	int best = 0;
	for (int i = 0; i <= taken; i++) {
		bool is_best = w[i].as.coding == CODING_BR && w[i].as.level == 5;
		ck_assert(is_best || (w[i].as.coding == CODING_ZSTD && w[i].as.level == 3));
		ck_assert(!is_best || i == best); /* the first ones */
		best += is_best;
	}
	ck_assert_int_eq(best, 1); /* 100 - 26.2 is over 50, - 52.4 is not */
	ck_assert_int_eq(taken, 1 + 14);
}
END_TEST

START_TEST(a_share_of_0_refuses_all)
{
	static struct work w[1];
	make(w, 1, 1);
	struct packer *p = packer_start(0, START);
	ck_assert_int_eq(packer_give(p, &w[0].job, INT64_MAX), PACKER_NO_BUDGET);
	packer_stop(&p, true);
	packer_stop(&p, true);
	ck_assert_int_eq(w[0].ended, 0);
}
END_TEST

/* Between two jobs that are held. */
START_TEST(a_job_without_bytes_is_run_and_packs_nothing)
{
	static struct work w[3];
	make(w, 3, 10);
	struct packer *p = held(w, ALL);
	w[1].job.bytes = 0;
	w[2].job.run = run_held;
	for (int i = 1; i < 3; i++)
		ck_assert_int_eq(packer_give(p, &w[i].job, START), PACKER_TAKEN);
	sem_post(&may_go);
	while (sem_wait(&holds))
		continue;
	ck_assert(w[1].ended == 1 && w[1].last_ran);
	ck_assert_uint_eq(packer_count(p).best + packer_count(p).quick, 1);
	sem_post(&may_go);
	packer_stop(&p, true);
}
END_TEST

static void *
stop_it(void *ctx)
{
	struct packer *p = ctx;
	packer_stop(&p, false);
	return NULL;
}

/* The job under way ends well; those that wait are told that they were dropped. */
START_TEST(a_stop_may_drop)
{
	static struct work w[6];
	pthread_t t;
	make(w, 6, 10);
	struct packer *p = held(w, ALL);
	for (int i = 1; i < 6; i++)
		ck_assert_int_eq(packer_give(p, &w[i].job, START), PACKER_TAKEN);
	pthread_create(&t, NULL, stop_it, p);
	unit_wait_until(packer_count(p).waiting == 0); /* the stop has begun */
	ck_assert_int_eq(w[1].ended, 0);
	sem_post(&may_go);
	pthread_join(t, NULL);
	for (int i = 0; i < 6; i++)
		ck_assert(w[i].ended == 1 && w[i].ran == (i == 0));
}
END_TEST

START_TEST(bodies_are_packed_and_counted)
{
	static struct work w[40];
	uint64_t seed = 12, in = 0, out = 0, none = 0;
	make(w, 40, 0);
	struct packer *p = packer_start(ALL, START);
	for (int i = 0; i < 40; i++) {
		struct buf b = {0};
		if (i % 4)
			coded_html(&b, &seed, 2000 * (size_t)i);
		else
			coded_random(&b, &seed, 5000);
		w[i].body = buf_str(&b); /* owned here */
		w[i].job.bytes = b.n;
		w[i].job.run = run_real;
		enum packer_answer a;
		do /* the packer may be at the queue */
			a = packer_give(p, &w[i].job, START);
		while (a == PACKER_BUSY);
		ck_assert_int_eq(a, PACKER_TAKEN);
	}
	unit_wait_until(packer_count(p).best + packer_count(p).quick == 40);
	struct packer_counts c = packer_count(p);
	packer_stop(&p, false);
	for (int i = 0; i < 40; i++) {
		struct buf back = {0};
		struct str packed = buf_str(&w[i].out);
		ck_assert_int_eq(w[i].ended, 1);
		ck_assert(w[i].gives_way);
		if (i % 4) {
			const struct expand_limits l = {w[i].body.n, EXPAND_ANY_RATIO};
			ck_assert_int_eq(
				expanded_whole(w[i].as.coding, &PIECES_OF(packed), &l, &back),
				EXPAND_DONE);
			ck_assert(str_eq(buf_str(&back), w[i].body));
			in += w[i].body.n;
			out += packed.n;
		} else {
			none++;
		}
		buf_fini(&back);
		buf_fini(&w[i].out);
		free((char *)(uintptr_t)w[i].body.p);
	}
	ck_assert_uint_eq(c.packed, 40 - none);
	ck_assert_uint_eq(c.bytes_in, in);
	ck_assert_uint_eq(c.bytes_out, out);
	ck_assert_uint_eq(c.waiting, 0);
	ck_assert_uint_gt(c.cpu_us, 0);
	ck_assert_uint_eq(c.answers[PACKER_TAKEN], 40);
}
END_TEST

/* Several workers at once: each job is refused or ends, once, and none of them is lost. */
enum { GIVERS = 4, EACH = 2000 };
static struct packer *shared;
static pthread_barrier_t together;

static void *
give_many(void *ctx)
{
	struct work *w = ctx;
	pthread_barrier_wait(&together);
	for (int i = 0; i < EACH; i++)
		w[i].id = packer_give(shared, &w[i].job, START + i);
	return NULL;
}

static _Atomic int ended_n;
static void
done_counted(void *ctx, bool ran)
{
	struct work *w = ctx;
	w->ended++;
	w->last_ran = ran;
	ended_n++;
}
static size_t
run_nothing(void *ctx, struct pack *pack, struct pack_as as)
{
	struct work *w = ctx;
	(void)pack;
	(void)as;
	w->ran++;
	return 0;
}

START_TEST(many_workers)
{
	static struct work w[GIVERS][EACH];
	pthread_t t[GIVERS];
	int said[PACKER_ANSWERS] = {0};
	shared = packer_start(ALL, START);
	pthread_barrier_init(&together, NULL, GIVERS);
	for (int g = 0; g < GIVERS; g++) {
		make(w[g], EACH, 100);
		for (int i = 0; i < EACH; i++) {
			w[g][i].job.run = run_nothing;
			w[g][i].job.done = done_counted;
		}
		pthread_create(&t[g], NULL, give_many, w[g]);
	}
	for (int g = 0; g < GIVERS; g++)
		pthread_join(t[g], NULL);
	struct packer_counts c = packer_count(shared);
	packer_stop(&shared, _i);
	for (int g = 0; g < GIVERS; g++)
		for (int i = 0; i < EACH; i++) {
			bool taken = w[g][i].id == PACKER_TAKEN;
			said[w[g][i].id]++;
			ck_assert_int_eq(w[g][i].ended, taken);
			ck_assert_int_eq(w[g][i].ran, taken && w[g][i].last_ran);
			ck_assert(!_i || w[g][i].last_ran == taken);
		}
	ck_assert_int_eq(ended_n, said[PACKER_TAKEN]);
	ck_assert_int_gt(said[PACKER_TAKEN], 0);
	for (int a = 0; a < PACKER_ANSWERS; a++)
		ck_assert_uint_eq(c.answers[a], said[a]);
}
END_TEST

UNIT("packer", TEST(a_full_queue_refuses_at_once), TEST(so_do_bytes_that_wait),
     TEST(the_budget_says_how), TEST(a_share_of_0_refuses_all),
     TEST(a_job_without_bytes_is_run_and_packs_nothing), TEST(a_stop_may_drop),
     TEST(bodies_are_packed_and_counted), TIMES(many_workers, 2))
