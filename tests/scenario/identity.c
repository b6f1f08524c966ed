/* Root starts it, and it becomes the user that the settings name. */
#include "tests/kit/kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *user = "daemon";

static uid_t
user_id(void)
{
	const struct passwd *p = getpwnam(user);
	if (geteuid() != 0 || !p)
		skip("only root can become the user %s", user);
	return p->pw_uid;
}

static bool
belongs_to(const char *pid, uid_t uid)
{
	char line[256];
	unsigned real = 0;
	FILE *f = fopen(text("/proc/%s/status", pid), "r");
	bool found = false;
	while (!found && f && fgets(line, sizeof line, f))
		found = sscanf(line, "Uid: %u", &real) == 1;
	if (f)
		fclose(f);
	return found && real == uid;
}

/* Those that have ended and whose end nobody has asked for yet count too, as they do for the limit. */
static int
processes_of(uid_t uid)
{
	int n = 0;
	DIR *d = opendir("/proc");
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9' && belongs_to(e->d_name, uid);
	if (d)
		closedir(d);
	return n;
}

/* Those of a proxy's processes that it has left to this one, and that have ended. */
static void
reap_orphans(void)
{
	for (;;) {
		siginfo_t who = {.si_pid = 0};
		if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) < 0 || !who.si_pid ||
		    who.si_pid == edge_pid())
			return;
		waitpid(who.si_pid, NULL, 0);
	}
}

/* For limits on all processes of a user: one that nobody is now. Those of earlier tests count for as long as
 * the first process of the machine has not asked for their end. */
static uid_t
alone(void)
{
	static const char *const names[] = {"games", "lp",  "news",   "uucp",
					    "list",  "irc", "backup", "bin"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct passwd *p = getpwnam(names[i]);
		if (!p || processes_of(p->pw_uid) > 0)
			continue;
		user = names[i];
		return user_id();
	}
	skip("there is no user that nobody is");
}

/* The user may look up names in the scenario's directory, and no more, and may start the program wherever
 * the clone lies: from a copy. */
static uid_t
ready(const char *more)
{
	uid_t uid = user_id();
	chmod(kit_dir(), 0711);
	const char *copy = text("%s/twice", kit_dir());
	if (access(copy, X_OK) != 0)
		expect_int(program("cp", edge_binary(), copy).status, 0);
	setenv("TWICE", copy, 1);
	edge_yaml(text("user: %s\n%s", user, more));
	return uid;
}

static char *
path_of(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

static void
expect_owner(const char *path, uid_t uid)
{
	struct stat st;
	expect_that(lstat(path, &st) == 0, "there is no %s", path);
	expect_that(st.st_uid == uid, "%s belongs to %u", path, st.st_uid);
}

/* A line of /proc/PID/status, its name left out. */
static char *
status_line(const char *name)
{
	static char line[256];
	FILE *f = fopen(text("/proc/%d/status", (int)edge_pid()), "r");
	bool found = false;
	while (!found && f && fgets(line, sizeof line, f))
		found = strncmp(line, name, strlen(name)) == 0;
	fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return found ? strdup(line + strlen(name) + 1) : NULL;
}

static struct output
checked(const char *yaml)
{
	const char *bin = edge_binary();
	FILE *f = fopen(path_of("check.yaml"), "w");
	fprintf(f, "admin: off\norigins: http://a\n%s", yaml);
	fclose(f);
	return program(bin, "check", "-c", path_of("check.yaml"));
}

static void
expect_finding(struct output o, const char *words)
{
	expect_int(o.status, 2);
	expect_that(strstr(o.err, words), "no \"%s\" in: %s", words, o.err);
}

SCENARIO("root becomes the user, whose are the cache, the log and the socket's directory")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	uid_t uid = ready(text("listen: [ \"127.0.0.1:0\", \"unix:%s/run/t.sock\" ]\n"
			       "access_log: %s/access.log\n",
			       kit_dir(), kit_dir()));
	edge_start();
	char *all_four = text("%u\t%u\t%u\t%u", uid, uid, uid, uid);
	expect_text(status_line("Uid:"), all_four);
	expect_that(!edge_said("as root"), "it says that it is root");
	get("/x");
	get("/x");
	expect_hit(get("/x"));
	expect_owner(edge_cache_dir(), uid);
	expect_owner(text("%s/seed", edge_cache_dir()), uid);
	expect_owner(path_of("access.log"), uid);
	expect_owner(path_of("run"), uid);
	expect_owner(path_of("run/t.sock"), uid);
	expect(edge_stat("process.open_fds") > 0); /* /proc/self can still be read */
	edge_restart();
	expect_hit(get("/x"));
}

SCENARIO("one capability is kept, and there is no way to more")
{
	ready("");
	edge_start();
	expect_text(status_line("CapEff:"), "0000000000000400"); /* CAP_NET_BIND_SERVICE */
	expect_text(status_line("CapPrm:"), "0000000000000400");
	expect_text(status_line("CapBnd:"), "0000000000000400");
	expect_text(status_line("NoNewPrivs:"), "1");
}

SCENARIO("as that user it listens on a port below 1024")
{
	origin_says("/x", .body = "hello");
	char *says = NULL;
	for (int port = 1000 - getpid() % 300, tries = 0; tries < 50; port--, tries++) {
		ready(text("listen: [ \"127.0.0.1:%d\" ]\n", port));
		if (edge_refuses_or_runs(&says) == 0) {
			expect_int(get("/x").status, 200);
			return;
		}
		expect_that(strstr(says, "in use"), "%s", says);
	}
	skip("all ports that were tried are in use");
}

SCENARIO("what an earlier run as root has left goes to the user")
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	user_id();
	edge_yaml("user: root\n");
	edge_start("--admin", "127.0.0.1:0");
	get("/x");
	get("/x");
	expect_that(!edge_said("as root"), "it was told to be root");
	edge_stop();
	expect_owner(edge_cache_dir(), 0);
	uid_t uid = ready("");
	edge_start();
	expect_owner(text("%s/seed", edge_cache_dir()), uid);
	expect_hit(get("/x"));
}

SCENARIO("a directory of root's that is no cache is not given away")
{
	ready("");
	mkdir(edge_cache_dir(), 0755);
	fclose(fopen(text("%s/thesis.tex", edge_cache_dir()), "w"));
	char *says = NULL;
	expect_int(edge_refuses(&says), 2);
	expect_that(strstr(says, "cannot write in"), "%s", says);
	expect_owner(edge_cache_dir(), 0);
	expect_owner(text("%s/thesis.tex", edge_cache_dir()), 0);
}

SCENARIO("root that was not told to stay root is warned of")
{
	user_id();
	edge_start();
	wait_until(edge_said("everything runs as root; write user:"));
}

SCENARIO("check tries as the user: what that user cannot read is a finding, and nothing is made")
{
	user_id();
	chmod(kit_dir(), 0711);
	mkdir(path_of("etc"), 0755);
	struct output o = program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
				  "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=a", "-keyout",
				  path_of("etc/a.key"), "-out", path_of("etc/a.pem"));
	expect_that(o.status == 0, "%s", o.err);
	chmod(path_of("etc/a.key"), 0600);
	char *yaml = text("listen: 'https://127.0.0.1:0'\ntls:\n  certificates: [ %s/etc ]\n"
			  "cache:\n  dir: %s/lib/cache\n  disk: 8MiB\n",
			  kit_dir(), kit_dir());
	o = checked(text("user: root\n%s", yaml));
	expect_that(o.status == 0, "%s", o.err);
	yaml = text("%sadmin_socket: %s/run/admin.sock\n", yaml, kit_dir()); /* root makes run */
	expect_finding(checked(text("user: %s\n%s", user, yaml)), "Permission denied");
	chmod(path_of("etc/a.key"), 0644);
	o = checked(text("user: %s\n%s", user, yaml));
	expect_that(o.status == 0, "%s", o.err); /* root would make the cache's directory */
	expect_that(access(path_of("lib"), F_OK) != 0, "check has made a directory");

	mkdir(path_of("lib"), 0700);
	mkdir(path_of("lib/cache"), 0700);
	fclose(fopen(path_of("lib/cache/thesis.tex"), "w"));
	expect_finding(checked(text("user: %s\n%s", user, yaml)), "cache.dir");
}

SCENARIO("a user or group that is not there, or that one cannot become, is named with a way out")
{
	const char *more = "listen: '127.0.0.1:0'\ncache: { dir: none }\n";
	expect_finding(checked(text("user: no-such-user\n%s", more)), "adduser --system");
	expect_finding(checked(text("user: root\ngroup: no-such-group\n%s", more)), "addgroup");
	expect_finding(checked(text("group: root\n%s", more)), "counts only beside user");
	user_id();
	const char *bin = edge_binary();
	chmod(kit_dir(), 0711);
	struct output o = program("setpriv", text("--reuid=%s", user), "--clear-groups", bin,
				  "check", "-c", path_of("check.yaml"));
	expect_finding(o, "group");
	checked(text("user: root\n%s", more));
	o = program("setpriv", text("--reuid=%s", user), "--clear-groups", bin, "check", "-c",
		    path_of("check.yaml"));
	expect_finding(o, "only root can become");
}

SCENARIO("a group that the program does not run with, and cannot take, is named")
{
	const char *bin = edge_binary();
	user_id();
	chmod(kit_dir(), 0711);
	checked(text("user: %s\ngroup: nogroup\nlisten: '127.0.0.1:0'\ncache: { dir: none }\n",
		     user));
	struct output o = program("setpriv", text("--reuid=%s", user), text("--regid=%s", user),
				  "--clear-groups", bin, "check", "-c", path_of("check.yaml"));
	expect_finding(o, "group");
	expect_that(strstr(o.err, "only root can take the group \"nogroup\""), "%s", o.err);
	o = program("setpriv", text("--reuid=%s", user), "--regid=nogroup", "--clear-groups", bin,
		    "check", "-c", path_of("check.yaml"));
	expect_that(o.status == 0, "%s%s", o.out, o.err);
}

SCENARIO("too few threads for that user, wherever they end: the start is refused with a sentence")
{
	enum { THREADS_MOST = 64 };
	struct rlimit limit;
	char *says = NULL;
	int refused = 0, status = 1;
	alone();
	expect_int(getrlimit(RLIMIT_NPROC, &limit), 0);
	for (rlim_t n = 1; n <= THREADS_MOST && status; n++) {
		limit.rlim_cur = n; /* root itself is above it */
		expect_int(setrlimit(RLIMIT_NPROC, &limit), 0);
		ready("workers: 3\n");
		status = edge_refuses_or_runs(&says);
		expect_that(status == 0 || (status == 1 && strstr(says, "thread")),
			    "with %d: status %d: %s", (int)n, status, says);
		refused += status != 0;
	}
	expect(refused > 0);
	expect_int(status, 0);
	origin_says("/x", .body = "hello");
	expect_answer(get("/x"), 200, "hello");
}

/* A process of that user, which does nothing. */
static pid_t
idle_process(uid_t uid)
{
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null",
				O_RDWR); /* who reads what the scenario says waits for us else */
		if (setuid(uid) || prctl(PR_SET_PDEATHSIG, SIGKILL) || dup2(null, 1) < 0 ||
		    dup2(null, 2) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	expect(pid > 0);
	return pid;
}

SCENARIO_IN(
	90,
	"an upgrade for which threads are lacking, wherever: refused, and the old process serves")
{
	enum { OTHERS = 45 };
	pid_t others[OTHERS];
	struct rlimit limit;
	struct output o = {.status = 1};
	int pid = 0, n = OTHERS;
	uid_t uid = alone();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	ready("workers: 3\n");
	edge_start();
	get("/x");
	get("/x");
	expect_int(getrlimit(RLIMIT_NPROC, &limit), 0);
	limit.rlim_cur = (rlim_t)atoi(status_line("Threads:")) + OTHERS;
	edge_stop();
	expect_int(setrlimit(RLIMIT_NPROC, &limit), 0);
	edge_restart();
	for (int i = 0; i < OTHERS; i++)
		others[i] = idle_process(uid);
	while (n && o.status) {
		o = program(edge_binary(), "upgrade", "--admin",
			    text("127.0.0.1:%u", edge_admin_port()));
		expect_that(o.status == 0 || strstr(o.err, "thread") ||
				    strstr(o.err, "Resource temporarily unavailable"),
			    "beside %d others: %s", n, o.err);
		expect_hit(get("/x"));
		kill(others[--n], SIGKILL);
		waitpid(others[n], NULL, 0);
		/* A process that was refused counts against the next one until somebody has asked for its end. */
		wait_until(o.status == 0 || (reap_orphans(), processes_of(uid) <= n + 1));
	}
	expect(n > 0 && n < OTHERS - 1); /* some were refused */
	expect_that(sscanf(o.out, "process %d (", &pid) == 1, "%s%s", o.out, o.err);
	edge_becomes(pid, 0);
	expect_hit(get("/x"));
	while (n) {
		kill(others[--n], SIGKILL);
		waitpid(others[n], NULL, 0);
	}
}
