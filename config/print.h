/* print.h - settings as YAML again, as load.h reads it. */
#ifndef CONFIG_PRINT_H
#define CONFIG_PRINT_H

#include <stdio.h>

struct config;
struct config_route;

/* The effective configuration as YAML with comments;
 * config_load_flags reads it back to the same. */
void config_print(const struct config *c, FILE *to);
/* Calls each with every setting of the route that has not its default, in the order of the manual:
 * "redirect.to", and the value as YAML. */
typedef void config_each_fn(void *ctx, const char *setting, const char *value);
void config_route_each(const struct config_route *r, config_each_fn *each, void *ctx);

#endif
