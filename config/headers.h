/* headers.h - rules for header fields: which lines they set, add and remove, and which they may.
 *
 * Memory    name and value are views into the line.
 */
#ifndef CONFIG_HEADERS_H
#define CONFIG_HEADERS_H

#include "config/name.h"
#include "proxy/base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct config_headers;

/* Of "Name: value". False: it is no such line, or has bytes that no header has. */
bool headers_line(const char *line, struct str *name, struct str *value);
/* request: rules for what origins are sent, else for what clients are. Writes into setting, such as
 * "routes.2.request_headers", the list that is wrong, and into err what is wrong with it; NULL: nothing. */
const char *headers_check(const struct config_headers *h, bool request,
			  char setting[CONFIG_NAME_BYTES], char *err, size_t err_bytes);

#endif
