/* audit.c - reads what restore.c reads, and then what it lists. */
#include "proxy/cache/audit.h"

#include "proxy/base/mem.h"
#include "proxy/cache/store/diskio.h"
#include "proxy/cache/store/doubled.h"
#include "proxy/cache/forget/forget.h"
#include "proxy/cache/store/object_facts.h"
#include "proxy/cache/store/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED_BYTES = 256, SLOTS_MOST = 1 << 16 };

static const uint64_t LOG_MOST = 256 << 20;

struct segment_file {
	uint32_t slot, generation;
	int fd;
	struct batch_header footer;
	bool sealed, damaged;
};

/* A record as a table lists it; later ones of a key count. */
struct listed {
	uint64_t hash_hi;
	uint32_t file, generation;
	uint32_t offset, bytes;
	uint64_t order;
};

struct auditor {
	struct audit *a;
	int dir_fd, lock_fd;
	struct twice_seed seed;
	struct forget *forget;
	struct segment_file *files;
	size_t files_n;
	struct listed *list;
	size_t list_n, list_room;
};

/* ---- the small files ------------------------------------------------------------------------- */

static int
take_lock(struct auditor *x, const char *dir, char *err, size_t err_bytes)
{
	char pid[32] = {0};
	x->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->dir_fd < 0) {
		snprintf(err, err_bytes, "cannot read directory %s: %s", dir, strerror(errno));
		return -1;
	}
	x->lock_fd = openat(x->dir_fd, "lock", O_RDONLY | O_CLOEXEC);
	if (x->lock_fd < 0 || flock(x->lock_fd, LOCK_SH | LOCK_NB) == 0)
		return 0;
	ssize_t n = pread(x->lock_fd, pid, sizeof pid - 1, 0);
	pid[n > 0 ? strcspn(pid, "\n") : 0] = 0;
	snprintf(
		err, err_bytes,
		"%s is in use by process %s: stop that first, for objects would change while they are read; "
		" twice stats asks a running proxy",
		dir, *pid ? pid : "(unknown)");
	return -1;
}

static int
read_format(struct auditor *x, const char *dir, char *err, size_t err_bytes)
{
	char text[128] = {0}, random[SEED_BYTES];
	unsigned version = 0;
	unsigned long long bytes = 0;
	int bad;
	if (doubled_look(x->dir_fd, "format", text, sizeof text - 1, &bad) < 0 ||
	    sscanf(text, "twice cache format %u, segments of %llu bytes", &version, &bytes) != 2 ||
	    version != 2 || bytes < SEGMENT_PAGE || bytes > 1 << 30 || bytes % SEGMENT_PAGE) {
		snprintf(err, err_bytes,
			 "%s holds no cache that this twice can read: its file \"format\" %s", dir,
			 *text ? "says another format" : "is missing or damaged");
		return -1;
	}
	x->a->segment_bytes = bytes;
	x->a->bad_copies = bad;
	if (doubled_look(x->dir_fd, "seed", random, sizeof random, &bad) != SEED_BYTES) {
		snprintf(err, err_bytes,
			 "%s has no sound copy of its file \"seed\": nothing in it can be found",
			 dir);
		return -1;
	}
	x->a->bad_copies += bad;
	twice_seed_init(&x->seed, random, sizeof random);
	return 0;
}

static void
count_purge(void *ctx, const struct purge_entry *e)
{
	struct audit_purges *p = ctx;
	if (e->flags & FORGET_SOFT)
		p->soft[e->kind]++;
	else
		p->hard[e->kind]++;
}

static void
read_purges(struct auditor *x)
{
	struct audit_purges *p = &x->a->purges;
	struct purge_head head;
	struct stat s;
	struct forget_options o = {.dir_fd = x->dir_fd, .seed = &x->seed, .log_bytes = 1 << 20};
	p->lost = forget_open(&x->forget, &o) != FORGET_KEPT;
	int fd = openat(x->dir_fd, "purges", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &s) == 0 && (uint64_t)s.st_size < LOG_MOST) {
		char *bytes = mem_alloc((size_t)s.st_size + 1);
		p->bytes = (uint64_t)s.st_size;
		if (diskio_read_all(&diskio_system, fd, bytes, (size_t)s.st_size, 0) == 0)
			purge_log_parse(bytes, (size_t)s.st_size, &head, count_purge, p);
		free(bytes);
	}
	if (fd >= 0)
		close(fd);
}

/* ---- segments -------------------------------------------------------------------------------- */

static bool
read_header(const struct segment_file *f, uint64_t at, struct batch_header *out)
{
	char bytes[SEGMENT_HEADER_BYTES];
	return diskio_read_all(&diskio_system, f->fd, bytes, sizeof bytes, at) == 0 &&
	       batch_header_parse(bytes, sizeof bytes, out) && out->segment == f->slot;
}

/* -1: it is there and cannot be opened. */
static int
look_at(struct auditor *x, uint32_t slot, const char *name)
{
	struct segment_file f = {.slot = slot};
	struct batch_header first;
	uint64_t end = x->a->segment_bytes;
	f.fd = openat(x->dir_fd, name, O_RDONLY | O_CLOEXEC);
	if (f.fd < 0)
		return errno == ENOENT ? 0 : -1;
	bool begun = read_header(&f, 0, &first) && !first.is_footer && first.generation;
	f.sealed = read_header(&f, end - SEGMENT_HEADER_BYTES, &f.footer) && f.footer.is_footer &&
		   f.footer.bytes <= end && (!begun || f.footer.generation == first.generation);
	f.generation = begun ? first.generation : f.sealed ? f.footer.generation : 0;
	x->files = mem_realloc(x->files, (x->files_n + 1) * sizeof *x->files);
	x->files[x->files_n++] = f;
	return 0;
}

static int
by_generation(const void *pa, const void *pb)
{
	const struct segment_file *a = pa, *b = pb;
	return a->generation < b->generation ? -1 : a->generation > b->generation;
}

static int
find_files(struct auditor *x)
{
	int fd = openat(x->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	int r = 0;
	for (struct dirent *e; r == 0 && (e = readdir(d));) {
		uint32_t slot;
		char name[32];
		if (sscanf(e->d_name, "segment.%5u", &slot) != 1 || slot >= SLOTS_MOST)
			continue;
		snprintf(name, sizeof name, "segment.%05u", slot);
		if (strcmp(name, e->d_name) == 0)
			r = look_at(x, slot, name);
	}
	int error = errno;
	closedir(d);
	errno = error;
	if (r == 0 && x->files_n)
		qsort(x->files, x->files_n, sizeof *x->files, by_generation);
	return r;
}

/* The records of a table, or the sign of damage. */
static uint32_t
list_table(struct auditor *x, uint32_t file, const struct batch_header *h, uint64_t at)
{
	struct segment_file *f = &x->files[file];
	size_t n = (size_t)h->entries * SEGMENT_ENTRY_BYTES;
	char *table = mem_alloc(n + 1);
	uint32_t records = 0;
	f->damaged = diskio_read_all(&diskio_system, f->fd, table, n, at + h->table_at) != 0 ||
		     segment_checksum(table, n) != h->table_checksum;
	for (uint32_t i = 0; i < h->entries && !f->damaged; i++) {
		struct entry e = entry_get(table, i);
		uint64_t end = (uint64_t)e.offset * SEGMENT_ALIGN + e.bytes;
		if (!entry_is_record(&e) || e.bytes < RECORD_HEADER_BYTES ||
		    e.bytes > RECORD_MAX_BYTES || end > x->a->segment_bytes)
			continue;
		if (x->list_n == x->list_room) {
			x->list_room = x->list_room ? 2 * x->list_room : 1024;
			x->list = mem_realloc(x->list, x->list_room * sizeof *x->list);
		}
		x->list[x->list_n] = (struct listed){e.hash_hi, file,	 f->generation,
						     e.offset,	e.bytes, x->list_n};
		x->list_n++;
		records++;
	}
	free(table);
	return records;
}

static void
list_batches(struct auditor *x, uint32_t file, struct audit_segment *s)
{
	struct segment_file *f = &x->files[file];
	uint64_t link = 0;
	struct batch_header h;
	while (s->used_bytes < x->a->segment_bytes && !f->damaged &&
	       read_header(f, s->used_bytes, &h) && !h.is_footer && h.generation == f->generation &&
	       h.link == link && (uint64_t)h.page * SEGMENT_PAGE == s->used_bytes &&
	       h.bytes <= x->a->segment_bytes - s->used_bytes) {
		s->records += list_table(x, file, &h, s->used_bytes);
		s->used_bytes += h.bytes;
		link = h.seal;
	}
}

static void
list_segment(struct auditor *x, uint32_t file)
{
	struct segment_file *f = &x->files[file];
	struct audit_segment s = {.slot = f->slot, .generation = f->generation};
	if (f->generation && f->sealed) {
		s.state = AUDIT_SEALED;
		s.used_bytes = (uint64_t)f->footer.page * SEGMENT_PAGE;
		s.opened_s = (int64_t)f->footer.opened_s;
		s.records = list_table(x, file, &f->footer, x->a->segment_bytes - f->footer.bytes);
	} else if (f->generation) {
		s.state = AUDIT_OPEN;
		list_batches(x, file, &s);
	}
	s.damaged = f->damaged;
	x->a->segments++;
	x->a->damaged_segments += s.damaged;
	x->a->used_bytes += s.used_bytes;
	if (x->a->on_segment)
		x->a->on_segment(x->a->ctx, &s);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int
by_key(const void *pa, const void *pb)
{
	const struct listed *a = pa, *b = pb;
	if (a->hash_hi != b->hash_hi)
		return a->hash_hi < b->hash_hi ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static const struct segment_file *
holder_of(const struct auditor *x, const struct locator *at)
{
	for (size_t i = 0; i < x->files_n; i++)
		if (x->files[i].slot == at->segment)
			return x->files[i].generation == at->generation ? &x->files[i] : NULL;
	return NULL;
}

static enum audit_word
check_body(const struct auditor *x, const struct record *r)
{
	if (r->is_inline)
		return record_body_is_right(r) ? AUDIT_SOUND : AUDIT_DAMAGED;
	enum audit_word word = AUDIT_SOUND;
	for (uint32_t i = 0; i < r->fragments_n && word == AUDIT_SOUND; i++) {
		struct fragment f = fragment_get(r->fragments, i);
		uint64_t at = (uint64_t)f.at.offset * SEGMENT_ALIGN;
		const struct segment_file *file = holder_of(x, &f.at);
		if (!file)
			return AUDIT_INCOMPLETE;
		if (at + f.at.bytes > x->a->segment_bytes)
			return AUDIT_DAMAGED;
		char *p = mem_alloc(f.at.bytes);
		if (diskio_read_all(&diskio_system, file->fd, p, f.at.bytes, at) != 0 ||
		    segment_checksum(p, f.at.bytes) != f.checksum)
			word = AUDIT_DAMAGED;
		free(p);
	}
	return word;
}

/* A proxy that starts here would judge the object so. */
static void
judge(const struct auditor *x, const struct record *r, struct audit_object *o)
{
	struct forget_thing thing = {r->hash, r->key, r->tags};
	uint64_t now;
	uint32_t stale_s;
	enum forget_word word = forget_judge(x->forget, &thing, r->clean_as_of, &now, &stale_s);
	bool fresh = r->kind == OBJECT_RESPONSE || r->kind == OBJECT_SLICED;
	if (x->a->purges.lost || word == FORGET_GONE) {
		o->word = AUDIT_PURGED;
		return;
	}
	o->word = check_body(x, r);
	if (word == FORGET_STALE && fresh) {
		terms_outdate(&o->terms, stale_s);
		o->word = o->word == AUDIT_SOUND ? AUDIT_STALE : o->word;
	}
}

static void
check_record(struct auditor *x, const struct listed *l)
{
	const struct segment_file *f = &x->files[l->file];
	uint64_t at = (uint64_t)l->offset * SEGMENT_ALIGN;
	char *p = mem_alloc(l->bytes);
	struct record r;
	struct audit_object o = {.word = AUDIT_DAMAGED};
	bool right = diskio_read_all(&diskio_system, f->fd, p, l->bytes, at) == 0 &&
		     !record_parse(p, l->bytes, &r) && r.at.segment == f->slot &&
		     r.at.generation == f->generation && r.at.offset == l->offset;
	if (right) {
		o.key = r.key;
		o.tags = r.tags;
		o.terms = r.terms;
		o.kind = r.kind;
		o.body_bytes = r.body_bytes;
		o.plain_bytes = r.plain_bytes;
		judge(x, &r, &o);
	}
	x->a->objects[o.word]++;
	x->a->body_bytes[o.word] += o.body_bytes;
	if (x->a->on_object)
		x->a->on_object(x->a->ctx, &o);
	free(p);
}

static void
check_objects(struct auditor *x)
{
	if (x->list_n)
		qsort(x->list, x->list_n, sizeof *x->list, by_key);
	for (size_t i = 0; i < x->list_n; i++) {
		if (i + 1 < x->list_n && x->list[i + 1].hash_hi == x->list[i].hash_hi)
			x->a->superseded++;
		else
			check_record(x, &x->list[i]);
	}
}

int
audit_read(struct audit *a, const char *dir, char *err, size_t err_bytes)
{
	struct auditor x = {.a = a, .dir_fd = -1, .lock_fd = -1};
	int r = -1;
	if (take_lock(&x, dir, err, err_bytes) != 0 || read_format(&x, dir, err, err_bytes) != 0)
		goto out;
	read_purges(&x);
	if (find_files(&x) != 0) {
		snprintf(err, err_bytes, "cannot read directory %s: %s%s", dir, strerror(errno),
			 errno == EMFILE ? "; allow more open files (ulimit -n)" : "");
		goto out;
	}
	for (size_t i = 0; i < x.files_n; i++)
		list_segment(&x, (uint32_t)i);
	check_objects(&x);
	r = 0;
out:
	for (size_t i = 0; i < x.files_n; i++)
		close(x.files[i].fd);
	free(x.files);
	free(x.list);
	forget_close(&x.forget);
	if (x.lock_fd >= 0)
		close(x.lock_fd);
	if (x.dir_fd >= 0)
		close(x.dir_fd);
	return r;
}
