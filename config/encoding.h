/* encoding.h - settings `accept_encoding`: the content codings (RFC 9110 8.4) that origins are asked for.
 *
 * Memory    words are owned by the config.
 */
#ifndef CONFIG_ENCODING_H
#define CONFIG_ENCODING_H

struct config;
struct config_route;

struct config_encoding {
	char **words;
	unsigned count;
};

/* The names of codings in the order of the list, best first: those of the route, or of all where it
 * has none (r may be NULL). None: the list says "none", and origins are sent what clients want. */
enum { CONFIG_CODINGS_MOST = 3 };
unsigned config_encoding_names(const struct config *c, const struct config_route *r,
			       const char *names[CONFIG_CODINGS_MOST]);
/* The fault of a list, a sentence for people, and the word that it is about; NULL: none. */
const char *config_encoding_fault(const struct config_encoding *list, const char **word);

#endif
