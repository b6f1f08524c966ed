/* check.c - `twice check`: is this configuration right, and what does it come to? */
#include "config/print.h"
#include "proxy/base/process.h"
#include "proxy/cli/settings.h"

static const char about[] =
	"Checks a configuration and prints the effective one, defaults included, with what each setting\n"
	"means. Exit code 2 when `twice run` on this machine would refuse it, or would do less than it\n"
	"says: every such finding is a line on stderr. A name of an origin that cannot be looked up, and\n"
	"what a route's `ignore` may break, are lines too, but no reason for that exit code.";

int
cli_check(int argc, char **argv)
{
	struct settings s;
	int exit_code;
	if (settings_init(&s, "check", about, argc, argv, &exit_code) < 0)
		return exit_code;
	unsigned found;
	config_print(&s.config, stdout);
	int result = fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
	process_raise_file_limit(); /* as a start does */
	settings_fit(&s, "check", SETTINGS_TRY, &found);
	settings_say_risks(&s, "check");
	settings_find_names(&s, "check");
	settings_fini(&s);
	return found ? CLI_USAGE : result;
}
