/* cut.c - a file for each node, which the library in it reads. */
#include "tests/fleet/kit/cut.h"
#include "tests/kit/inside.h"

#include <limits.h>
#include <unistd.h>

static bool begun;
static long number;

/* It lies beside the folder of the scenario's own program. */
static const char *
library(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	expect(n > 0);
	self[n] = '\0';
	for (int up = 0; up < 2; up++)
		*strrchr(self, '/') = '\0';
	return text("%s/kit/cut.so", self);
}

static const char *
file_of(const char *dir)
{
	return text("%s.cut", dir);
}

void
cuts_begin(void)
{
	expect(access(library(), R_OK) == 0);
	begun = true;
}

void
cut_lends(const char *dir)
{
	if (!begun)
		return;
	setenv("LD_PRELOAD", library(), 1);
	setenv("KIT_CUT", file_of(dir), 1);
}

void
cut_takes_back(void)
{
	if (!begun)
		return;
	unsetenv("LD_PRELOAD");
	unsetenv("KIT_CUT");
}

static long
done(const char *path)
{
	long n = -1;
	FILE *f = fopen(text("%s.done", path), "re");
	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static void
say(const struct node *which, const char *ports)
{
	const char *path = file_of(node_dir(which)), *before = text("%s.new", path);
	FILE *f = fopen(before, "we");
	expect(begun && f);
	fprintf(f, "%ld %s\n", ++number, ports);
	expect(fclose(f) == 0 && rename(before, path) == 0);
	wait_until(done(path) == number);
}

void
cut_off(const struct node *which, struct node *const *from, unsigned n, bool engine)
{
	struct heap ports = {0};
	heap_text(&ports, "%s", engine ? "0" : "");
	for (unsigned i = 0; i < n; i++)
		heap_text(&ports, " %s", strrchr(node_address(from[i]), ':') + 1);
	say(which, ports.p);
}

void
cut_heals(const struct node *which)
{
	say(which, "");
}
