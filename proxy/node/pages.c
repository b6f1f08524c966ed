/* pages.c - one file after the other, each read once. */
#include "proxy/node/pages.h"

#include "config/config.h"
#include "proxy/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All of it, however it grows or shrinks meanwhile: what was there when it was read. -1: errno. */
static int
read_all(int fd, struct str *out)
{
	char *p = mem_alloc(PAGES_BYTES_MOST + 1);
	size_t n = 0;
	ssize_t got = 1;
	while (got > 0 && n <= PAGES_BYTES_MOST) {
		got = read(fd, p + n, PAGES_BYTES_MOST + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	int error = got < 0 ? errno : n > PAGES_BYTES_MOST ? EFBIG : 0;
	if (!error)
		*out = (struct str){mem_strndup(p, n), n};
	free(p);
	errno = error;
	return error ? -1 : 0;
}

static int
read_file(const char *path, struct str *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	int error = fd < 0 || fstat(fd, &st) ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
	if (!error && read_all(fd, out))
		error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return error ? -1 : 0;
}

/* The route before it that names the same file; or its own number. */
static unsigned
first_with(const struct config *c, unsigned route)
{
	unsigned i = 0;
	while (!c->routes[i].answer.file ||
	       strcmp(c->routes[i].answer.file, c->routes[route].answer.file) != 0)
		i++;
	return i;
}

static int
fail(const struct config *c, unsigned route, char setting[CONFIG_NAME_BYTES], char *err,
     size_t err_bytes)
{
	const char *path = c->routes[route].answer.file;
	snprintf(setting, CONFIG_NAME_BYTES, "routes.%u.answer.file", route);
	if (errno == EFBIG)
		snprintf(err, err_bytes, "%s is larger than %d KiB; name a smaller file", path,
			 PAGES_BYTES_MOST >> 10);
	else
		snprintf(err, err_bytes, "cannot read %s: %s; name a file", path,
			 errno == EINVAL ? "it is no file" : strerror(errno));
	return -1;
}

int
pages_open(const struct config *c, bool lenient, struct pages *out, char setting[CONFIG_NAME_BYTES],
	   char *err, size_t err_bytes)
{
	*out = (struct pages){.count = c->route_count};
	for (unsigned i = 0; i < c->route_count; i++) {
		if (!c->routes[i].answer.file)
			continue;
		if (!out->of)
			out->of = mem_zalloc(c->route_count * sizeof *out->of);
		unsigned first = first_with(c, i);
		out->of[i] = out->of[first];
		if (first == i && read_file(c->routes[i].answer.file, &out->of[i]) && !lenient) {
			fail(c, i, setting, err, err_bytes);
			pages_close(out);
			return -1;
		}
	}
	return 0;
}

int
pages_try(const struct config *c, unsigned route, char setting[CONFIG_NAME_BYTES], char *err,
	  size_t err_bytes)
{
	struct str page = {0};
	if (!c->routes[route].answer.file || first_with(c, route) != route)
		return 0;
	if (read_file(c->routes[route].answer.file, &page))
		return fail(c, route, setting, err, err_bytes);
	free((void *)(uintptr_t)page.p);
	return 0;
}

/* Routes that name one file have the same view of it. */
void
pages_close(struct pages *p)
{
	for (unsigned i = 0; p->of && i < p->count; i++) {
		const char *text = p->of[i].p;
		for (unsigned k = i; text && k < p->count; k++)
			if (p->of[k].p == text)
				p->of[k].p = NULL;
		free((void *)(uintptr_t)text);
	}
	free(p->of);
	memset(p, 0, sizeof *p);
}
