/* secret_file.c - the file that the secret lies in. */
#include "proxy/fleet/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int
read_all(int fd, char *to, size_t room, size_t *n)
{
	for (*n = 0; *n < room;) {
		ssize_t got = read(fd, to + *n, room - *n);
		if (got <= 0)
			return (int)got;
		*n += (size_t)got;
	}
	return 0;
}

int
secret_read(struct secret *s, const char *path, char *err, size_t err_bytes)
{
	char bytes[SECRET_MOST + 2];
	struct stat st;
	size_t n = 0;
	int r = -1, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || read_all(fd, bytes, sizeof bytes, &n))
		snprintf(err, err_bytes, "cannot read %s: %s", path, strerror(errno));
	else if (S_ISREG(st.st_mode) && (st.st_mode & (S_IROTH | S_IWOTH)))
		snprintf(err, err_bytes,
			 "every user of this machine may read or write %s; chmod 640 it, or 600",
			 path);
	else if (secret_make(s, (struct str){bytes, n}))
		snprintf(err, err_bytes,
			 "%s has %zu bytes, a secret has %d to %d: openssl rand -hex 32 makes one",
			 path, n, SECRET_LEAST, SECRET_MOST);
	else
		r = 0;
	OPENSSL_cleanse(bytes, sizeof bytes);
	if (fd >= 0)
		close(fd);
	return r;
}
