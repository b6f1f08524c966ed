/* changes.h - what differs between two settings of a whole program, and what becomes of it while
 * the proxy runs.
 *
 * Memory    words are constant; a copy owns all it holds.
 */
#ifndef CONFIG_CHANGES_H
#define CONFIG_CHANGES_H

#include <stddef.h>

struct config;

/* A copy that owns all it holds. */
void config_copy(struct config *to, const struct config *from);
/* Calls each with the full name of every setting ("cache.disk") that differs. */
void config_differences(const struct config *a, const struct config *b,
			void (*each)(void *ctx, const char *setting), void *ctx);

/* Why a change of that setting needs a restart; NULL: it is taken over while the proxy runs. */
const char *
config_restart_for(const struct config *running, const struct config *fresh, const char *setting);
/* In fresh, settings whose change needs a restart get the values of running. Both are as
 * config_load_flags made them. NULL, or the setting of fresh that does not go with what it got, and
 * a sentence why. */
const char *
config_keep(struct config *fresh, const struct config *running, char *err, size_t err_bytes);

#endif
