/* purge_log.c - pages to bytes and back, and the order of writes that makes them durable. */
#include "proxy/cache/forget/purge_log.h"

#include "proxy/base/buf.h"
#include "proxy/base/le.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x32505754, PAIR = 2 * PURGE_PAGE, CHUNK_PAGES = 32 };

static const char NAME[] = "purges", NEW_NAME[] = "purges.new";

/* ---- bytes --------------------------------------------------------------------------------- */

static uint64_t
page_checksum(const char *page, uint32_t n)
{
	uint64_t sums[2] = {segment_checksum(page, 56),
			    segment_checksum(page + PURGE_HEADER, (size_t)n * PURGE_ENTRY)};
	return segment_checksum(sums, sizeof sums);
}

void
purge_log_format_entry(const struct purge_entry *e, char *to)
{
	memset(to, 0, PURGE_ENTRY);
	le_put64(to, e->at);
	le_put64(to + 8, e->hash.lo);
	le_put64(to + 16, e->hash.hi);
	to[24] = (char)e->kind;
	to[25] = (char)e->flags;
	le_put16(to + 26, e->prefix_bytes);
	le_put32(to + 28, e->when_s);
}

static struct purge_entry
entry_parse(const char *p)
{
	return (struct purge_entry){.at = le_get64(p),
				    .hash = {le_get64(p + 8), le_get64(p + 16)},
				    .kind = (uint8_t)p[24],
				    .flags = (uint8_t)p[25],
				    .prefix_bytes = le_get16(p + 26),
				    .when_s = le_get32(p + 28)};
}

static bool
is_known(const struct purge_entry *e)
{
	static const struct {
		bool known, soft;
	} kinds[FORGET_KINDS] = {
#define ROW(id, number, word, by_hand, soft, argument, sentence) [number] = {true, soft},
		FORGET_ROWS(ROW)
#undef ROW
	};
	bool soft = e->flags == FORGET_SOFT, unordered = e->flags == FORGET_UNORDERED;
	bool prefix = e->kind == FORGET_PREFIX, prefix_host = e->kind == FORGET_PREFIX_HOST;
	bool url = e->kind == FORGET_URL, key = e->kind == FORGET_KEY;
	return e->kind < FORGET_KINDS && kinds[e->kind].known &&
	       (soft	    ? kinds[e->kind].soft
		: unordered ? url || key
			    : !e->flags) &&
	       (soft || url || prefix || prefix_host || !e->host) &&
	       (prefix ? e->prefix_bytes && e->prefix_bytes < PURGE_PREFIX_MOST : !e->prefix_bytes);
}

bool
purge_log_parse_entry(const char *p, struct purge_entry *out)
{
	*out = entry_parse(p);
	return is_known(out);
}

static void
page_format(const struct purge_log *l, char *page)
{
	le_put32(page, MAGIC);
	le_put32(page + 4, l->n);
	le_put64(page + 8, l->page);
	le_put64(page + 16, l->head.id);
	le_put64(page + 24, l->head.starts);
	le_put64(page + 32, l->head.floor);
	le_put64(page + 40, l->head.fingerprint);
	le_put32(page + 48, l->head.epoch);
	le_put32(page + 52, l->head.disks);
	le_put64(page + 56, page_checksum(page, l->n));
}

/* Is this copy of page number k right? */
static bool
page_is_right(const char *page, uint64_t k, const struct purge_head *head)
{
	uint32_t n = le_get32(page + 4);
	if (le_get32(page) != MAGIC || n > PURGE_PER_PAGE || le_get64(page + 8) != k ||
	    le_get64(page + 56) != page_checksum(page, n))
		return false;
	if (k && le_get64(page + 16) != head->id)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct purge_entry e = entry_parse(page + PURGE_HEADER + (size_t)i * PURGE_ENTRY);
		if (!is_known(&e))
			return false;
	}
	return true;
}

static bool
is_zero(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* The copy of page k that counts, or NULL. */
static const char *
choose(const char *pair, uint64_t k, const struct purge_head *head)
{
	const char *a = pair, *b = pair + PURGE_PAGE;
	bool first = page_is_right(a, k, head), second = page_is_right(b, k, head);
	if (first && second)
		return le_get32(b + 4) > le_get32(a + 4) ? b : a;
	return first ? a : second ? b : NULL;
}

bool
purge_log_parse(const char *p, size_t n, struct purge_head *head, purge_log_tell *tell, void *ctx)
{
	uint32_t last = PURGE_PER_PAGE;
	bool over = false;
	if (n < PAIR)
		return false;
	for (uint64_t k = 0; k < n / PAIR; k++) {
		const char *pair = p + k * PAIR, *page = choose(pair, k, head);
		if (!page && k && is_zero(pair, PAIR)) {
			over = true;
			continue;
		}
		if (!page || over || last != PURGE_PER_PAGE)
			return false;
		if (k == 0)
			*head = (struct purge_head){le_get64(page + 16), le_get64(page + 24),
						    le_get64(page + 32), le_get64(page + 40),
						    le_get32(page + 48), le_get32(page + 52)};
		last = le_get32(page + 4);
		for (uint32_t i = 0; i < last; i++) {
			struct purge_entry e =
				entry_parse(page + PURGE_HEADER + (size_t)i * PURGE_ENTRY);
			tell(ctx, &e);
		}
	}
	return true;
}

/* ---- the file ------------------------------------------------------------------------------ */

uint32_t
purge_log_name(const char *dir)
{
	return (uint32_t)segment_checksum(dir, strlen(dir));
}

static void
tell_nobody(void *ctx, const struct purge_entry *e)
{
	(void)ctx, (void)e;
}

bool
purge_log_look(int dir_fd, struct purge_head *head)
{
	char pair[PAIR];
	int fd = openat(dir_fd, NAME, O_RDONLY | O_CLOEXEC);
	bool read = fd >= 0 && diskio_read_all(&diskio_system, fd, pair, sizeof pair, 0) == 0;
	if (fd >= 0)
		close(fd);
	return read && purge_log_parse(pair, sizeof pair, head, tell_nobody, NULL);
}

uint64_t
purge_log_bytes(uint64_t entries)
{
	return (entries / PURGE_PER_PAGE + 2) * PAIR;
}

static bool
has_room(const struct purge_log *l, size_t n)
{
	uint64_t pages = l->page + (l->n + n + PURGE_PER_PAGE - 1) / PURGE_PER_PAGE;
	return (pages ? pages : 1) * PAIR <= l->bytes;
}

/* Writes the pages that get the entries, a chunk at a time, each twice. */
static int
write_pages(struct purge_log *l, const struct purge_entry *entries, size_t n)
{
	char chunk[CHUNK_PAGES * PAIR];
	size_t done = 0, pages = 0;
	uint64_t first = l->page;
	do {
		while (done < n && l->n < PURGE_PER_PAGE)
			purge_log_format_entry(&entries[done++],
					       l->image + PURGE_HEADER +
						       (size_t)l->n++ * PURGE_ENTRY);
		page_format(l, l->image);
		memcpy(chunk + pages * PAIR, l->image, PURGE_PAGE);
		memcpy(chunk + pages * PAIR + PURGE_PAGE, l->image, PURGE_PAGE);
		pages++;
		bool more = done < n;
		if (!more || pages == CHUNK_PAGES) {
			if (diskio_write_all(l->ops, l->fd, chunk, pages * PAIR, first * PAIR) != 0)
				return -1;
			l->written += pages * PAIR;
			first += pages;
			pages = 0;
		}
		if (more) {
			l->page++;
			l->n = 0;
			memset(l->image, 0, sizeof l->image);
		}
	} while (done < n);
	return 0;
}

static void
give_up(struct purge_log *l)
{
	int error = errno;
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	errno = error;
}

int
purge_log_append(struct purge_log *l, const struct purge_entry *entries, size_t n)
{
	if (l->fd < 0) {
		errno = EIO;
		return -1;
	}
	if (!has_room(l, n)) {
		errno = ENOSPC;
		return -1;
	}
	if (write_pages(l, entries, n) == 0 && l->ops->sync(l->fd) == 0)
		return 0;
	if (errno == ENOSPC)
		errno = EIO; /* not the end of our room */
	give_up(l);
	return -1;
}

/* Between any two calls there must be a file that may be written, or none. */
static void
check(const struct purge_log *l)
{
	assert(l->n <= PURGE_PER_PAGE && l->page <= l->bytes / PAIR);
	assert(l->fd < 0 || l->bytes >= PAIR);
}

int
purge_log_rewrite(struct purge_log *l, const struct purge_head *head, uint64_t bytes,
		  const struct purge_entry *entries, size_t n)
{
	give_up(l);
	l->head = *head;
	l->bytes = bytes;
	l->page = l->n = 0;
	memset(l->image, 0, sizeof l->image);
	assert(has_room(l, n));
	l->fd = l->ops->create(l->dir_fd, NEW_NAME);
	if (l->fd >= 0 && l->ops->renew(l->fd, (off_t)bytes) == 0 &&
	    write_pages(l, entries, n) == 0 && l->ops->sync(l->fd) == 0 &&
	    l->ops->rename(l->dir_fd, NEW_NAME, NAME) == 0 && l->ops->sync_dir(l->dir_fd) == 0) {
		check(l);
		return 0;
	}
	give_up(l);
	return -1;
}

bool
purge_log_is_there(const struct purge_log *l)
{
	struct stat st;
	bool yes = fstat(l->fd, &st) != 0 || st.st_nlink > 0;
	if (!yes)
		errno = ENOENT;
	return yes;
}

void
purge_log_close(struct purge_log *l)
{
	check(l);
	give_up(l);
}

void
purge_log_remove(struct purge_log *l)
{
	int error = errno;
	if (l->ops->remove(l->dir_fd, NAME) == 0)
		(void)l->ops->sync_dir(l->dir_fd);
	errno = error;
}
