/* cache_disk.h - where one of the disks of a cache is, and how many there may be. */
#ifndef CACHE_CACHE_DISK_H
#define CACHE_CACHE_DISK_H

#include <stdint.h>

/* A directory on a disk, with a log of its own. */
struct cache_disk {
	const char *dir;
	uint64_t bytes; /* hard limit of everything below dir; never exceeded */
};
enum { CACHE_DISKS_MOST = 16 };

#endif
