/* crew.h - threads that do the same kind of work at once: task 0 to n - 1, each once. */
#ifndef SIMULATE_CREW_H
#define SIMULATE_CREW_H

struct crew;

/* The caller's own thread is one of them. Where threads cannot be had it works alone. */
struct crew *crew_create(unsigned threads);
void crew_destroy(struct crew **c);

typedef void crew_task_fn(void *ctx, unsigned i);
/* Returns when all tasks are done. */
void crew_run(struct crew *c, unsigned tasks, crew_task_fn *task, void *ctx);

#endif
