/* terminal.c - how wide stderr is. */
#include "proxy/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

int
terminal_columns(void)
{
	struct winsize size;
	if (!isatty(STDERR_FILENO))
		return 0;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
