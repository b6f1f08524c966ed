/* Names of origins that change, go and come, asked of a name server that is played here. It is found
 * by files that are mounted over those of the system, in a name space of the scenario's own. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the name server ----------------------------------------------------------------------- */

enum { FORMAT_BYTES = 12, TYPE_A = 1, SERVFAIL = 2, NXDOMAIN = 3 };

static struct {
	pthread_mutex_t lock;
	int fd;
	const char *at;
	unsigned code;		   /* of answers: 0, SERVFAIL, NXDOMAIN */
	bool mute;		   /* it says nothing */
	const char *addresses[28]; /* of every name */
	_Atomic int asked;	   /* for addresses of IPv4 */
} server = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The question is said again behind the head, and each address refers to its name (RFC 1035). */
static size_t
answer(unsigned char *m, size_t n)
{
	size_t end = FORMAT_BYTES;
	while (end < n && m[end])
		end += m[end] + 1u;
	end += 5;
	if (end > n)
		return 0;
	bool v4 = m[end - 3] == TYPE_A;
	unsigned count = 0;
	atomic_fetch_add(&server.asked, v4);
	for (unsigned i = 0; v4 && !server.code && i < 28 && server.addresses[i]; i++, count++) {
		static const unsigned char head[] = {
			0xc0, FORMAT_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4};
		struct in_addr a;
		inet_pton(AF_INET, server.addresses[i], &a);
		memcpy(m + end, head, sizeof head);
		memcpy(m + end + sizeof head, &a, sizeof a);
		end += sizeof head + sizeof a;
	}
	m[2] |= 0x80; /* an answer */
	m[3] = (unsigned char)(0x80 | server.code);
	memset(m + 6, 0, 6);
	m[7] = (unsigned char)count;
	return end;
}

static void *
serve(void *arg)
{
	unsigned char m[1024];
	struct sockaddr_in from;
	socklen_t bytes = sizeof from;
	ssize_t n;
	(void)arg;
	while ((n = recvfrom(server.fd, m, 512, 0, (struct sockaddr *)&from, &bytes)) > 0) {
		pthread_mutex_lock(&server.lock);
		size_t size = answer(m, (size_t)n);
		if (size && !server.mute)
			sendto(server.fd, m, size, 0, (struct sockaddr *)&from, bytes);
		pthread_mutex_unlock(&server.lock);
	}
	return NULL;
}

static void
names_are(unsigned code, bool mute, const char *one, const char *other)
{
	pthread_mutex_lock(&server.lock);
	server.code = code;
	server.mute = mute;
	server.addresses[0] = one;
	server.addresses[1] = other;
	pthread_mutex_unlock(&server.lock);
}
#define names_are_at(one, other) names_are(0, false, one, other)
#define names_fail(code)	 names_are(code, false, NULL, NULL)
#define names_hang()		 names_are(0, true, NULL, NULL)

static void
write_file(const char *path, const char *words)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, words, strlen(words)) < 0 || close(fd))
		fail("cannot write %s: %s", path, strerror(errno));
}

static void
replace(const char *path, const char *words)
{
	const char *own = text("%s/%s", kit_dir(), strrchr(path, '/') + 1);
	write_file(own, words);
	if (mount(own, path, NULL, MS_BIND, NULL))
		skip("cannot mount over %s: %s", path, strerror(errno));
}

/* Name servers have one port, so each scenario's has an address of its own. */
static void
begin_names(void)
{
	pid_t id = getpid();
	const char *at = text("127.%d.%d.53", 64 + id / 250 % 64, 1 + id % 250);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(53)};
	pthread_t thread;
	a.sin_addr.s_addr = inet_addr(at);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("a name space for files takes root: %s", strerror(errno));
	server.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (server.fd < 0 || bind(server.fd, (struct sockaddr *)&a, sizeof a))
		skip("a name server takes port 53: %s", strerror(errno));
	server.at = at;
	/* The most: it has its say as soon as it has a turn, or hangs and never has one. */
	replace("/etc/resolv.conf", text("nameserver %s\noptions timeout:30 attempts:1\n", at));
	replace("/etc/nsswitch.conf", "hosts: files dns\n");
	replace("/etc/hosts", "127.0.0.1 localhost\n");
	if (pthread_create(&thread, NULL, serve, NULL))
		fail("no thread");
	pthread_detach(thread);
}

/* ---- what is asked ------------------------------------------------------------------------- */

static void
begin(const char *more)
{
	by_http_only();
	begin_names();
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "old", .times = 1000000);
	origin_door_at(1, "127.0.0.2");
	origin_says("@1*", .fields = "Cache-Control: no-store\r\n", .body = "new",
		    .times = 1000000);
	edge_yaml(text("workers: 1\nresolve: 1s\norigins:\n  - url: http://web.test:%u\n%s",
		       origin_port(), more));
}

static bool
is_served_by(const char *who)
{
	struct answer a = get("/");
	expect_status(a, 200);
	return strcmp(a.body, who) == 0;
}

/* The one address that /stats names for the first server. */
static const char *
address_in_stats(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n");
	json_t *top = json_loads(client_read(c, "GET").body, 0, NULL);
	client_close(c);
	json_t *first = json_array_get(json_object_get(top, "origins"), 0);
	json_t *list = json_object_get(first, "addresses");
	expect_int((int)json_array_size(list), 1);
	char *found = text("%s", json_string_value(json_array_get(list, 0)));
	json_decref(top);
	return found;
}

SCENARIO("a name that moves is followed, old connections go, and no request fails")
{
	begin("");
	names_are_at("127.0.0.1", NULL);
	edge_start();
	expect(is_served_by("old"));
	expect_text(address_in_stats(), "127.0.0.1");
	unsigned before = origin_connections();
	names_are_at("127.0.0.2", NULL);
	int64_t begun = kit_now_ms();
	wait_until(is_served_by("new"));
	note("followed after %d ms, with resolve: 1s", (int)(kit_now_ms() - begun));
	for (unsigned i = 0; i < before; i++)
		origin_wait_closed(i);
	for (int i = 0; i < 20; i++)
		expect(is_served_by("new"));
	wait_until(edge_said("web.test is now at 127.0.0.2"));
	expect_text(address_in_stats(), "127.0.0.2");
}

SCENARIO("all addresses of a name are known, not the first sixteen")
{
	begin("");
	names_are_at("127.0.0.1", NULL);
	pthread_mutex_lock(&server.lock);
	for (int i = 1; i < 28; i++)
		server.addresses[i] = text("127.0.0.%d", 100 + i);
	pthread_mutex_unlock(&server.lock);
	edge_start();
	wait_until((int)edge_stat("origins.0.address_count") == 28);
	expect(is_served_by("old"));
}

SCENARIO("a connection under way ends as it began when its address goes")
{
	begin("");
	struct barrier *go = barrier_new();
	origin_says("/slow", .fields = "Cache-Control: no-store\r\n", .body = "whole",
		    .hold_body = go, .hold_at = 2);
	names_are_at("127.0.0.1", NULL);
	edge_start();
	struct call *slow = call_get("/slow");
	barrier_arrivals(go, 1);
	names_are_at("127.0.0.2", NULL);
	wait_until(is_served_by("new"));
	int asked = atomic_load(&server.asked);
	wait_until(atomic_load(&server.asked) >= asked + 2);
	barrier_open(go);
	call_expect(slow, 200, "whole");
	origin_wait_closed(0);
}

SCENARIO("lookups that fail keep the addresses of before")
{
	begin("");
	names_are_at("127.0.0.1", NULL);
	origin_says("/closes", .fields = "Cache-Control: no-store\r\n", .body = "old",
		    .close = true, .times = 1000);
	edge_start();
	static const unsigned codes[] = {SERVFAIL, NXDOMAIN};
	for (int i = 0; i < 2; i++) {
		names_fail(codes[i]);
		int asked = atomic_load(&server.asked);
		wait_until(atomic_load(&server.asked) >= asked + 2);
		for (int k = 0; k < 5; k++)
			expect_answer(get("/closes"), 200, "old");
	}
	wait_until(edge_said("web.test cannot be looked up"));
	wait_until(edge_said("its addresses of before are used"));
	names_are_at("127.0.0.1", NULL);
	wait_until(edge_said("web.test can be looked up again"));
}

SCENARIO("a name server that hangs stops no request, and is not asked by requests")
{
	begin("");
	replace("/etc/resolv.conf",
		text("nameserver %s\noptions timeout:1 attempts:1\n", server.at));
	names_are_at("127.0.0.1", NULL);
	origin_says("/hit", .fields = "Cache-Control: max-age=600\r\n", .body = "hit");
	origin_says("/closes", .fields = "Cache-Control: no-store\r\n", .body = "old",
		    .close = true, .times = 1000);
	clock_hold();
	edge_start();
	get("/hit");
	names_hang();
	int asked = atomic_load(&server.asked);
	clock_advance(2000); /* it is time to look the name up anew */
	wait_until(atomic_load(&server.asked) > asked);
	asked = atomic_load(&server.asked);
	for (int i = 0; i < 200; i++) {
		expect_hit(get("/hit"));
		expect_answer(get("/closes"), 200, "old");
	}
	/* Of the look-up under way, whose tries are the C library's: it goes by the machine's clock. */
	int more = atomic_load(&server.asked) - asked;
	note("%d questions, 200 new connections", more);
	expect_between(more, 0, 8);
}

/* The process that took the other's place is asked who it is. */
static void
become_heir(void)
{
	int pid = 0;
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /upgrade HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect_int(sscanf(strstr(client_read(c, "GET").body, "\"pid\": "), "\"pid\": %d", &pid), 1);
	client_close(c);
	edge_becomes(pid, 0);
}

static void
expect_by_new_connection(const char *target, const char *body)
{
	struct client *c = client_open();
	client_request(c, "GET", target, NULL);
	expect_answer(client_read(c, "GET"), 200, body);
	client_close(c);
}

SCENARIO("an upgrade while a name server hangs keeps nobody waiting")
{
	begin("");
	names_are_at("127.0.0.1", NULL);
	origin_says("/hit", .fields = "Cache-Control: max-age=600\r\n", .body = "hit");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	clock_hold();
	edge_start();
	get("/hit");
	get("/hit");
	edge_wait_stat("disk.objects", 1);
	names_hang();
	write_file(text("%s/twice.yaml", kit_dir()),
		   text("workers: 1\nresolve: 1s\norigins:\n  - url: http://web.test:%u\n"
			"  - url: http://new.test:%u\n",
			origin_port(), origin_port()));
	int asked = atomic_load(&server.asked);
	edge_signal(SIGUSR2);
	wait_until(atomic_load(&server.asked) > asked); /* by the next process */
	/* It waits for the names for 6 s of the test's clock, in which clients are served. */
	for (int i = 0; i < 100; i++)
		expect_by_new_connection("/hit", "hit");
	expect(!edge_said("another process serves"));
	clock_run(10);
	while (!edge_said("another process serves"))
		expect_by_new_connection("/hit", "hit");
	become_heir();
}

SCENARIO("an upgrade takes along where names were found")
{
	begin("");
	names_are_at("127.0.0.1", NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	edge_start();
	expect(is_served_by("old"));
	names_fail(SERVFAIL);
	edge_signal(SIGUSR2);
	wait_until(edge_said("another process serves"));
	become_heir();
	expect(is_served_by("old"));
	wait_until(edge_said("its addresses of before are used"));
	names_are_at("127.0.0.2", NULL);
	wait_until(is_served_by("new"));
}

SCENARIO("a name that is missing at the start is answered 502 until it can be found")
{
	begin("");
	names_fail(NXDOMAIN);
	edge_start();
	expect(edge_said("web.test cannot be looked up"));
	expect(edge_said("until it can, requests to it are answered 502, or stale"));
	struct answer a = get("/");
	expect_status(a, 502);
	expect_verdict(a, "detail=dns-failed");
	origin_expect_requests(0);
	names_are_at("127.0.0.1", NULL);
	wait_until(get("/").status == 200);
}

SCENARIO("a name that is missing at a restart: what is stored is served stale")
{
	begin("routes:\n  - { path: /, admit: always }\n");
	names_are_at("127.0.0.1", NULL);
	origin_says("/x", .fields = "Cache-Control: max-age=10\r\nAge: 20\r\n", .etag = "\"1\"",
		    .body = "kept");
	edge_start();
	get("/x");
	names_fail(NXDOMAIN);
	edge_restart();
	expect(edge_said("until it can, requests to it are answered 502, or stale"));
	expect_answer(get("/x"), 200, "kept");
	expect_status(get("/y"), 502);
}

/* Takes no further connection: what comes waits for an answer. */
static void
listen_in_vain(const char *address, unsigned port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	a.sin_addr.s_addr = inet_addr(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 0))
		fail("cannot listen at %s: %s", address, strerror(errno));
	/* Its queue holds one, which may come to it a moment after its client hears so. */
	int c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(c, (struct sockaddr *)&a, sizeof a))
		fail("cannot connect to %s: %s", address, strerror(errno));
	expect(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, KIT_FOREVER) == 1);
}

SCENARIO("a silent address of two costs one request half of connect_timeout, not each")
{
	begin("    connect_timeout: 4s\n");
	/* At an address where this port is the origin's already; elsewhere it may be somebody's. */
	origin_door_dies(1);
	listen_in_vain("127.0.0.2", origin_port());
	names_are_at("127.0.0.2", "127.0.0.1");
	origin_says("/closes", .fields = "Cache-Control: no-store\r\n", .body = "old",
		    .close = true, .times = 1000);
	clock_hold();
	edge_start();
	int slow = 0;
	for (int i = 0; i < 30; i++) {
		struct call *call = call_get("/closes");
		wait_until(call_is_done(call) ||
			   kit_connects_in_vain("127.0.0.2", origin_port()) > 0);
		if (!call_is_done(call)) {
			slow++;
			clock_advance(1900);
			expect(!call_is_done(call));
			clock_advance(600);
		}
		call_expect(call, 200, "old");
	}
	note("%d of 30 requests were slow", slow);
	expect_between(slow, 1, 3);
}

SCENARIO("an address that refuses costs nothing while another answers")
{
	begin("");
	names_are_at("127.0.0.4", "127.0.0.1");
	origin_says("/closes", .fields = "Cache-Control: no-store\r\n", .body = "old",
		    .close = true, .times = 1000);
	edge_start();
	for (int i = 0; i < 20; i++)
		expect_answer(get("/closes"), 200, "old");
}

SCENARIO("https servers are found the same way, whatever their name in TLS is")
{
	by_http_only();
	begin_names();
	const char *cert =
		cert_write(text("%s/cert.pem", kit_dir()), .names = "tls.example,web.test");
	origin_tls(cert, cert);
	names_are_at("127.0.0.4", "127.0.0.1"); /* the first refuses */
	origin_says("*", .fields = "Cache-Control: no-store\r\n", .body = "hello", .close = true,
		    .times = 100);
	edge_yaml(text("origins:\n"
		       "  - { name: a, url: \"https://web.test:%u\", ca_file: %s }\n"
		       "  - { name: b, url: \"https://web.test:%u\", ca_file: %s, server_name: "
		       "tls.example }\n"
		       "routes:\n  - { path: /b, origin: b }\n",
		       origin_port(), cert, origin_port(), cert));
	edge_start();
	for (int i = 0; i < 4; i++) {
		expect_answer(get("/a"), 200, "hello");
		expect_answer(get("/b"), 200, "hello");
	}
}

SCENARIO("twice check names what cannot be looked up, and a reload finds new names first")
{
	begin("");
	names_fail(NXDOMAIN);
	write_file(text("%s/t.yaml", kit_dir()), "cache: { dir: none }\nlisten: '127.0.0.1:0'\n"
						 "admin: off\norigins:\n  - http://gone.test\n");
	struct output o = program(edge_binary(), "check", "-c", text("%s/t.yaml", kit_dir()));
	expect_int(o.status, 0);
	expect_that(strstr(o.err, "t.yaml:5: origins.url: no address of gone.test can be found"),
		    "%s", o.err);
	names_are_at("127.0.0.1", NULL);
	edge_start();
	expect(is_served_by("old"));
	write_file(text("%s/twice.yaml", kit_dir()),
		   text("workers: 1\nresolve: 1h\norigins:\n  - url: http://other.test:%u\n",
			origin_port()));
	o = program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()));
	expect_that(o.status == 0 && strstr(o.out, "resolve"), "%s%s", o.out, o.err);
	expect(is_served_by("old"));
	expect_text(heard_field(origin_last(), "Host"), heard_field(origin_request(0), "Host"));
}
