/* disk.h - a disk of the scenario's own, which can hang below the page cache, or die: ext4 on a loop device, whose
 * file is served by a process of the kit (FUSE).
 *
 *	struct disk *d = disk_new("cache");	mounted at %D/cache
 *	disk_hang(d);				no block of it is read or written any more
 *	disk_go_on(d);
 *
 * What a library that is loaded before the program cannot show, this does: a call that meets the journal or a
 * page that is not in memory sleeps in the kernel, where nothing wakes it. Scenarios skip where that cannot be
 * made: it takes root, /dev/fuse, loop devices and mkfs.ext4.
 *
 * Lifetime  of the scenario, however it ends: the mounts are in a name space of its own, the loop device goes with
 *           the mount, and when the serving process is gone the kernel lets whoever waits for a block go on with
 *           EIO.
 * Threads   the scenario's first one: the others of it do not see the mount. A thread of the scenario
 *           that touches what lies there while the disk hangs hangs too.
 */
#ifndef KIT_DISK_H
#define KIT_DISK_H

#include <stdbool.h>

struct disk;
/* Skips the scenario where there can be none. Before edge_start. */
struct disk *disk_new(const char *name);
const char *disk_path(const struct disk *d);

/* Also has the journal stand: the change of every file below dir ("": of none) is about to be written when the
 * disk hangs, so that whoever changes one of them again waits for that. */
void disk_hang(struct disk *d, const char *dir);
void disk_go_on(struct disk *d);
/* The file is no longer in memory, all others beside it are, and the disk hangs at the first write after somebody has
 * read it: that process goes on until it writes, and then sleeps where no signal ends it. (One that waits for a page is
 * ended by SIGKILL.) */
void disk_hang_after_read(struct disk *d, const char *file);
bool disk_hangs(const struct disk *d);
/* It fails from now on: each call says EIO. */
void disk_die(struct disk *d);
/* It is unmounted, and mounted again: nobody has a file of it open. */
void disk_mend(struct disk *d);
void disk_take_away(struct disk *d);
void disk_put_back(struct disk *d);
/* The pages of the files below dir are in memory, and stay there until the disk goes on: the kernel may let go of pages at
 * any time, also where memory is not short. */
void disk_keep_pages(struct disk *d, const char *dir);
/* All that is written is on the disk, and no page of the files below dir remains in memory. */
void disk_forget_pages(struct disk *d, const char *dir);
void disk_forget_file(struct disk *d, const char *file);

/* No thread of that name of the proxy sleeps in the kernel, where nothing can wake it. */
void disk_expect_awake(const char *thread);
/* The proxy has called exit, and the kernel may hold some of its threads yet. */
bool disk_proxy_has_ended(void);

#endif
