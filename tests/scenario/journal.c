/* Lines for systemd's journal begin with their priority (sd-daemon(3)), and only those. */
#include "tests/kit/kit.h"

#include <unistd.h>

/* stderr is a file, and JOURNAL_STREAM names it, or another one. */
static char *
stderr_of(const char *stream, const char *command)
{
	struct output o = program(
		"sh", "-c",
		text("exec 2>%s/said; JOURNAL_STREAM=%s; export JOURNAL_STREAM; %s; cat %s/said",
		     kit_dir(), stream, command, kit_dir()));
	return o.out;
}

static char *
run_for_a_while(void)
{
	return text("%s run --origin %s --cache none --listen 127.0.0.1:0 --admin off & p=$!; "
		    "until grep -q 'listening on' %s/said; do sleep 0.02; done; kill $p; wait $p",
		    edge_binary(), origin_url(), kit_dir());
}

SCENARIO("each line of a run in the journal has a priority: 6 for what happens, 4 for warnings")
{
	char *said = stderr_of(text("$(stat -Lc %%d:%%i %s/said)", kit_dir()), run_for_a_while());
	expect_that(strstr(said, "<6>twice: listening on"), "%s", said);
	if (geteuid() == 0)
		expect_that(strstr(said, "<4>2") &&
				    strstr(said, "Z warning: everything runs as root"),
			    "%s", said);
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n"))
		expect_that(line[0] == '<' && line[2] == '>', "%s", line);
}

SCENARIO("what ends a start is an error there")
{
	char *said = stderr_of(text("$(stat -Lc %%d:%%i %s/said)", kit_dir()),
			       text("%s run --listen nonsense", edge_binary()));
	expect_that(strncmp(said, "<3>twice run: --listen: ", 24) == 0, "%s", said);
}

SCENARIO("where stderr is not the journal that the variable names, nothing is put in front")
{
	static const char *const streams[] = {"8:1", "nonsense", ""};
	for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
		char *said = stderr_of(streams[i], text("%s run --listen nonsense", edge_binary()));
		expect_that(strncmp(said, "twice run: --listen: ", 21) == 0, "%s", said);
	}
}
