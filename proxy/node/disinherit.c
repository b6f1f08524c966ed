/* disinherit.c - kills, waits for a moment, and has the keeper look from then on. */
#include "proxy/node/disinherit.h"

#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/cache/heritage.h"
#include "proxy/node/heir.h"
#include "proxy/node/keeper.h"
#include "proxy/node/server_inside.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static bool
has_ended(int pid)
{
	pid_t got = waitpid(pid, NULL, WNOHANG);
	return got == pid || (got < 0 && errno != EINTR);
}

static bool
ends_soon(int pid)
{
	enum { LOOKS = 500, LOOK_NS = 2000000 };
	bool yes = false;
	for (int i = 0; i < LOOKS && !(yes = has_ended(pid)); i++)
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	return yes;
}

static void
take_back(struct server *s)
{
	cache_work(s->shelves.cache);
	if (heir_is_over(s->heir))
		cache_release(s->shelves.cache);
	keeper_work(s->keeper);
}

struct wait {
	struct server *s;
	int pid;
	bool rested;
};

/* On the keeper's thread. */
static bool
look(void *ctx)
{
	const struct wait *w = ctx;
	if (!has_ended(w->pid))
		return false;
	if (w->rested)
		take_back(w->s);
	log_info("the process that could not take over has ended; the cache is written again");
	return true;
}

void
disinherit(struct server *s, int pid, bool rested)
{
	bool waits = disinherit_waits(s);
	assert(!waits || !rested); /* the cache rests for one that is waited for */
	if (pid)
		kill(pid, SIGKILL);
	bool gone = !pid || ends_soon(pid);
	if (gone && rested)
		take_back(s);
	if (gone || waits)
		return;
	log_error(
		"the process that could not take over was killed and does not end, for a disk holds it. This "
		"one serves on and writes nothing to the cache until then; purges are not durable");
	struct wait *w = NEW(struct wait);
	*w = (struct wait){s, pid, rested};
	keeper_look(s->keeper, look, w);
}

bool
disinherit_waits(struct server *s)
{
	return s->keeper && keeper_looks(s->keeper);
}
