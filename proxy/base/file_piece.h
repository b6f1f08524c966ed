/* file_piece.h - bytes that lie in a file, to be sent without being read here. */
#ifndef BASE_FILE_PIECE_H
#define BASE_FILE_PIECE_H

#include <stdint.h>

struct file_piece {
	int fd; /* somebody else's, who says how long it holds */
	uint64_t at, n;
};

#endif
