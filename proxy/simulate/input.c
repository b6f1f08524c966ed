/* input.c - four ways to unpack, behind one call. */
#include "proxy/simulate/input.h"

#include "proxy/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { PIECE = 256 << 10, FIRST_BYTES = 6, LOOK_EVERY_MS = 100 };
static const uint64_t XZ_MEMORY = UINT64_C(256) << 20;

enum packing { PLAIN, GZIP, ZSTD, XZ };

struct input {
	int fd;
	char *name; /* owned */
	enum packing packing;
	uint64_t size;
	_Atomic uint64_t taken;
	const atomic_uint *stop; /* NULL: a file, which is always there */
	bool stopped;
	bool ended;	 /* the file has no more */
	bool within;	 /* a packed member has begun and not ended */
	bool full;	 /* the last step gave all it could: there may be more within */
	const char *sad; /* why it cannot go on */
	char trouble[512];
	z_stream gzip;
	ZSTD_DStream *zstd;
	lzma_stream xz;
	size_t at, n; /* of piece */
	unsigned char piece[PIECE];
};

static const struct {
	const char *word;
	unsigned char first[FIRST_BYTES];
	size_t n;
} packings[] = {
	[PLAIN] = {"plain", "", 0},
	[GZIP] = {"gzip", {0x1f, 0x8b}, 2},
	[ZSTD] = {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4},
	[XZ] = {"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6},
};

/* Waits for bytes, or for the end. False: there are none, and it was told to stop. */
static bool
may_read(struct input *in)
{
	struct pollfd p = {.fd = in->fd, .events = POLLIN};
	while (in->stop && !in->stopped && poll(&p, 1, LOOK_EVERY_MS) <= 0)
		in->stopped = atomic_load_explicit(in->stop, memory_order_relaxed) > 0;
	return !in->stopped;
}

/* More packed bytes behind those that are left; false: there are none, or reading failed. */
static bool
refill(struct input *in)
{
	memmove(in->piece, in->piece + in->at, in->n - in->at);
	in->n -= in->at;
	in->at = 0;
	while (!in->ended && in->n < sizeof in->piece) {
		if (!may_read(in)) {
			in->ended = true;
			break;
		}
		ssize_t got = read(in->fd, in->piece + in->n, sizeof in->piece - in->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			in->sad = strerror(errno);
		if (got <= 0) {
			in->ended = true;
			break;
		}
		in->n += (size_t)got;
		atomic_fetch_add_explicit(&in->taken, (uint64_t)got, memory_order_relaxed);
		break; /* a pipe gives what it has */
	}
	return in->n > 0 && !in->sad;
}

static enum packing
packing_of(struct input *in)
{
	while (in->n < FIRST_BYTES && !in->ended)
		refill(in);
	for (enum packing p = GZIP; p <= XZ; p++)
		if (in->n >= packings[p].n &&
		    memcmp(in->piece, packings[p].first, packings[p].n) == 0)
			return p;
	return PLAIN;
}

static bool
begin(struct input *in)
{
	switch (in->packing) {
	case GZIP:
		return inflateInit2(&in->gzip, 15 + 16) == Z_OK;
	case ZSTD:
		return (in->zstd = ZSTD_createDStream()) != NULL;
	case XZ:
		return lzma_stream_decoder(&in->xz, XZ_MEMORY, LZMA_CONCATENATED) == LZMA_OK;
	case PLAIN:
		break;
	}
	return true;
}

struct input *
input_open(const char *name, const atomic_uint *stop, char *err, size_t err_bytes)
{
	bool standard = strcmp(name, "-") == 0;
	struct stat st = {0};
	int fd = standard ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
		snprintf(err, err_bytes, "cannot read %s: %s", name,
			 fd < 0 ? strerror(errno) : "it is a directory; name the files in it");
		if (fd >= 0 && !standard)
			close(fd);
		return NULL;
	}
	struct input *in = NEW(struct input);
	in->fd = fd;
	in->stop = S_ISREG(st.st_mode) ? NULL : stop;
	in->name = mem_strdup(standard ? "standard input" : name);
	in->size = S_ISREG(st.st_mode) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
	in->packing = packing_of(in);
	if (!begin(in)) {
		snprintf(err, err_bytes, "cannot unpack %s: there is not enough memory", name);
		input_close(&in);
	}
	return in;
}

void
input_close(struct input **pin)
{
	struct input *in = *pin;
	*pin = NULL;
	if (!in)
		return;
	if (in->packing == GZIP)
		inflateEnd(&in->gzip);
	if (in->packing == XZ)
		lzma_end(&in->xz);
	ZSTD_freeDStream(in->zstd);
	if (in->fd != STDIN_FILENO)
		close(in->fd);
	free(in->name);
	free(in);
}

/* One step of unpacking each: takes from piece, gives to `to`, and returns how much it gave. What
 * follows a member that is no member itself (padding) is left. */
static size_t
step_gzip(struct input *in, char *to, size_t n)
{
	if (!in->within && inflateReset(&in->gzip) != Z_OK)
		in->sad = "there is not enough memory";
	if (!in->within && in->piece[in->at] != packings[GZIP].first[0]) {
		in->at = in->n;
		return 0;
	}
	in->gzip.next_in = in->piece + in->at;
	in->gzip.avail_in = (unsigned)(in->n - in->at);
	in->gzip.next_out = (unsigned char *)to;
	in->gzip.avail_out = (unsigned)n;
	int r = inflate(&in->gzip, Z_NO_FLUSH);
	if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
		in->sad = "the gzip data are damaged";
	in->at = in->n - in->gzip.avail_in;
	in->within = r != Z_STREAM_END;
	return n - in->gzip.avail_out;
}

static size_t
step_zstd(struct input *in, char *to, size_t n)
{
	ZSTD_inBuffer from = {in->piece, in->n, in->at};
	ZSTD_outBuffer out = {to, n, 0};
	size_t r = ZSTD_decompressStream(in->zstd, &out, &from);
	if (ZSTD_isError(r))
		in->sad = "the zstd data are damaged";
	in->at = from.pos;
	in->within = r != 0;
	return out.pos;
}

static size_t
step_xz(struct input *in, char *to, size_t n)
{
	in->xz.next_in = in->piece + in->at;
	in->xz.avail_in = in->n - in->at;
	in->xz.next_out = (unsigned char *)to;
	in->xz.avail_out = n;
	lzma_ret r = lzma_code(&in->xz, in->ended ? LZMA_FINISH : LZMA_RUN);
	if (r == LZMA_MEMLIMIT_ERROR)
		in->sad = "it needs more than 256 MiB of memory to be unpacked; unpack it with xz";
	else if (r != LZMA_OK && r != LZMA_STREAM_END && r != LZMA_BUF_ERROR)
		in->sad = "the xz data are damaged";
	in->at = in->n - in->xz.avail_in;
	in->within = r != LZMA_STREAM_END;
	return n - in->xz.avail_out;
}

static size_t
step_plain(struct input *in, char *to, size_t n)
{
	size_t have = in->n - in->at;
	n = n < have ? n : have;
	memcpy(to, in->piece + in->at, n);
	in->at += n;
	return n;
}

static size_t
step(struct input *in, char *to, size_t n)
{
	switch (in->packing) {
	case GZIP:
		return step_gzip(in, to, n);
	case ZSTD:
		return step_zstd(in, to, n);
	case XZ:
		return step_xz(in, to, n);
	case PLAIN:
		break;
	}
	return step_plain(in, to, n);
}

/* A packed member has no end, for another reason than that we left. */
static bool
is_cut_short(const struct input *in)
{
	return in->within && !in->stopped;
}

long
input_read(struct input *in, char *to, size_t n)
{
	size_t got = 0;
	while (got == 0 && !in->sad) {
		bool more = in->full || (in->within && in->packing == XZ);
		if (in->at == in->n && !in->full && !refill(in) && !more)
			break;
		size_t had = in->n - in->at;
		got = step(in, to, n);
		in->full = got == n;
		bool stuck = got == 0 && in->n - in->at == had;
		if (stuck && !in->sad && (in->ended || !refill(in)))
			break;
	}
	if (got == 0 && !in->sad && is_cut_short(in))
		in->sad = "it is cut short";
	if (got == 0 && in->sad)
		snprintf(in->trouble, sizeof in->trouble, "%s: %s", in->name, in->sad);
	return got ? (long)got : in->sad ? -1 : 0;
}

const char *
input_trouble(const struct input *in)
{
	return in->trouble;
}

uint64_t
input_taken(const struct input *in)
{
	return atomic_load_explicit(&in->taken, memory_order_relaxed);
}

uint64_t
input_size(const struct input *in)
{
	return in->size;
}

const char *
input_packing(const struct input *in)
{
	return packings[in->packing].word;
}
