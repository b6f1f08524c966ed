/* rules_readings.c - whether servers agree on what a path is: a request for one that they read in more ways could not
 * be known to mean a route of that path (proxy/serve/routes/route.c), which would never apply.
 */
#include "config/rules_inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The byte that "%41" stands for; -1 when it is none. */
static int
encoded(const char *p)
{
	char hex[3] = {p[1], p[1] ? p[2] : '\0', '\0'};
	return isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])
		       ? (int)strtol(hex, NULL, 16)
		       : -1;
}

const char *
rules_many_readings(const char *path)
{
	for (const char *p = path; *p; p++) {
		int byte = *p == '%' ? encoded(p) : -1;
		bool only_so = byte >= 0x80 || (byte > 0 && strchr(" \"<>", byte));
		if (strchr(";\\", *p) || (*p == '%' && !only_so) || (unsigned char)*p < ' ' ||
		    *p == 0x7f)
			return p;
		if (strncmp(p, "//", 2) == 0 || strncmp(p, "/./", 3) == 0 ||
		    strncmp(p, "/../", 4) == 0)
			return p;
	}
	return NULL;
}
