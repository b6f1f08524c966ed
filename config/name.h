/* name.h - what a setting is called: "cache.disk", "origins.1.ca_file". */
#ifndef CONFIG_NAME_H
#define CONFIG_NAME_H

enum { CONFIG_NAME_BYTES = 64 };

/* "origins.1.ca_file" as people know it: "origins.ca_file". Returns out. */
char *config_name(const char *setting, char out[CONFIG_NAME_BYTES]);

#endif
