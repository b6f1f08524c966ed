/* doubled.c - write both, believe either. */
#include "proxy/cache/store/doubled.h"

#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/segment.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { MAGIC = 0x32445754, TRAILER = 16, NAME_ROOM = 64 };

struct copy {
	char bytes[DOUBLED_MOST + TRAILER];
	ssize_t n; /* of the content, or -1 */
};

static void
copy_name(char *to, const char *name, bool second)
{
	snprintf(to, NAME_ROOM, "%s%s", name, second ? ".copy" : "");
}

static ssize_t
content_bytes(const char *p, size_t n)
{
	uint32_t magic, bytes;
	uint64_t sum;
	if (n < TRAILER || n > DOUBLED_MOST + TRAILER)
		return -1;
	memcpy(&magic, p + n - TRAILER, sizeof magic);
	memcpy(&bytes, p + n - 12, sizeof bytes);
	memcpy(&sum, p + n - 8, sizeof sum);
	bool right = le32toh(magic) == MAGIC && le32toh(bytes) == n - TRAILER &&
		     le64toh(sum) == segment_checksum(p, n - TRAILER);
	return right ? (ssize_t)(n - TRAILER) : -1;
}

/* *missing: there is no such file. */
static void
read_copy(int dir_fd, const char *name, bool second, struct copy *out, bool *missing)
{
	char path[NAME_ROOM];
	copy_name(path, name, second);
	out->n = -1;
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	*missing = fd < 0 && errno == ENOENT;
	if (fd < 0)
		return;
	ssize_t n = read(fd, out->bytes, sizeof out->bytes);
	close(fd);
	if (n > 0)
		out->n = content_bytes(out->bytes, (size_t)n);
}

static int
write_copy(int dir_fd, const char *name, bool second, const void *p, size_t n)
{
	char path[NAME_ROOM], temporary[NAME_ROOM + 8], bytes[DOUBLED_MOST + TRAILER];
	uint32_t magic = htole32(MAGIC), size = htole32((uint32_t)n);
	uint64_t sum = htole64(segment_checksum(p, n));
	memcpy(bytes, p, n);
	memcpy(bytes + n, &magic, sizeof magic);
	memcpy(bytes + n + 4, &size, sizeof size);
	memcpy(bytes + n + 8, &sum, sizeof sum);
	copy_name(path, name, second);
	snprintf(temporary, sizeof temporary, "%s.new", path);
	int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	int r = diskio_write_all(&diskio_system, fd, bytes, n + TRAILER, 0);
	if (r == 0)
		r = fsync(fd);
	int error = errno;
	if (close(fd) != 0 && r == 0) {
		r = -1;
		error = errno;
	}
	if (r == 0 && (r = renameat(dir_fd, temporary, dir_fd, path)) != 0)
		error = errno;
	if (r != 0)
		unlinkat(dir_fd, temporary, 0);
	errno = error;
	return r == 0 ? 0 : -1;
}

int
doubled_write(int dir_fd, const char *name, const void *p, size_t n)
{
	assert(n <= DOUBLED_MOST);
	if (write_copy(dir_fd, name, false, p, n) != 0 || write_copy(dir_fd, name, true, p, n) != 0)
		return -1;
	return fsync(dir_fd);
}

ssize_t
doubled_look(int dir_fd, const char *name, void *to, size_t room, int *bad)
{
	ssize_t n = -1;
	struct copy copy;
	bool missing;
	*bad = 0;
	for (int i = 0; i < 2; i++) {
		read_copy(dir_fd, name, i, &copy, &missing);
		if (copy.n < 0 || (size_t)copy.n > room) {
			++*bad;
		} else if (n < 0) {
			n = copy.n;
			memcpy(to, copy.bytes, (size_t)n);
		}
	}
	return n;
}

ssize_t
doubled_read(int dir_fd, const char *name, void *to, size_t room, int *mended)
{
	struct copy copies[2];
	bool missing[2];
	for (int i = 0; i < 2; i++)
		read_copy(dir_fd, name, i, &copies[i], &missing[i]);
	*mended = 0;
	const struct copy *good = copies[0].n >= 0 ? &copies[0] : &copies[1];
	if (good->n < 0 || (size_t)good->n > room) {
		errno = missing[0] && missing[1] ? ENOENT : EBADMSG;
		return -1;
	}
	memcpy(to, good->bytes, (size_t)good->n);
	for (int i = 0; i < 2; i++) {
		bool same = copies[i].n == good->n &&
			    memcmp(copies[i].bytes, good->bytes, (size_t)good->n) == 0;
		if (!same) { /* a disk that cannot be written shows soon enough elsewhere */
			*mended = 1;
			(void)!write_copy(dir_fd, name, i, to, (size_t)good->n);
		}
	}
	return good->n;
}
