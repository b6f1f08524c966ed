/* own_disk.h - the disk of a test that cuts no power. */
#ifndef KIT_OWN_DISK_H
#define KIT_OWN_DISK_H

#include "proxy/cache/store/diskio.h"

static inline int
sync_at_once(int fd)
{
	(void)fd;
	return 0;
}

/* The system's disk, but that no power is cut here: kill -9 loses nothing that was written. So nobody
 * waits for the device, which others use as well, and no purge is late for that. */
static inline const struct diskio_ops *
unsynced_disk(void)
{
	static struct diskio_ops ops;
	ops = diskio_system;
	ops.sync = ops.sync_dir = sync_at_once;
	return &ops;
}

#endif
