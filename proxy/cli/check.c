/* check.c - `twice check`: is this configuration right, and what does it come to? */
#include "proxy/cli/settings.h"

static const char about[] =
	"Checks a configuration and prints the effective one, defaults included, "
	"with what each\nsetting means. Exit code 2 when something is wrong.";

int
cmd_check(int argc, char **argv)
{
	struct settings s;
	int exit_code;
	if (settings_init(&s, "check", about, argc, argv, &exit_code) < 0)
		return exit_code;
	config_print(&s.config, stdout);
	settings_fini(&s);
	return fflush(stdout) == 0 ? CLI_FINE : CLI_FAILED;
}
