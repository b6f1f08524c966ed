/* rules_say.c - the sentence about a rule that is broken, and which setting breaks it. */
#include "config/rules_inside.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *
config_name(const char *setting, char out[CONFIG_NAME_BYTES])
{
	size_t n = 0;
	for (const char *p = setting; *p && n < CONFIG_NAME_BYTES - 1; p++)
		if (*p == '.' && isdigit((unsigned char)p[1]))
			p += strspn(p + 1, "0123456789");
		else
			out[n++] = *p;
	out[n] = '\0';
	return out;
}

const char *
rules_wrong(const char *setting, char *err, size_t err_bytes, const char *fmt, ...)
{
	char name[CONFIG_NAME_BYTES];
	size_t at = (size_t)snprintf(err, err_bytes, "%s: ", config_name(setting, name));
	va_list args;
	va_start(args, fmt);
	vsnprintf(err + at, err_bytes - at, fmt, args);
	va_end(args);
	return setting;
}

/* A copy, of the thread. */
const char *
rules_kept(const char *setting)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	snprintf(name, sizeof(name), "%s", setting);
	return name;
}

/* "routes.2.query"; of the thread. */
const char *
rules_indexed(const char *list, unsigned i, const char *key)
{
	static _Thread_local char name[CONFIG_NAME_BYTES];
	snprintf(name, sizeof(name), "%s.%u.%s", list, i, key);
	return name;
}
