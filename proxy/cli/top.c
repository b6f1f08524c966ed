/* top.c - `twice top`: what is asked for most now. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/terminal.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LINES_WATCHED = 8, LINES_ONCE = 20 };
enum { TOP_JSON, TOP_ONCE, TOP_ADMIN };
static const struct flag rows[] = {
	[TOP_JSON] = {"--json", NULL, "print the answer of GET /top as it is, once", NULL},
	[TOP_ONCE] = {"--once", NULL, "print it once, also on a terminal", NULL},
	[TOP_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
		       NULL},
	{NULL, NULL, NULL, NULL},
};

/* Each line takes the place of an older one, of which nothing must stay behind it. */
static void
print_list(const json_t *top, const char *key, const char *title, size_t most, const char *end)
{
	const json_t *list = json_object_get(top, key);
	printf("%s%s", title, end);
	if (!json_array_size(list))
		printf("  nothing%s", end);
	for (size_t i = 0; i < json_array_size(list) && i < most; i++) {
		const json_t *one = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(one, "name"));
		printf("  %5.1f%%  %.100s%s",
		       100 * json_number_value(json_object_get(one, "share")), name ? name : "",
		       end);
	}
}

/* Four lists, each with a title, and the cursor's line. */
static size_t
lines_watched(void)
{
	int lines = (terminal_rows() - 1) / 4 - 1;
	return lines < 1 ? 1 : lines < LINES_WATCHED ? (size_t)lines : LINES_WATCHED;
}

static void
print_top(const json_t *top, bool in_place)
{
	const char *end = in_place ? "\033[K\n" : "\n";
	size_t most = in_place ? lines_watched() : LINES_ONCE;
	if (in_place)
		printf("\033[H");
	print_list(top, "urls", "URLs, of all requests", most, end);
	print_list(top, "hosts", "hosts, of all requests", most, end);
	print_list(top, "first_sight_bytes",
		   "asked for the first time, of the bytes kept off the disk", most, end);
	print_list(top, "admitted_bytes", "written to disk, of the bytes", most, end);
	printf("%s", in_place ? "\033[J" : "");
}

static int
show(const char *admin, bool as_it_is, bool in_place)
{
	struct buf answer = {0};
	char err[1024];
	enum asked asked = ask_admin(admin, "/top", NULL, &answer, err, sizeof err);
	json_t *top =
		asked == ASK_FINE ? ask_object(admin, &answer, "urls", err, sizeof err) : NULL;
	if (!top)
		cli_complain("top", "%s", err);
	else if (as_it_is)
		fwrite(answer.p, 1, answer.n, stdout);
	else
		print_top(top, in_place);
	int result = asked != ASK_FINE ? ask_exit_code(asked) : top ? CLI_FINE : CLI_FAILED;
	json_decref(top);
	buf_fini(&answer);
	return fflush(stdout) == 0 ? result : CLI_FAILED;
}

int
cli_top(int argc, char **argv)
{
	struct flags f = {
		.command = "top",
		.synopsis = "[--once] [--json] [--admin ADDR]",
		.about =
			"Shows which URLs and hosts are asked for most now, and whose bytes are kept off "
			"the disk and\nwritten to it. On a terminal it refreshes itself every second, "
			"until Ctrl-C. Requests a\nminute old count half.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ask_admin_default;
	bool json = false, once = !isatty(STDOUT_FILENO);
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD)
			i = flags_refuse(&f, "\"%s\" is not understood; see twice top --help",
					 f.value);
		if (i == FLAGS_EXIT)
			return f.exit_code;
		json |= i == TOP_JSON;
		once |= i == TOP_ONCE;
		if (i == TOP_ADMIN)
			admin = f.value;
	}
	if (!once && !json)
		printf("\033[H\033[J");
	int result = show(admin, json, !once && !json);
	while (!once && !json && result == CLI_FINE) {
		nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
		result = show(admin, json, true);
	}
	return result;
}
