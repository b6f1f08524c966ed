/* admin_door.c - a file with one word, and a socket that file permissions guard. */
#include "proxy/node/admin_door.h"

#include "config/config.h"
#include "proxy/base/mem.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_BYTES_MOST = 4096 };

/* Anything that Authorization can carry: printable, without blanks (RFC 6750 2.1 allows less). */
static bool
is_word(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] <= ' ' || p[i] >= 0x7f)
			return false;
	return n > 0;
}

/* The file at path may be a pipe on which nobody writes: that is no file to wait for. */
static ssize_t
read_file(const char *path, char *out, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, out, bytes);
	int why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return n;
}

char *
admin_door_token(const char *path, char *err, size_t err_bytes)
{
	char text[TOKEN_BYTES_MOST + 1];
	ssize_t n = read_file(path, text, sizeof text);
	if (n < 0) {
		snprintf(err, err_bytes,
			 "cannot read %s: %s; make it (openssl rand -hex 32), readable for the "
			 "user that twice runs as",
			 path, strerror(errno));
		return NULL;
	}
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (n <= TOKEN_BYTES_MOST && is_word(text, (size_t)n))
		return mem_strndup(text, (size_t)n);
	snprintf(err, err_bytes,
		 "%s holds no token; write one word of at most %d letters and digits (openssl rand "
		 "-hex 32)",
		 path, TOKEN_BYTES_MOST);
	return NULL;
}

int
admin_door_token_of(const struct config *c, char **out, char *err, size_t err_bytes)
{
	*out = c->admin_token ? mem_strndup(c->admin_token, strlen(c->admin_token)) : NULL;
	if (c->admin_token_file)
		*out = admin_door_token(c->admin_token_file, err, err_bytes);
	return c->admin_token_file && !*out ? -1 : 0;
}

int
admin_door_open(struct admin_door *d, const struct config *c, char *err, size_t err_bytes)
{
	*d = (struct admin_door){.is_open = true, .fd = -1};
	if (!c->admin_socket)
		return 0;
	mode_t mode = (mode_t)config_socket_mode(c);
	d->fd = unix_socket_open(&d->file, c->admin_socket, mode, err, err_bytes);
	return d->fd < 0 ? -1 : 0;
}

void
admin_door_adopt(struct admin_door *d, const struct config *c, int fd, bool is_ours)
{
	assert(!d->is_open && fd >= 0);
	mode_t mode = (mode_t)config_socket_mode(c);
	*d = (struct admin_door){.is_open = true, .fd = fd, .adopted = is_ours};
	if (is_ours)
		unix_socket_adopt(&d->file, c->admin_socket, mode);
}

void
admin_door_leave(struct admin_door *d)
{
	if (d->file.path)
		unix_socket_leave(&d->file);
}

void
admin_door_close(struct admin_door *d)
{
	if (d->is_open && d->fd >= 0)
		close(d->fd);
	unix_socket_end(&d->file);
	*d = (struct admin_door){.fd = -1};
}
