/* doubled.h - a small file that is kept twice (NAME and NAME.copy), each with a checksum, so that
 * one damaged or missing copy loses nothing.
 *
 * A copy is the bytes, then a trailer of 16: u32 magic "TWD2", u32 bytes, u64 XXH3 of the bytes;
 * little-endian. Each copy is written under another name, synced and renamed, one after the other.
 *
 * Errors    -1 with errno. doubled_read: ENOENT when there is neither copy, EBADMSG when no copy is
 *           right.
 */
#ifndef CACHE_DOUBLED_H
#define CACHE_DOUBLED_H

#include <stddef.h>
#include <sys/types.h>

enum { DOUBLED_MOST = 4096 }; /* bytes */

/* The number of bytes read into to. A copy that is missing or damaged is made anew from the other;
 * *mended says so. */
ssize_t doubled_read(int dir_fd, const char *name, void *to, size_t room, int *mended);
/* The same, and nothing is made anew: *bad says how many copies are missing or damaged. */
ssize_t doubled_look(int dir_fd, const char *name, void *to, size_t room, int *bad);
int doubled_write(int dir_fd, const char *name, const void *p, size_t n);

#endif
