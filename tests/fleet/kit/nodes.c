/* nodes.c - processes, their files, and what they say. */
#include "tests/fleet/kit/nodes.h"
#include "tests/fleet/kit/cut.h"
#include "tests/kit/inside.h"
#include "tests/kit/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODES_MOST = 16 };

struct node {
	char *name, *more;
	pid_t pid; /* 0: it does not run */
	unsigned admin;
	int starts;
};

static struct node nodes[NODES_MOST];
static unsigned count;
static pid_t engine;
static const char *of_cache = "";

/* ---- the engine ---------------------------------------------------------------------------- */

static const char *
socket_path(void)
{
	return text("%s/redis", kit_dir());
}

static const char *
engine_log(void)
{
	return text("%s/redis.log", kit_dir());
}

static bool
engine_answers(void)
{
	siginfo_t end = {0};
	if (waitid(P_PID, (id_t)engine, &end, WEXITED | WNOHANG | WNOWAIT) || end.si_pid)
		fail("redis-server has ended:\n%s", program("tail", engine_log()).out);
	return strcmp(engine_ask("PING"), "PONG\n") == 0;
}

static void
start_engine(const char *const *more)
{
	const char *argv[32] = {"redis-server", "--port", "0",	   "--unixsocket", socket_path(),
				"--save",	"",	  "--dir", kit_dir()};
	int n = 9;
	needs("redis-server");
	needs("redis-cli");
	by_http_only();
	by_h1_only();
	while (*more)
		argv[n++] = *more++;
	argv[n] = NULL;
	int log = open(engine_log(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	engine = kit_spawn(argv, (const int[]){-1, log, log});
	close(log);
	wait_until(engine_answers());
}

void
engine_start(void)
{
	start_engine((const char *const[]){NULL});
}

unsigned
engine_start_tls(const char *ca, const char *cert, const char *key)
{
	/* Of this address alone the port is reserved. */
	unsigned port = edge_reserve_port();
	start_engine((const char *const[]){"--bind", "127.0.0.1", "--tls-port", text("%u", port),
					   "--tls-cert-file", cert, "--tls-key-file", key,
					   "--tls-ca-cert-file", ca, NULL});
	return port;
}

void
engine_kill(void)
{
	kill(engine, SIGKILL);
	expect_int(kit_reap(engine, KIT_FOREVER), -SIGKILL);
	engine = 0;
}

void
engine_pause(void)
{
	kit_stand_still(engine);
}

void
engine_resume(void)
{
	kill(engine, SIGCONT);
}

const char *
engine_ask(const char *command)
{
	const char *argv[16] = {"redis-cli", "-s", socket_path()};
	int n = 3;
	for (char *rest = strdup(command), *word; (word = strsep(&rest, " ")) && n < 15;)
		argv[n++] = word;
	argv[n] = NULL;
	return run_program(argv).out;
}

/* ---- files --------------------------------------------------------------------------------- */

const char *
nodes_secret(bool ours)
{
	const char *path = text("%s/%s", kit_dir(), ours ? "secret" : "other");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const char *bytes =
		text("the %s secret of a fleet, of 32 bytes and more\n", ours ? "only" : "other");
	expect(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
	close(fd);
	return path;
}

const char *
node_dir(const struct node *n)
{
	return text("%s/%s", kit_dir(), n->name);
}

static const char *
said_path(const struct node *n)
{
	return text("%s/%s.said", kit_dir(), n->name);
}

static bool
has_line(const char *lines, const char *setting)
{
	return lines && strstr(lines, text("%s:", setting)) != NULL;
}

static const char *
line_unless(const char *lines, const char *setting, const char *value)
{
	return has_line(lines, setting) ? "" : text("  %s: %s\n", setting, value);
}

void
nodes_cache(const char *more)
{
	of_cache = text(", %s", more);
}

static const char *
settings_of(const struct node *n)
{
	const char *more = n->more ? n->more : "", *path = text("%s/%s.yaml", kit_dir(), n->name);
	FILE *f = fopen(path, "w");
	expect(f != NULL);
	fprintf(f,
		"listen: [ \"127.0.0.1:0\" ]\nadmin: \"127.0.0.1:0\"\nworkers: 1\n"
		"origins: [ { url: \"%s\" } ]\nadmission: { capacity: 200k }\n"
		"cache: { dir: %s, disk: 64MiB, memory: 8MiB, purge_from: [ 127.0.0.0/8 ]%s }\nfleet:\n%s%s%s%s%s%s",
		origin_url(), node_dir(n), of_cache,
		has_line(more, "members")
			? ""
			: line_unless(more, "engine", text("[ \"unix:%s\" ]", socket_path())),
		line_unless(more, "listen", "\"127.0.0.1:0\""),
		line_unless(more, "networks", "[ 127.0.0.0/8 ]"),
		line_unless(more, "secret_file", nodes_secret(true)),
		line_unless(more, "name", n->name), more);
	fclose(f);
	return path;
}

/* ---- life ---------------------------------------------------------------------------------- */

static const char *
all_said(const struct node *n)
{
	struct heap h = {0};
	char bytes[4096];
	ssize_t got;
	int fd = open(said_path(n), O_RDONLY | O_CLOEXEC);
	heap_add(&h, "", 0);
	while (fd >= 0 && (got = read(fd, bytes, sizeof bytes)) > 0)
		heap_add(&h, bytes, (size_t)got);
	if (fd >= 0)
		close(fd);
	return h.p;
}

bool
node_said(const struct node *n, const char *words)
{
	return strstr(all_said(n), words) != NULL;
}

static void
spawn(struct node *n)
{
	const char *const argv[] = {edge_binary(), "run", "-c", settings_of(n), NULL};
	int said = open(said_path(n), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	expect(said >= 0);
	cut_lends(node_dir(n));
	n->pid = kit_spawn(argv, (const int[]){-1, said, said});
	cut_takes_back();
	n->starts++;
	close(said);
}

/* The line "admin on 127.0.0.1:PORT" of this start. */
static unsigned
admin_said(const struct node *n)
{
	static const char words[] = "admin on 127.0.0.1:";
	const char *p = all_said(n);
	for (int i = 0; i < n->starts && p; i++) {
		p = strstr(p, words);
		p = p ? p + sizeof words - 1 : NULL;
	}
	return p && strchr(p, '\n') ? (unsigned)strtoul(p, NULL, 10) : 0;
}

static bool
has_ended(const struct node *n)
{
	return waitpid(n->pid, NULL, WNOHANG) != 0;
}

static void
start(struct node *n)
{
	spawn(n);
	wait_until((n->admin = admin_said(n)) || has_ended(n));
	expect_that(n->admin != 0, "node %s did not start: %s", n->name, all_said(n));
}

static struct node *
add(const char *name, const char *more)
{
	struct node *n = &nodes[count++];
	expect(count <= NODES_MOST);
	n->name = strdup(name);
	n->more = more ? strdup(more) : NULL;
	return n;
}

struct node *
node_start(const char *name, const char *more)
{
	struct node *n = add(name, more);
	by_http_only();
	by_h1_only();
	start(n);
	return n;
}

static void
await_end(struct node *n, int want)
{
	int status = kit_reap(n->pid, KIT_FOREVER);
	n->pid = 0;
	expect_that(status == want, "node %s ended with %d: %s", n->name, status, all_said(n));
}

void
node_stop(struct node *n)
{
	kill(n->pid, SIGTERM);
	await_end(n, 0);
}

void
node_kill9(struct node *n)
{
	kill(n->pid, SIGKILL);
	await_end(n, -SIGKILL);
}

void
node_pause(struct node *n)
{
	kit_stand_still(n->pid);
}

void
node_resume(struct node *n)
{
	kill(n->pid, SIGCONT);
}

void
node_restart(struct node *n, const char *more)
{
	if (n->pid)
		node_stop(n);
	if (more)
		n->more = strdup(more);
	start(n);
}

void
node_rewrite(struct node *n, const char *more)
{
	n->more = strdup(more);
	settings_of(n);
}

void
node_reload(struct node *n, const char *more)
{
	node_rewrite(n, more);
	struct answer a = node_admin(n, "POST", "/reload");
	expect_that(a.status == 200, "the reload was refused: %s", a.body);
}

void
node_upgrade(struct node *n)
{
	struct answer a = {0};
	expect_status(node_admin(n, "POST", "/upgrade"), 200);
	wait_until((a = node_admin(n, "GET", "/upgrade")).status == 200 &&
		   !strstr(a.body, "\"running\""));
	json_t *json = json_loadb(a.body, a.body_bytes, 0, NULL);
	expect_text(json_string_value(json_object_get(json, "state")), "done");
	pid_t before = n->pid;
	n->pid = (pid_t)json_integer_value(json_object_get(json, "pid"));
	expect_int(kit_reap(before, KIT_FOREVER), 0);
}

struct node *
node_copy(const struct node *n, const char *name)
{
	expect(n->pid == 0);
	struct node *to = add(name, n->more);
	struct output cp = program("cp", "-a", node_dir(n), node_dir(to));
	expect_that(cp.status == 0, "cp: %s", cp.err);
	return to;
}

const char *
node_refuses(const char *name, const char *more)
{
	struct node *n = add(name, more);
	spawn(n);
	int status = kit_reap(n->pid, KIT_FOREVER);
	n->pid = 0;
	expect_that(status > 0, "node %s ended with %d: %s", name, status, all_said(n));
	return all_said(n);
}

void
nodes_end(void)
{
	for (unsigned i = 0; i < count; i++)
		if (nodes[i].pid)
			kill(nodes[i].pid, SIGTERM);
	for (unsigned i = 0; i < count; i++)
		if (nodes[i].pid)
			await_end(&nodes[i], 0);
	if (engine)
		engine_kill();
}

/* ---- what they know ------------------------------------------------------------------------ */

struct answer
node_admin(const struct node *n, const char *method, const char *target)
{
	struct client *c = client_open_to(n->admin);
	client_send(c,
		    text("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method,
			 target, strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : ""));
	struct answer a = client_read(c, method);
	client_close(c);
	return a;
}

static json_t *
json_of(const struct node *n, const char *target)
{
	struct answer a = node_admin(n, "GET", target);
	return a.status == 200 ? json_loadb(a.body, a.body_bytes, 0, NULL) : NULL;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *
word_of(const json_t *of, const char *key)
{
	return json_string_value(json_object_get(of, key));
}

const char *
node_sees(const struct node *n)
{
	json_t *m, *top = json_of(n, "/fleet");
	const char *words[NODES_MOST];
	struct heap h = {0};
	size_t i, known = 0;
	json_array_foreach(json_object_get(top, "members"), i, m)
	{
		if (known < NODES_MOST)
			words[known++] = text("%s%s%s", word_of(m, "node"),
					      strcmp(word_of(m, "state"), "in") ? "*" : "",
					      json_is_true(json_object_get(m, "well")) ? "" : "?");
	}
	qsort(words, known, sizeof *words, by_text);
	heap_add(&h, "", 0);
	for (i = 0; i < known; i++)
		heap_text(&h, i ? " %s" : "%s", words[i]);
	return h.p;
}

static const json_t *
member_of(const struct node *n, const char *name)
{
	size_t i;
	json_t *m;
	json_array_foreach(json_object_get(json_of(n, "/fleet"), "members"), i, m)
	{
		if (strcmp(word_of(m, "node"), name) == 0)
			return m;
	}
	fail("node %s sees no %s: %s", n->name, name, node_sees(n));
}

double
node_share(const struct node *n, const char *of)
{
	return 100 * json_number_value(json_object_get(member_of(n, of), "share"));
}

const char *
node_id(const struct node *n)
{
	return word_of(member_of(n, n->name), "id");
}

const char *
node_address(const struct node *n)
{
	return word_of(member_of(n, n->name), "address");
}

double
node_stat(const struct node *n, const char *path)
{
	const json_t *at = json_of(n, "/stats");
	for (char *rest = strdup(path), *key; (key = strsep(&rest, "."));)
		at = json_object_get(at, key);
	return json_number_value(at);
}

void
nodes_expect_sum(struct node *const *of, unsigned n, const char *path, double value)
{
	double sum;
	char what[128];
	snprintf(what, sizeof what, "%s to be %g", path, value);
	struct kit_wait w = kit_wait_begin(NULL, 0, what);
	for (;; kit_pause_since(w.begun_ms)) {
		sum = 0;
		for (unsigned i = 0; i < n; i++)
			sum += node_stat(of[i], path);
		if (sum == value)
			break;
		if (sum > value && !stat_is_gauge(path))
			fail("expected %s to be %g, it is %g", path, value, sum);
		kit_wait_is_at(&w, sum);
	}
	kit_wait_end(&w);
}

void
node_expect_stat(struct node *n, const char *path, double value)
{
	nodes_expect_sum(&n, 1, path, value);
}

struct output
node_command(const struct node *n, const char *a, const char *b)
{
	return node_twice(n, "fleet", a, b, NULL);
}

/* ---- clients ------------------------------------------------------------------------------- */

/* The last line "listening on 127.0.0.1:PORT", of which each start has one; 0: there is none yet. */
static unsigned
port_said(const struct node *n)
{
	static const char words[] = "listening on 127.0.0.1:";
	unsigned port = 0;
	int lines = 0;
	for (const char *p = all_said(n); (p = strstr(p, words)); p += sizeof words - 1)
		if (strchr(p, '\n')) {
			port = (unsigned)strtoul(p + sizeof words - 1, NULL, 10);
			lines++;
		}
	return lines >= n->starts ? port : 0;
}

unsigned
node_port(const struct node *n)
{
	unsigned port;
	wait_until((port = port_said(n)));
	return port;
}

struct answer
node_ask(const struct node *n, const char *method, const char *target, const char *fields)
{
	struct client *c = client_open_to(node_port(n));
	client_send(c, text("%s %s HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n%s\r\n",
			    method, target, fields ? fields : ""));
	struct answer a = client_read(c, method);
	client_close(c);
	return a;
}

struct answer
node_get(const struct node *n, const char *target)
{
	return node_ask(n, "GET", target, NULL);
}

static json_t *
owners_of(const struct node *n, const char *target)
{
	struct answer a = node_admin(n, "GET", text("/fleet?url=http://example.com%s", target));
	expect_status(a, 200);
	return json_loadb(a.body, a.body_bytes, 0, NULL);
}

const char *
node_owner(const struct node *n, const char *target)
{
	json_t *json = owners_of(n, target);
	const char *name =
		text("%s", word_of(json_array_get(json_object_get(json, "owners"), 0), "node"));
	json_decref(json);
	return name;
}

struct node *
nodes_owner(struct node *const *of, const char *target)
{
	return of[node_owner(of[0], target)[0] - 'a'];
}

struct node *
nodes_other(struct node *const *of, const struct node *n)
{
	return of[0] == n ? of[1] : of[0];
}

const char *
node_across(const struct node *n, const char *target)
{
	json_t *json = owners_of(n, target), *there = json_object_get(json, "across");
	const char *name = json_is_object(there) ? text("%s", word_of(there, "node")) : "";
	json_decref(json);
	return name;
}

struct output
node_purge(const struct node *n, const char *a, const char *b, const char *c)
{
	return node_twice(n, "purge", a, b, c);
}

void
node_purges(const struct node *n, const char *query)
{
	enum { LONGEST_MS = 10000 };
	struct answer a = node_admin(n, "POST", text("/purge?%s&wait=%d", query, LONGEST_MS));
	expect_that(a.status == 200, "it is answered with %d: %s", a.status, a.body);
}

void
node_purges_url(const struct node *n, const char *target)
{
	node_purges(n, text("url=http://example.com%s", target));
}

struct output
node_twice(const struct node *n, const char *command, const char *a, const char *b, const char *c)
{
	const char *argv[16] = {
		edge_binary(), command, "--admin", text("127.0.0.1:%u", n->admin), a, b, c, NULL};
	return run_program(argv);
}

unsigned
node_admin_port(const struct node *n)
{
	return n->admin;
}
