/* file_piece.h - bytes that lie in a file, to be sent without being read here. */
#ifndef BASE_FILE_PIECE_H
#define BASE_FILE_PIECE_H

#include <stdbool.h>
#include <stdint.h>

struct file_piece {
	int fd;		  /* somebody else's, who says how long it holds */
	const void *view; /* the file, mapped for questions alone (page_cache.h); NULL: it is not */
	uint64_t at, n;
	bool is_here; /* the page cache has them now; else ask it before they are sent */
	const _Atomic int64_t
		*until_ms; /* so long the disk is taken to answer (now_ms); NULL: always */
};

#endif
