/* reading.h - from YAML as people write it to canonical YAML, or to one sentence with file and
 * line.
 *
 * Answers   unknown and repeated keys, wrong shapes, units, ranges, words, defaults. Private to
 *           config/.
 */
#ifndef CONFIG_READING_H
#define CONFIG_READING_H

#include "proxy/base/buf.h"

#include <stddef.h>

struct config_flag;

struct reading; /* one document, kept to say on which line something was given */

struct reading_input {
	const char *name; /* of the file, for errors */
	const char *text; /* NULL: no file */
	size_t n;
	const struct config_flag *flags;
	size_t flag_count;
};

/* Always makes *out (reading_destroy it); 0 with canonical YAML, or -1 and a sentence. */
int reading_create(struct reading **out, const struct reading_input *in, struct buf *canonical,
		   char *err, size_t err_bytes);
void reading_destroy(struct reading **r);

/* "twice.yaml:7: ", "--disk: " or "": where a setting ("cache.disk") was given its value. */
void reading_place(struct reading *r, const char *setting, char *out, size_t n);

#endif
