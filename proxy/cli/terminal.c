/* terminal.c - the size of a terminal. */
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

int
terminal_rows(void)
{
	struct winsize size;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}
