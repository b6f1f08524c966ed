/* rules_inside.h - what the files of the rules share: rules.c has those of the whole, rules_routes.c those
 * of a route (rules_match.c: which requests it is for; rules_lifetimes.c, rules_rewrite.c: some of its
 * settings), rules_compress.c has those of compress, rules_readings.c looks at paths, rules_say.c has the words.
 */
#ifndef CONFIG_RULES_INSIDE_H
#define CONFIG_RULES_INSIDE_H

#include "config/config.h"
#include "config/name.h"
#include "config/rules.h"

/* Writes "SETTING: ...", without numbers of elements. Returns setting, so that callers can return it. */
const char *rules_wrong(const char *setting, char *err, size_t err_bytes, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* "routes.2.query"; of the thread. */
const char *rules_indexed(const char *list, unsigned i, const char *key);
/* The first place of a path that servers read in more ways than one; NULL: there is none. */
const char *rules_many_readings(const char *path);
/* A copy, of the thread. */
const char *rules_kept(const char *setting);

/* The setting that is wrong, or NULL: of route number i; of what holds for all of them. */
const char *rules_of_route(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *rules_of_match(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *rules_of_cover(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *rules_of_lifetimes(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *rules_of_rewrite(const struct config *c, unsigned i, char *err, size_t err_bytes);
const char *rules_of_headers(const struct config *c, char *err, size_t err_bytes);
const char *rules_of_rate(const struct config *c, char *err, size_t err_bytes);
const char *rules_of_encoding(const struct config *c, char *err, size_t err_bytes);
const char *rules_of_compress(const struct config *c, char *err, size_t err_bytes);
const char *rules_of_names(const struct config *c, char *err, size_t err_bytes);

#endif
