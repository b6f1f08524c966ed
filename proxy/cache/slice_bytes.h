/* slice_bytes.h - how large a slice of a large body is (serve/rules/slices.h): one number for the proxy and
 * for `twice simulate`.
 */
#ifndef CACHE_SLICE_BYTES_H
#define CACHE_SLICE_BYTES_H

enum {
	SLICE_BYTES = 1 << 20,
	SLICES_AT_ONCE = 16 /* that one exchange asks for at most */
};

#endif
