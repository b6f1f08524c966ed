/* disk.c - the serving process, what lies above it, and its ends. */
#include "tests/kit/disk.h"

#include "tests/kit/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DISK_BYTES = 160 << 20,
	BLOCK = 4096,
	WRITE_MOST = 128 << 10,
	REQUEST_MOST = WRITE_MOST + 4096,
	IMAGE = 2, /* its node; FUSE_ROOT_ID is the directory that it is in */
	EXT4_SHUTDOWN = 0x8004587d,
	WITHOUT_JOURNAL = 2,
	ROUNDS = 1000, /* of who is to sleep: a stopped journal holds the first or none */
	FILES_MOST = 512
};

struct disk {
	char *path, *loop;
	int loop_fd; /* so that the loop device stays while the disk is mended */
	pid_t server;
	pid_t syncs, touches; /* what sleeps in the journal while it hangs */
	int files[FILES_MOST],
		files_n; /* that these change: who opens one while it hangs may sleep too */
	struct view {
		void *p;
		size_t n;
	} kept[FILES_MOST];
	int kept_n;
	struct disk *next;
};

static struct disk *disks;

/* Above those that the serving process is to have. No copy remains: while there is one the kernel waits for
 * whoever may still serve. */
static int
high(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	close(fd);
	return copy;
}

/* ---- the serving process -------------------------------------------------------------------- */

struct server {
	int fuse, image;
};

/* The name space of mounts that the kit was started in. */
static int outside = -1;

static void
answer(const struct server *s, const struct fuse_in_header *in, int error, const void *p, size_t n)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof head + n), .error = -error, .unique = in->unique};
	struct iovec v[2] = {{&head, sizeof head}, {(void *)(uintptr_t)p, n}};
	if (writev(s->fuse, v, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr
attributes(uint64_t node)
{
	bool is_image = node == IMAGE;
	return (struct fuse_attr){.ino = node,
				  .size = is_image ? DISK_BYTES : 0,
				  .mode = is_image ? S_IFREG | 0600 : S_IFDIR | 0700,
				  .nlink = 1,
				  .blksize = 4096};
}

static void
on_init(const struct server *s, const struct fuse_in_header *in, const struct fuse_init_in *i)
{
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
				    .minor = FUSE_KERNEL_MINOR_VERSION,
				    .max_readahead = i->max_readahead,
				    .flags = i->flags & FUSE_BIG_WRITES,
				    .max_write = WRITE_MOST};
	answer(s, in, 0, &out, sizeof out);
}

static void
on_lookup(const struct server *s, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {.nodeid = IMAGE, .entry_valid = 3600, .attr_valid = 3600};
	out.attr = attributes(IMAGE);
	bool there = in->nodeid == FUSE_ROOT_ID && strcmp(name, "img") == 0;
	answer(s, in, there ? 0 : ENOENT, &out, there ? sizeof out : 0);
}

static void
on_attributes(const struct server *s, const struct fuse_in_header *in)
{
	struct fuse_attr_out out = {.attr_valid = 3600, .attr = attributes(in->nodeid)};
	answer(s, in, 0, &out, sizeof out);
}

static void
on_open(const struct server *s, const struct fuse_in_header *in)
{
	/* No page of the image is kept beside those of what lies on it. */
	struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO};
	answer(s, in, 0, &out, sizeof out);
}

static volatile sig_atomic_t
	block_to_hang; /* the first write after a read of it hangs; 0: of none */
static bool was_read;

static void
on_order(int sig, siginfo_t *info, void *arg)
{
	(void)sig;
	(void)arg;
	block_to_hang = info->si_value.sival_int;
}

static void
on_read(const struct server *s, const struct fuse_in_header *in, const struct fuse_read_in *r)
{
	uint64_t at = (uint64_t)block_to_hang * BLOCK;
	was_read |= at && at >= r->offset && at - r->offset < r->size;
	static char bytes[WRITE_MOST];
	size_t n = r->size < sizeof bytes ? r->size : sizeof bytes;
	ssize_t got = pread(s->image, bytes, n, (off_t)r->offset);
	answer(s, in, got < 0 ? errno : 0, bytes, got < 0 ? 0 : (size_t)got);
}

static void
on_write(const struct server *s, const struct fuse_in_header *in, const struct fuse_write_in *w)
{
	if (was_read) {
		was_read = false;
		block_to_hang = 0;
		raise(SIGSTOP);
	}
	ssize_t put = pwrite(s->image, w + 1, w->size, (off_t)w->offset);
	struct fuse_write_out out = {.size = put < 0 ? 0 : (uint32_t)put};
	answer(s, in, put < 0 ? errno : 0, &out, put < 0 ? 0 : sizeof out);
}

static void
on_request(const struct server *s, const struct fuse_in_header *in)
{
	const void *arg = in + 1;
	switch (in->opcode) {
	case FUSE_INIT:
		on_init(s, in, arg);
		break;
	case FUSE_LOOKUP:
		on_lookup(s, in, arg);
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		on_attributes(s, in);
		break;
	case FUSE_OPEN:
		on_open(s, in);
		break;
	case FUSE_READ:
		on_read(s, in, arg);
		break;
	case FUSE_WRITE:
		on_write(s, in, arg);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		answer(s, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* these have no answer */
	default:
		answer(s, in, ENOSYS, NULL, 0);
	}
}

/* Holds nothing but what it serves, so that its end is the end of the disk; nor the mounts, or it would be the
 * last to hold them, and wait for itself as it ends. */
_Noreturn static void
serve(struct server *s, pid_t parent)
{
	_Alignas(struct fuse_in_header) static char request[REQUEST_MOST];
	ssize_t n;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &(struct sigaction){.sa_sigaction = on_order, .sa_flags = SA_SIGINFO},
		  NULL);
	if (getppid() != parent || setns(outside, CLONE_NEWNS) || dup2(s->fuse, 3) < 0 ||
	    dup2(s->image, 4) < 0)
		_exit(1);
	*s = (struct server){.fuse = 3, .image = 4};
	syscall(SYS_close_range, 5, ~0u, 0);
	while ((n = read(s->fuse, request, sizeof request)) >= 0 || errno == EINTR ||
	       errno == ENOENT)
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			on_request(s, (const struct fuse_in_header *)request);
	_exit(0);
}

static pid_t
begin_serving(const char *at)
{
	struct server s = {.fuse = high(open("/dev/fuse", O_RDWR | O_CLOEXEC)),
			   .image = high(memfd_create("disk", MFD_CLOEXEC))};
	if (s.fuse < 0 || s.image < 0 || ftruncate(s.image, DISK_BYTES))
		skip("cannot serve a file by FUSE: %s", strerror(errno));
	pid_t parent = getpid();
	if (mount("img", at, "fuse", MS_NOSUID | MS_NODEV,
		  text("fd=%d,rootmode=40000,user_id=0,group_id=0", s.fuse)))
		skip("cannot mount a FUSE file system: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		serve(&s, parent);
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	close(s.image);
	close(s.fuse);
	return pid;
}

/* ---- what lies above it --------------------------------------------------------------------- */

static void
be_alone(void)
{
	if (outside >= 0)
		return;
	if (getuid() != 0)
		skip("needs root, to mount a disk of its own");
	if (access("/dev/fuse", R_OK | W_OK) || access("/dev/loop-control", R_OK | W_OK))
		skip("needs /dev/fuse and loop devices");
	needs("mkfs.ext4");
	outside = high(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
	if (outside < 0 || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("needs a name space of its own for mounts: %s", strerror(errno));
}

/* The free one that the kernel names may be another program's meanwhile. */
static char *
attach_loop(const char *file, int *fd)
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config c = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};
	int image = open(file, O_RDWR | O_CLOEXEC), number = -1;
	if (image < 0)
		fail("%s: %s", file, strerror(errno));
	c.fd = (uint32_t)image;
	char *name = NULL;
	for (*fd = -1; *fd < 0;) {
		number = ioctl(control, LOOP_CTL_GET_FREE);
		name = text("/dev/loop%d", number);
		if (number < 0 || (*fd = open(name, O_RDWR | O_CLOEXEC)) < 0)
			skip("no loop device can be had: %s", strerror(errno));
		if (ioctl(*fd, LOOP_CONFIGURE, &c) == 0)
			break;
		if (errno != EBUSY)
			skip("cannot set up %s: %s", name, strerror(errno));
		close(*fd);
		*fd = -1;
	}
	close(image);
	close(control);
	return name;
}

struct disk *
disk_new(const char *name)
{
	be_alone();
	struct disk *d = kit_alloc(sizeof *d);
	d->path = text("%s/%s", kit_dir(), name);
	char *below = text("%s/%s.fuse", kit_dir(), name);
	if (mkdir(d->path, 0700) || mkdir(below, 0700))
		fail("%s: %s", d->path, strerror(errno));
	d->server = begin_serving(below);
	d->loop = attach_loop(text("%s/img", below), &d->loop_fd);
	struct output o = program("mkfs.ext4", "-q", "-F", "-m", "0", "-E",
				  "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-b",
				  text("%d", BLOCK), d->loop);
	if (o.status)
		fail("mkfs.ext4: %s", o.err);
	if (mount(d->loop, d->path, "ext4", 0, ""))
		skip("cannot mount ext4: %s", strerror(errno));
	d->next = disks;
	disks = d;
	return d;
}

const char *
disk_path(const struct disk *d)
{
	return d->path;
}

/* ---- what befalls it ------------------------------------------------------------------------ */

/* The letter that /proc has for the state of a thread; 0: it is gone. */
static char
state_of(const char *stat)
{
	char line[512];
	FILE *f = fopen(stat, "re");
	bool read = f && fgets(line, sizeof line, f);
	if (f)
		fclose(f);
	const char *end = read ? strrchr(line, ')') : NULL;
	return end && end[1] ? end[2] : '\0';
}

static void
touch(int fd)
{
	futimens(fd, NULL);
}

/* Each file below dir, but not below a directory there. */
static void
open_files(struct disk *d, const char *dir)
{
	DIR *all = opendir(dir);
	for (struct dirent *e; all && (e = readdir(all)) && d->files_n < FILES_MOST;) {
		int fd = e->d_type == DT_REG
				 ? openat(dirfd(all), e->d_name, O_RDWR | O_NOATIME | O_CLOEXEC)
				 : -1;
		if (fd >= 0)
			d->files[d->files_n++] = fd;
	}
	if (all)
		closedir(all);
}

static void
close_files(struct disk *d)
{
	while (d->files_n)
		close(d->files[--d->files_n]);
}

static void
let_go_of_pages(struct disk *d)
{
	for (; d->kept_n; d->kept_n--)
		munmap(d->kept[d->kept_n - 1].p, d->kept[d->kept_n - 1].n);
}

/* Sanitizers have an mlock of their own, which does nothing. */
static void
keep_pages_of(struct disk *d, int fd, size_t n)
{
	void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || syscall(SYS_mlock, p, n))
		fail("cannot keep a file in memory: %s", strerror(errno));
	d->kept[d->kept_n++] = (struct view){p, n};
}

/* All but that file. */
static void
keep_pages(struct disk *d, const char *dir, ino_t but)
{
	struct stat st;
	let_go_of_pages(d);
	open_files(d, dir);
	for (int i = 0; i < d->files_n; i++)
		if (fstat(d->files[i], &st) == 0 && st.st_ino != but && st.st_size > 0)
			keep_pages_of(d, d->files[i], (size_t)st.st_size);
	close_files(d);
}

void
disk_keep_pages(struct disk *d, const char *dir)
{
	keep_pages(d, text("%s/%s", d->path, dir), 0);
}

static void
each_file(struct disk *d, const char *dir, void (*deed)(int fd))
{
	open_files(d, dir);
	for (int i = 0; i < d->files_n; i++)
		deed(d->files[i]);
	close_files(d);
}

static void
forget_pages(int fd)
{
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void
write_all(const struct disk *d)
{
	int fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || syncfs(fd))
		fail("%s: %s", d->path, strerror(errno));
	close(fd);
}

static void
sync_it(int fd)
{
	fsync(fd);
}

/* A process of its own does that with each file, again and again; it sleeps in the kernel when this returns. 0: nothing
 * has held it. Other threads may hold locks of the C library or of a sanitizer as it forks: it allocates nothing. */
static pid_t
have_sleeper(const struct disk *d, void (*deed)(int fd))
{
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < ROUNDS * d->files_n; i++)
			deed(d->files[i % d->files_n]);
		_exit(0);
	}
	char state = 0, *stat = text("/proc/%d/stat", (int)pid);
	wait_until((state = state_of(stat)) == 'D' || state == 'Z');
	if (state == 'D')
		return pid;
	waitpid(pid, NULL, 0);
	return 0;
}

static void
end_sleeper(pid_t *sleeper)
{
	if (*sleeper > 0)
		kill(*sleeper, SIGKILL);
	*sleeper = 0;
}

static void
stop_serving(const struct disk *d)
{
	int status;
	kill(d->server, SIGSTOP);
	while (waitpid(d->server, &status, WUNTRACED) < 0)
		if (errno != EINTR)
			fail("waitpid: %s", strerror(errno));
}

static void
go_on(struct disk *d)
{
	end_sleeper(&d->syncs);
	end_sleeper(&d->touches);
	kill(d->server, SIGCONT);
	close_files(d);
}

/* A commit of the proxy's own may be at its last block when the disk stops: nobody who changes a file waits for
 * that one, so it is let through, and the next one is stopped. */
void
disk_hang(struct disk *d, const char *dir)
{
	for (;;) {
		write_all(d);
		if (*dir)
			open_files(d, text("%s/%s", d->path, dir));
		for (int i = 0; i < d->files_n; i++)
			touch(d->files[i]);
		stop_serving(d);
		if (!*dir || ((d->syncs = have_sleeper(d, sync_it)) &&
			      (d->touches = have_sleeper(d, touch))))
			return;
		go_on(d);
	}
}

bool
disk_hangs(const struct disk *d)
{
	return state_of(text("/proc/%d/stat", (int)d->server)) == 'T';
}

void
disk_go_on(struct disk *d)
{
	go_on(d);
	let_go_of_pages(d);
}

void
disk_on_fail(void)
{
	for (const struct disk *d = disks; d; d = d->next)
		kill(d->server, SIGCONT);
}

void
disk_die(struct disk *d)
{
	int how = WITHOUT_JOURNAL, fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, EXT4_SHUTDOWN, &how))
		fail("%s: cannot end it: %s", d->path, strerror(errno));
	close(fd);
}

void
disk_take_away(struct disk *d)
{
	/* A proxy looks in now and then. */
	wait_until(umount(d->path) == 0 || errno != EBUSY);
}

void
disk_mend(struct disk *d)
{
	disk_take_away(d);
	disk_put_back(d);
}

void
disk_put_back(struct disk *d)
{
	if (mount(d->loop, d->path, "ext4", 0, ""))
		fail("cannot mount %s: %s", d->path, strerror(errno));
}

void
disk_forget_pages(struct disk *d, const char *dir)
{
	write_all(d);
	let_go_of_pages(d);
	each_file(d, text("%s/%s", d->path, dir), forget_pages);
}

static int
forget_file(struct disk *d, const char *file)
{
	write_all(d);
	int fd = open(text("%s/%s", d->path, file), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail("%s: %s", file, strerror(errno));
	forget_pages(fd);
	return fd;
}

void
disk_forget_file(struct disk *d, const char *file)
{
	close(forget_file(d, file));
}

void
disk_hang_after_read(struct disk *d, const char *file)
{
	if (edge_is_thread_sanitized())
		skip("the proxy starts too slowly to be the one that meets it");
	char *folder = text("%s/%s", d->path, file);
	*strrchr(folder, '/') = '\0';
	struct stat st;
	int fd = forget_file(d, file), block = 0; /* its first one */
	if (fstat(fd, &st))
		fail("%s: %s", file, strerror(errno));
	keep_pages(d, folder, st.st_ino);
	if (ioctl(fd, FIBMAP, &block) || block <= 0)
		fail("%s: no block of it is known: %s", file, strerror(errno));
	close(fd);
	sigqueue(d->server, SIGUSR1, (union sigval){.sival_int = block});
}

static void
note_stack(const char *path)
{
	char line[256];
	FILE *f = fopen(path, "re");
	note("a thread sleeps in the kernel:");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		note("  %s", line);
	}
	if (f)
		fclose(f);
}

void
disk_expect_awake(const char *thread)
{
	int n = 0;
	char *tasks = text("/proc/%d/task", (int)edge_pid());
	DIR *all = opendir(tasks);
	for (struct dirent *e; all && (e = readdir(all));) {
		char name[32] = "";
		FILE *f = fopen(text("%s/%s/comm", tasks, e->d_name), "re");
		if (f && fgets(name, sizeof name, f))
			name[strcspn(name, "\n")] = '\0';
		if (f)
			fclose(f);
		if (strcmp(name, thread) == 0 &&
		    state_of(text("%s/%s/stat", tasks, e->d_name)) == 'D') {
			note_stack(text("%s/%s/stack", tasks, e->d_name));
			n++;
		}
	}
	if (all)
		closedir(all);
	if (n)
		fail("%d threads \"%s\" sleep in the kernel", n, thread);
}

bool
disk_proxy_has_ended(void)
{
	char state = state_of(text("/proc/%d/stat", (int)edge_pid()));
	return state == 'Z' || state == '\0';
}
