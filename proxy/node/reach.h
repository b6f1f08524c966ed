/* reach.h - does the disk answer for what lies at a path? Asked on a thread that is left behind if it does not, so
 * that whoever reads there next waits for no disk that hangs.
 *
 * Threads   any but workers.
 */
#ifndef NODE_REACH_H
#define NODE_REACH_H

#include <stdbool.h>
#include <stdint.h>

enum { REACH_PATH = 4096, REACH_MS = 2000 /* in which nothing moves */ };

/* A directory, or the one in which it would be made. */
struct reach_dir {
	bool hangs;	     /* nothing else is known */
	char at[REACH_PATH]; /* the one that is there */
	int error;	     /* that it cannot be looked at; 0: it can */
	bool is_dir;
	int writing;	    /* errno: why nothing can be made in it; 0: it can */
	uint64_t all_bytes; /* of its file system; 0: unknown */
};
void reach_dir(const char *dir, struct reach_dir *out);
/* Leaves the directory that holds it: "/a/b" becomes "/a", "/a" becomes "/", "a" becomes ".". */
void reach_cut_name(char *path);

/* These files, and those in directories among them, are read, so that they are in memory. n, or which of
 * the paths hangs. Paths may be NULL. */
unsigned reach_files(const char *const *paths, unsigned n);

#endif
