/* forget_kind.h - what can be forgotten: by which word it is known wherever one says so, and by which number in
 * the purge log (purge_log.h).
 *
 * The number stays what it is: logs have it. The word is the field of POST /purge and of its answer, and what
 * `twice inspect` calls it; with "--" it is a flag of `twice purge` where it has a sentence for --help, whose
 * argument comes before. "": nobody hears of it. By hand: somebody may ask for it. Soft: what it covers
 * may be stale, not gone.
 */
#ifndef CACHE_FORGET_KIND_H
#define CACHE_FORGET_KIND_H

#include <stdbool.h>

/* clang-format off */
#define FORGET_ROWS(X) \
	/* id        number word      by hand soft   flag: argument, sentence */ \
	X(URL,         1, "url",      true,   true,  NULL,   NULL) \
	X(PREFIX,      5, "prefix",   true,   true,  "URL",  "purge all URLs of this scheme and host that begin so") \
	X(HOST,        2, "host",     true,   true,  "HOST", "purge everything of this host, http and https alike") \
	X(TAG,         6, "tag",      true,   true,  "TAG",  "purge answers that came with this word in Surrogate-Key or Cache-Tag") \
	X(ALL,         3, "all",      true,   true,  NULL,   "purge everything") \
	X(KEY,         4, "key",      false,  false, NULL,   NULL) \
	X(PREFIX_HOST, 8, "",         false,  true,  NULL,   NULL)
/* clang-format on */

/* URL: all keys, variants and parts of it. PREFIX: URLs of one scheme and host whose paths begin so. HOST: all its
 * URLs, whatever the scheme. TAG: what has it. KEY: one key alone. PREFIX_HOST: a host that has a prefix;
 * in the log it goes before each one. */
enum forget_kind {
#define ROW(id, number, word, by_hand, soft, argument, sentence) FORGET_##id = number,
	FORGET_ROWS(ROW)
#undef ROW
		FORGET_KINDS
};

#endif
