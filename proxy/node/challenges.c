/* challenges.c - one open, one read; one after the other, on a thread that begins with the first. */
#include "proxy/node/challenges.h"

#include "proxy/base/mem.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAITING_MOST = 64 };

struct challenges {
	struct challenge_reader reader; /* first */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	/* Under lock. */
	struct challenge *first, **last;
	unsigned waiting; /* the one that is read too */
	bool runs, reads, ends;
};

static struct challenges *
of(struct challenge_reader *r)
{
	return (struct challenges *)r;
}

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return s.n >= 1 && s.n <= CHALLENGE_TOKEN_BYTES;
}

static int
read_file(const char *dir, const char *name, char out[CHALLENGE_BYTES])
{
	struct stat st;
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < CHALLENGE_BYTES)
		n = read(fd, out, CHALLENGE_BYTES);
	if (fd >= 0)
		close(fd);
	if (at >= 0)
		close(at);
	return n > 0 ? (int)n : 0;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void
dispose(struct challenges *r)
{
	pthread_cond_destroy(&r->filled);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static void
open_letter(struct letter *letter)
{
	struct challenge *c =
		(struct challenge *)((char *)letter - offsetof(struct challenge, letter));
	c->done(c);
}

/* Under the lock. */
static void
send_home(struct challenges *r, struct challenge *c)
{
	free(c->dir);
	c->dir = NULL;
	r->waiting--;
	mailbox_post(c->home, &c->letter);
}

static struct challenge *
take(struct challenges *r)
{
	struct challenge *c = r->first;
	if (c && !(r->first = c->next))
		r->last = &r->first;
	return c;
}

/* Under the lock, which is let go meanwhile. False: nobody wants to know any more. */
static bool
read_one(struct challenges *r, struct challenge *c)
{
	r->reads = true;
	pthread_mutex_unlock(&r->lock);
	c->bytes = read_file(c->dir, c->token, c->text);
	pthread_mutex_lock(&r->lock);
	r->reads = false;
	if (!r->ends) {
		send_home(r, c);
		return true;
	}
	free(c->dir);
	c->forsaken(c);
	return false;
}

static void *
run(void *arg)
{
	struct challenges *r = arg;
	struct challenge *c;
	bool wanted = true;
	pthread_setname_np(pthread_self(), "challenges"); /* not that of the worker that began it */
	pthread_mutex_lock(&r->lock);
	while (wanted && !r->ends)
		if ((c = take(r)))
			wanted = read_one(r, c);
		else
			pthread_cond_wait(&r->filled, &r->lock);
	pthread_mutex_unlock(&r->lock);
	if (!wanted)
		dispose(r);
	return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

static bool
ask(struct challenge_reader *reader, struct challenge *c, const char *dir, struct str token)
{
	struct challenges *r = of(reader);
	c->bytes = 0;
	if (!is_token(token))
		return false;
	memcpy(c->token, token.p, token.n);
	c->token[token.n] = '\0';
	c->letter.open = open_letter;
	c->next = NULL;
	pthread_mutex_lock(&r->lock);
	assert(!r->ends);
	r->runs = r->runs || pthread_create(&r->thread, NULL, run, r) == 0;
	bool yes = r->runs && r->waiting < WAITING_MOST;
	if (yes) {
		c->dir = mem_strdup(dir);
		*r->last = c;
		r->last = &c->next;
		r->waiting++;
		pthread_cond_signal(&r->filled);
	}
	pthread_mutex_unlock(&r->lock);
	if (!yes) /* else it is the reader's */
		c->bytes = -1;
	return yes;
}

struct challenge_reader *
challenges_create(void)
{
	struct challenges *r = NEW(struct challenges);
	r->reader.ask = ask;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->filled, NULL);
	r->last = &r->first;
	return &r->reader;
}

void
challenges_destroy(struct challenge_reader **pr)
{
	if (!*pr)
		return;
	struct challenges *r = of(*pr);
	*pr = NULL;
	pthread_mutex_lock(&r->lock);
	for (struct challenge *c; (c = take(r));)
		send_home(r, c);
	r->ends = true;
	bool reads = r->reads, runs = r->runs;
	pthread_cond_signal(&r->filled);
	if (reads)
		pthread_detach(r->thread);
	pthread_mutex_unlock(&r->lock);
	if (reads) /* it may hang, and frees all when it is back */
		return;
	if (runs)
		pthread_join(r->thread, NULL);
	dispose(r);
}
