/* identity.c - what root does for the user, and the steps down. */
#include "proxy/node/identity.h"

#include "config/config.h"
#include "config/listen.h"
#include "proxy/base/aside.h"
#include "proxy/node/reach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct owner {
	const char *name;
	uid_t uid;
	gid_t gid;
};

/* ---- what root gives ------------------------------------------------------------------------- */

/* The directories above a path, as any other program would find them. */
static int
make_parents(const char *path)
{
	char at[4096];
	if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (char *slash = at; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(at, 0755) && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return 0;
}

/* A cache directory, or one in which there is nothing yet: then root may give it away. Anything else
 * may have been named by mistake. */
static bool
is_cache(int fd)
{
	struct stat st;
	bool empty = true;
	if (fstatat(fd, "seed", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	for (struct dirent *e; empty && (e = readdir(d));)
		empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			strcmp(e->d_name, "lost+found") == 0;
	rewinddir(d); /* the copy shares its place with fd */
	closedir(d);
	return empty;
}

/* A descriptor of a directory that is root's, and a cache; -1: there is nothing to give. */
static int
open_given(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && st.st_uid == 0 && is_cache(fd))
		return fd;
	close(fd);
	return -1;
}

/* The files go with the directory: an earlier run by root has left them. */
static int
give(int fd, const struct owner *o)
{
	struct stat st;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0), result = 0;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	if (!d)
		return -1;
	for (struct dirent *e; result == 0 && (e = readdir(d));)
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			result = fchownat(fd, e->d_name, o->uid, o->gid, AT_SYMLINK_NOFOLLOW);
	closedir(d);
	return result ? result : fchown(fd, o->uid, o->gid);
}

/* The directory that was just made, and nothing that a link in its place may lead to. */
static int
give_new(const char *path, const struct owner *o)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int result = fchown(fd, o->uid, o->gid);
	close(fd);
	return result;
}

static int
make_dir(const char *path, mode_t mode, const struct owner *o)
{
	if (make_parents(path))
		return -1;
	if (mkdir(path, mode) == 0)
		return give_new(path, o);
	if (errno != EEXIST)
		return -1;
	int fd = open_given(path);
	int result = fd < 0 ? 0 : give(fd, o);
	if (fd >= 0)
		close(fd);
	return result;
}

static int
make_cache_dir(const char *path, const struct owner *o)
{
	return make_dir(path, 0700, o);
}

/* 0: root gives it. */
static int
is_given(const char *path, const struct owner *o)
{
	struct stat st;
	(void)o;
	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -1;
	int fd = open_given(path);
	if (fd >= 0)
		close(fd);
	errno = EACCES;
	return fd >= 0 ? 0 : -1;
}

/* Root does it with a directory whose disk may hang. */
struct deed {
	int (*make)(const char *path, const struct owner *o);
	struct owner owner; /* without a name */
	int error;
	char path[REACH_PATH];
};

static void
do_deed(void *ctx)
{
	struct deed *d = ctx;
	d->error = d->make(d->path, &d->owner) ? errno : 0;
}

static int
do_aside(int (*make)(const char *path, const struct owner *o), const char *path,
	 const struct owner *o)
{
	void *ctx = aside_new(sizeof(struct deed));
	struct deed *d = ctx;
	d->make = make;
	d->owner = (struct owner){.uid = o->uid, .gid = o->gid};
	snprintf(d->path, sizeof d->path, "%s", path);
	int error = aside_run(do_deed, &ctx, REACH_MS) ? d->error : ETIMEDOUT;
	aside_free(&ctx);
	errno = error;
	return error ? -1 : 0;
}

static const char *
dir_of(const struct config *c, unsigned i)
{
	return i == 0 ? c->cache.dir : c->disks[i - 1].dir;
}

static uint32_t
given_dirs(const struct config *c)
{
	uint32_t bits = 0;
	for (unsigned i = 0; i <= c->disk_count; i++)
		if (dir_of(c, i) && do_aside(is_given, dir_of(c, i), &(struct owner){0}) == 0)
			bits |= 1u << i;
	return bits;
}

/* A log that is a file of root's becomes the user's. A link is left alone: it may lead anywhere. */
static int
make_log(const char *path, const struct owner *o)
{
	struct stat st;
	if (!path || strcmp(path, "-") == 0 || strcmp(path, "off") == 0)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0640);
	if (fd < 0)
		return 0; /* the preflight says so */
	int result = 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 && st.st_nlink == 1)
		result = fchown(fd, o->uid, o->gid);
	close(fd);
	return result;
}

/* The directory of a socket, if it is not there yet. */
static int
make_socket_dir(const char *socket, const struct owner *o)
{
	char at[4096];
	snprintf(at, sizeof at, "%s", socket);
	char *slash = strrchr(at, '/');
	if (!slash || slash == at)
		return 0;
	*slash = '\0';
	return access(at, F_OK) == 0 ? 0 : make_dir(at, 0755, o);
}

/* NULL, or the setting whose directory or file could not be made (errno). */
static const char *
make_all(const struct config *c, const struct owner *o)
{
	for (unsigned i = 0; i <= c->disk_count; i++)
		if (dir_of(c, i) && do_aside(make_cache_dir, dir_of(c, i), o) && i == 0 &&
		    errno != ETIMEDOUT)
			return "cache.dir"; /* others, and one that hangs, the cache leaves out, and says so */
	for (unsigned i = 0; i < c->listen_count; i++) {
		const char *path = config_listen_path(c->listen[i]);
		if (path && make_socket_dir(path, o))
			return "listen";
	}
	if (c->admin_socket && make_socket_dir(c->admin_socket, o))
		return "admin_socket";
	return make_log(c->access_log, o) ? "access_log" : NULL;
}

/* ---- down ------------------------------------------------------------------------------------ */

/* After the change of user: the permitted set is still root's, the effective one is empty. */
static int
keep_one_capability(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};
	if (syscall(SYS_capget, &head, sets))
		return -1;
	uint32_t kept =
		sets[0].permitted & 1u << CAP_NET_BIND_SERVICE; /* a container may lack it */
	memset(sets, 0, sizeof sets);
	sets[0].permitted = sets[0].effective = kept;
	return syscall(SYS_capset, &head, sets) ? -1 : 0;
}

/* No way back, neither here nor by a program with the set-user-id bit. Files in /proc/self and core
 * dumps stay possible: the numbers of /stats come from there. */
static int
become(const struct owner *o)
{
	for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_NET_BIND_SERVICE)
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || initgroups(o->name, o->gid) ||
	    setresgid(o->gid, o->gid, o->gid) || setresuid(o->uid, o->uid, o->uid) ||
	    keep_one_capability() || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Only root can take another group than it was started with. */
static bool
is_group_taken(const struct config *c, gid_t gid, const char **setting, char *err, size_t err_bytes)
{
	if (!c->identity.group || geteuid() == 0 || getegid() == gid)
		return true;
	*setting = "group";
	snprintf(err, err_bytes,
		 "only root can take the group \"%s\"; start twice as root or with that group "
		 "(systemd: Group=%s), or leave group out",
		 c->identity.group, c->identity.group);
	return false;
}

/* 0; or -1 with the setting and a sentence. */
static int
find_owner(const struct config *c, struct owner *o, const char **setting, char *err,
	   size_t err_bytes)
{
	const struct passwd *user = getpwnam(c->identity.user);
	*setting = "user";
	if (!user) {
		snprintf(err, err_bytes,
			 "there is no user \"%s\" on this machine; make it (adduser --system "
			 "--group %s), or name another",
			 c->identity.user, c->identity.user);
		return -1;
	}
	*o = (struct owner){c->identity.user, user->pw_uid, user->pw_gid};
	const struct group *group = c->identity.group ? getgrnam(c->identity.group) : NULL;
	if (c->identity.group && !group) {
		*setting = "group";
		snprintf(err, err_bytes,
			 "there is no group \"%s\" on this machine; make it (addgroup --system "
			 "%s), or leave it out for the user's own",
			 c->identity.group, c->identity.group);
		return -1;
	}
	if (group)
		o->gid = group->gr_gid;
	if (geteuid() == 0 || geteuid() == o->uid)
		return is_group_taken(c, o->gid, setting, err, err_bytes) ? 0 : -1;
	snprintf(err, err_bytes,
		 "only root can become \"%s\"; start twice as root or as that user, or leave "
		 "user out",
		 c->identity.user);
	return -1;
}

int
identity_take(struct identity *out, const struct config *c, enum identity_way way,
	      const char **setting, char *err, size_t err_bytes)
{
	struct owner o;
	*out = (struct identity){0};
	if (!c->identity.user)
		return 0;
	if (find_owner(c, &o, setting, err, err_bytes))
		return -1;
	if (geteuid() != 0 || o.uid == 0)
		return 0;
	const char *failed = NULL;
	if (way == IDENTITY_MAKES)
		failed = make_all(c, &o);
	else
		out->gives = given_dirs(c);
	if (failed) {
		*setting = failed;
		snprintf(err, err_bytes, "cannot be made for the user \"%s\": %s", c->identity.user,
			 strerror(errno));
		return -1;
	}
	if (become(&o)) {
		snprintf(err, err_bytes, "cannot become \"%s\": %s", c->identity.user,
			 strerror(errno));
		return -1;
	}
	out->changed = true;
	return 0;
}

void
identity_pass_on(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{0}};
	if (geteuid() == 0 || syscall(SYS_capget, &head, sets) ||
	    !(sets[0].permitted & 1u << CAP_NET_BIND_SERVICE))
		return;
	sets[0].inheritable |= 1u << CAP_NET_BIND_SERVICE;
	if (syscall(SYS_capset, &head, sets) == 0)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

bool
identity_is_root_unsaid(const struct config *c)
{
	return !c->identity.user && geteuid() == 0;
}
