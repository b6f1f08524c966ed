/* rules.h - settings that are well one by one, and do not go together. Private to config/. */
#ifndef CONFIG_RULES_H
#define CONFIG_RULES_H

#include <stddef.h>

struct config;

/* The setting that breaks a rule ("origins.1.ca_file"), and a sentence why; NULL: all is well. */
const char *rules_broken(const struct config *c, char *err, size_t err_bytes);
/* Each that is broken: the first of its kind, and of each route. */
typedef void rules_each_fn(void *ctx, const char *setting, const char *why);
void rules_each(const struct config *c, rules_each_fn *each, void *ctx);

#endif
