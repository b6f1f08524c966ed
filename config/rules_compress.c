/* rules_compress.c - which media types are packed. */
#include "config/rules_inside.h"

#include "config/units.h"

#include <string.h>

static bool
is_alone(const char *type)
{
	return strcmp(type, "default") == 0 || strcmp(type, "none") == 0;
}

const char *
rules_of_compress(const struct config *c, char *err, size_t err_bytes)
{
	const struct config_compress *p = &c->admission.compress;
	for (unsigned i = 0; i < p->type_count; i++) {
		const char *type = p->types[i];
		if (is_alone(type) && p->type_count > 1)
			return rules_wrong("compress.types", err, err_bytes,
					   "%s is for all types, or none, and there are others; "
					   "leave it out, or write it alone",
					   type);
		if (!is_alone(type) && strcmp(type, "*") != 0 && !units_is_type(type, strlen(type)))
			return rules_wrong(
				"compress.types", err, err_bytes,
				"\"%.60s\" is no media type; write such as "
				"application/json, text/* for all of text, or * for all, "
				"without parameters",
				type);
	}
	return NULL;
}
