/* upgrade.c - `twice upgrade`: a new process of the program takes a running proxy's place. */
#include "proxy/base/clock.h"
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ANSWER_S: without an answer from either process the outcome is not known. */
enum { UPGRADE_ADMIN };
enum { ASK_EVERY_MS = 100, ANSWER_S = 30 };

static const struct flag rows[] = {
	[UPGRADE_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
			   NULL},
	{NULL, NULL, NULL, NULL},
};

/* NULL: no answer, and why in err. */
static json_t *
ask(const char *admin, bool begin, enum asked *asked, char *err, size_t err_bytes)
{
	struct buf answer = {0};
	json_t *json = NULL;
	*asked = ask_admin(admin, "/upgrade", begin ? "" : NULL, &answer, err, err_bytes);
	if (*asked == ASK_FINE) {
		json = json_loadb(answer.n ? answer.p : "", answer.n, 0, NULL);
		if (!json)
			snprintf(err, err_bytes, "%s does not answer as twice does", admin);
	}
	buf_fini(&answer);
	return json;
}

static const char *
text(const json_t *answer, const char *key)
{
	const char *s = json_string_value(json_object_get(answer, key));
	return s ? s : "";
}

static json_int_t
number(const json_t *answer, const char *key)
{
	return json_integer_value(json_object_get(answer, key));
}

/* Both processes answer, one after the other. The old one knows that it is done, and the new one who has done it. */
static json_t *
await_end(const char *admin, const json_t *begun, char *err, size_t err_bytes)
{
	enum asked asked;
	json_t *done = NULL; /* the old one's word, without the pid of the new one */
	int64_t answered_ms = now_ms();
	while (now_ms() - answered_ms < ANSWER_S * 1000) {
		json_t *a = ask(admin, false, &asked, err, err_bytes);
		const char *state = a ? text(a, "state") : "";
		bool by_old =
			strcmp(state, "done") == 0 && number(a, "pid") == number(begun, "pid");
		if (a && number(a, "id") != number(begun, "id")) {
			snprintf(err, err_bytes,
				 "%s answers for another upgrade, or was started anew", admin);
			json_decref(a);
			return done;
		}
		if (a && !by_old && strcmp(state, "running") != 0) {
			json_decref(done);
			return a;
		}
		if (a && !done)
			answered_ms = now_ms();
		if (by_old && !done)
			done = a;
		else
			json_decref(a);
		nanosleep(&(struct timespec){.tv_nsec = ASK_EVERY_MS * 1000000L}, NULL);
	}
	return done;
}

static int
upgrade(const char *admin)
{
	char err[1024] = "";
	enum asked asked;
	json_t *begun = ask(admin, true, &asked, err, sizeof(err));
	if (!begun) {
		cli_complain("upgrade", "%s", err);
		return asked == ASK_MALFORMED ? CLI_USAGE : CLI_FAILED;
	}
	json_int_t before = number(begun, "pid");
	json_t *end = await_end(admin, begun, err, sizeof(err));
	bool fine = end && strcmp(text(end, "state"), "done") == 0;
	if (fine && number(end, "pid") != before)
		printf("process %lld (twice %s) has taken the place of process %lld (twice %s)\n",
		       (long long)number(end, "pid"), text(end, "version"), (long long)before,
		       text(begun, "version"));
	else if (fine)
		printf("another process has taken the place of process %lld\n", (long long)before);
	else if (end)
		cli_complain("upgrade", "%s; process %lld serves on", text(end, "reason"),
			     (long long)before);
	else
		cli_complain("upgrade", "the outcome is not known: %s", err);
	json_decref(begun);
	json_decref(end);
	return fine && fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
}

int
cli_upgrade(int argc, char **argv)
{
	struct flags f = {
		.command = "upgrade",
		.synopsis = "[--admin ADDR]",
		.about =
			"Makes a running proxy start its program anew, from the same path and with the "
			"same arguments, as\nSIGUSR2 does. The new process reads the configuration, takes "
			"the listening sockets, what the filters\nknow and the cache, and then serves; the "
			"old one ends with its last client, or after timeouts.drain.\nIf anything fails, the "
			"old one serves on as before; the reason is printed and the exit code is 1.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ask_admin_default;
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			i = flags_refuse(&f, "\"%s\" is not understood; see twice upgrade --help",
					 f.value);
		if (i == FLAGS_EXIT)
			return f.exit_code;
		if (i == UPGRADE_ADMIN)
			admin = f.value;
	}
	return upgrade(admin);
}
