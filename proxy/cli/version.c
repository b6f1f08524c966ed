/* version.c - the only file that a new commit makes stale. */
#include "proxy/cli/cli.h"

const char cli_version[] = TWICE_VERSION;
