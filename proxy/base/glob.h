/* glob.h - patterns in which "*" stands for some text: of paths, and of values of header fields.
 *
 * In a path, a "*" at the beginning or at the end stands for any text, and one in between for text
 * without a slash: "*.css" is for all paths that end so, "/img/" and a "*" for all that begin so,
 * "/img/" "*" "/a.png" for one folder in between. In a value each "*" stands for any text. A pattern has no two
 * of them side by side.
 *
 * Cost      at most the length of the text times that of the pattern; of a path whose pattern begins with "*",
 *           times its slashes, too. No allocation.
 * Threads   pure.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "proxy/base/str.h"

struct glob {
	struct str pattern;
	bool is_path;
	bool any_case; /* of ASCII letters */
};

bool glob_matches(const struct glob *g, struct str text);
/* Whether g matches all that the other pattern, of the same kind, matches. False may also mean that it cannot be
 * told. */
bool glob_covers(const struct glob *g, struct str pattern);

#endif
