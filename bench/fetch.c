/* fetch.c - what one fetch from an origin costs: CPU of the fetching thread per request.
 *
 *	make build/release/bench/fetch && build/release/bench/fetch [requests [concurrency...]]
 *
 * A forked epoll loop plays the origin: it answers every request head with the same 1 KiB response
 * and reads nothing into it. Unique small GETs, keep-alive, no work in the callbacks.
 */
#include "proxy/base/mem.h"
#include "proxy/origin/fetch.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char answer_head[] = "HTTP/1.1 200 OK\r\n"
				  "Server: bench\r\n"
				  "Date: Thu, 20 Nov 2025 14:00:00 GMT\r\n"
				  "Content-Type: image/jpeg\r\n"
				  "Content-Length: 1024\r\n"
				  "Last-Modified: Mon, 03 Nov 2025 10:00:00 GMT\r\n"
				  "ETag: \"5f1b-1024\"\r\n"
				  "Cache-Control: public, max-age=86400\r\n"
				  "Accept-Ranges: bytes\r\n\r\n";
static char answer[sizeof answer_head - 1 + 1024];

static int
listener(uint16_t *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (void *)&a, n) || listen(fd, 1024) ||
	    getsockname(fd, (void *)&a, &n))
		exit(1);
	*port = ntohs(a.sin_port);
	return fd;
}

/* A head of ours is small and comes whole; its requests are counted by their empty lines. */
static void
serve(int fd)
{
	char in[16384];
	ssize_t n = recv(fd, in, sizeof in, 0);
	if (n <= 0) {
		close(fd);
		return;
	}
	for (char *p = in; (p = memmem(p, (size_t)(in + n - p), "\r\n\r\n", 4)); p += 4)
		if (send(fd, answer, sizeof answer, MSG_NOSIGNAL) < 0)
			break;
}

static void
play_origin(int lfd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = lfd}, got[64];
	int ep = epoll_create1(0), one = 1;
	epoll_ctl(ep, EPOLL_CTL_ADD, lfd, &ev);
	for (;;) {
		int n = epoll_wait(ep, got, 64, -1);
		for (int i = 0; i < n; i++) {
			if (got[i].data.fd != lfd) {
				serve(got[i].data.fd);
				continue;
			}
			ev.data.fd = accept(lfd, NULL, NULL);
			setsockopt(ev.data.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
			epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev);
		}
	}
}

struct run {
	struct event_base *base;
	struct fetcher *fetcher;
	struct fetch_request request;
	unsigned long to_start, to_end, number, bytes, kept;
};
static const struct fetch_events events;

static void
start(struct run *r)
{
	char target[64];
	int n = snprintf(target, sizeof target, "/images/%08lx/photo.jpg?w=640", r->number++);
	r->request.target = (struct str){target, (size_t)n};
	r->to_start--;
	fetch_start(r->fetcher, &r->request, &events, r);
}

static void
on_head(void *ctx, const struct response *rs)
{
	(void)ctx;
	(void)rs;
}

static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct run *r = ctx;
	(void)p;
	r->bytes += n;
	return true;
}

static void
on_done(void *ctx, const struct fetch_result *res)
{
	struct run *r = ctx;
	if (res->end != FETCH_OK) {
		fprintf(stderr, "%s: %s\n", res->word, res->detail);
		exit(1);
	}
	r->kept += res->reused;
	if (r->to_start)
		start(r);
	if (--r->to_end == 0)
		event_base_loopbreak(r->base);
}
static const struct fetch_events events = {
	.on_head = on_head, .on_body = on_body, .on_done = on_done};

static double
cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double
run(struct run *r, unsigned concurrency, unsigned long requests)
{
	r->to_start = r->to_end = requests;
	r->bytes = r->kept = 0;
	double before = cpu_us();
	for (unsigned i = 0; i < concurrency; i++)
		start(r);
	event_base_dispatch(r->base);
	return (cpu_us() - before) / (double)requests;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	enum { ROUNDS = 5 };
	static const unsigned usual[] = {1, 8, 32, 64, 128};
	unsigned long requests = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000;
	int cases = argc > 2 ? argc - 2 : 5;
	uint16_t port;
	int lfd = listener(&port);
	memcpy(answer, answer_head, sizeof answer_head - 1);
	memset(answer + sizeof answer_head - 1, 'x', 1024);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "origin");
		play_origin(lfd);
	}
	close(lfd);

	struct utsname u;
	uname(&u);
	printf("%s %s, %ld CPUs; %lu requests a round, %d rounds: median (least..most)\n",
	       u.sysname, u.release, sysconf(_SC_NPROCESSORS_ONLN), requests, ROUNDS);
	char url[64], err[256];
	snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
	struct origin *o = origin_create(&(struct origin_options){.url = url}, err, sizeof err);
	for (int c = 0; c < cases; c++) {
		unsigned concurrency = argc > 2 ? (unsigned)atoi(argv[c + 2]) : usual[c];
		struct run r = {.base = event_base_new()};
		r.fetcher = fetcher_create(r.base);
		r.request = (struct fetch_request){
			.origin = o,
			.method = STR("GET"),
			.host = STR("www.example.com"),
			.fields = STR("User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n"
				      "Accept: image/avif,image/webp,*/*\r\n"
				      "Accept-Encoding: gzip, deflate, br\r\n"
				      "X-Forwarded-For: 192.0.2.1\r\n"
				      "X-Forwarded-Proto: http\r\n"
				      "Via: 1.1 twice\r\n"),
			.idempotent = true,
		};
		double us[ROUNDS];
		run(&r, concurrency, 2000);
		for (int i = 0; i < ROUNDS; i++)
			us[i] = run(&r, concurrency, requests);
		qsort(us, ROUNDS, sizeof us[0], by_size);
		printf("concurrency %3u: %6.2f us CPU per fetch (%.2f..%.2f), %.1f%% on kept connections\n",
		       concurrency, us[ROUNDS / 2], us[0], us[ROUNDS - 1],
		       100.0 * (double)r.kept / (double)requests);
		fetcher_destroy(&r.fetcher);
		event_base_free(r.base);
	}
	origin_destroy(&o);
	return 0;
}
