/* own_settings.h - one configuration, read from a text and printed again. For unit tests, in one file of a
 * program.
 *
 * Memory    c is the test's to end (config_fini), and what printed returns to free.
 */
#ifndef KIT_OWN_SETTINGS_H
#define KIT_OWN_SETTINGS_H

#include "config/config.h"
#include "config/load.h"
#include "config/print.h"
#include "tests/kit/unit.h" /* before c, which its functions have too */

#include <stdio.h>
#include <string.h>

static struct config c;
static char err[1024];

static int
parse(const char *text)
{
	return config_parse(&c, "t.yaml", text, strlen(text), err, sizeof(err));
}

static char *
printed(const struct config *of)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	config_print(of, f);
	fclose(f);
	return text;
}

#endif
