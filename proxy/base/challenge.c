/* challenge.c - one open, one read. */
#include "proxy/base/challenge.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return false;
	}
	return s.n >= 1 && s.n <= CHALLENGE_TOKEN_BYTES;
}

int
challenge_read(const char *dir, struct str token, char out[CHALLENGE_BYTES])
{
	char name[CHALLENGE_TOKEN_BYTES + 1];
	struct stat st;
	if (!is_token(token))
		return 0;
	memcpy(name, token.p, token.n);
	name[token.n] = '\0';
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = at < 0 ? -1 : openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = -1;
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < CHALLENGE_BYTES)
		n = read(fd, out, CHALLENGE_BYTES);
	if (fd >= 0)
		close(fd);
	if (at >= 0)
		close(at);
	return n > 0 ? (int)n : 0;
}
