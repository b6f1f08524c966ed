/* mix.c - popularity and sizes as tables, recurrence as a draw, bodies as one multiplication. */
#include "proxy/cli/demo/mix.h"

#include "proxy/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- randomness: splitmix64, so that the same seed is the same mix everywhere ---------------- */

#define GOLDEN 0x9e3779b97f4a7c15u

static uint64_t
scramble(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static double
as_share(uint64_t x) /* 0..1 */
{
	return (double)(x >> 11) * 0x1p-53;
}

static double
draw(uint64_t *state)
{
	return as_share(scramble(*state += GOLDEN));
}

/* ---- popularity ------------------------------------------------------------------------------ */

/* Share of the objects that are asked for at most so many times: read off the popularity table of
 * the Akamai cluster (UMass-LIDS/Tragen, tc). Its last few objects, asked for up to nine million
 * times, are left out: no sample of this size holds them. */
static const struct popularity {
	double at_most, share;
} popularity[] = {
	{1, 0.743244},	 {2, 0.849663},	   {3, 0.891545},   {4, 0.915252},   {5, 0.930577},
	{6, 0.941456},	 {8, 0.955826},	   {10, 0.964719},  {13, 0.972967},  {16, 0.978094},
	{20, 0.982528},	 {26, 0.986695},   {35, 0.990244},  {50, 0.993255},  {70, 0.995204},
	{100, 0.996676}, {150, 0.997845},  {225, 0.998617}, {350, 0.999148}, {550, 0.999495},
	{900, 0.999713}, {1400, 0.999835}, {2000, 1},
};
#define POPULARITY_ROWS (sizeof(popularity) / sizeof(popularity[0]))

/* How often the object at rank share u of all (rarest first) is asked for. Between two rows the
 * tail is a power law, as it is in the table. */
static uint32_t
times_asked(double u)
{
	size_t i = 0;
	while (i < POPULARITY_ROWS - 1 && u >= popularity[i].share)
		i++;
	if (i == 0)
		return 1;
	struct popularity below = popularity[i - 1], above = popularity[i];
	if (u >= above.share)
		return (uint32_t)above.at_most;
	double slope =
		log((1 - above.share) / (1 - below.share)) / log(above.at_most / below.at_most);
	double times = below.at_most * pow((1 - u) / (1 - below.share), 1 / slope);
	return (uint32_t)fmin(ceil(fmax(times, below.at_most + 0.5)), above.at_most);
}

static uint64_t
fill_times(uint32_t *times, uint32_t objects)
{
	uint64_t sum = 0;
	for (uint32_t k = 0; k < objects; k++)
		sum += times[k] = times_asked((k + 0.5) / objects);
	return sum;
}

/* How many times each object is asked for, rarest first, adding up to exactly the requests. */
static uint32_t *
share_out(uint32_t requests, uint32_t *objects)
{
	uint32_t *times = NULL, n = requests / 3 + 1;
	uint64_t sum = 0;
	for (int round = 0; round < 3; round++) {
		times = mem_realloc(times, n * sizeof(*times));
		sum = fill_times(times, n);
		if (round < 2)
			n = (uint32_t)((double)n * requests / (double)sum) + 1;
	}
	/* The difference that rounding leaves is given to, or taken from, the popular ones: the
	 * rare ones make the shares that people look at. */
	uint32_t popular = n / 50 + 1;
	for (uint32_t k = 0; sum != requests; k++) {
		uint32_t *t = &times[n - 1 - k % popular];
		if (sum < requests) {
			(*t)++, sum++;
		} else if (*t > 1 || k >= 100 * popular) {
			(*t)--, sum--;
		}
	}
	*objects = n;
	return times;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Quantiles of the object size: the body of the Akamai sizes, its tail cut where a demo would
 * have to move too many bytes. */
static const struct {
	double share, bytes;
} sizes[] = {
	{0, 200},	{0.05, 700},	  {0.10, 1300},	 {0.25, 3400},
	{0.50, 8192},	{0.75, 22000},	  {0.90, 60000}, {0.95, 112000},
	{0.99, 420000}, {0.999, 1700000}, {1, 5000000},
};

static uint64_t
size_at(double u)
{
	size_t i = 1;
	while (u > sizes[i].share)
		i++;
	double part = (u - sizes[i - 1].share) / (sizes[i].share - sizes[i - 1].share);
	return (uint64_t)(sizes[i - 1].bytes * pow(sizes[i].bytes / sizes[i - 1].bytes, part));
}

/* ---- when ------------------------------------------------------------------------------------ */

/* Some objects are asked for all day long, others have their hour. */
#define BURST_SHARE    0.25
#define BURST_SHORTEST 0.005 /* of the whole mix; to 1, log-uniformly */

struct moment {
	double when; /* 0..1 */
	uint32_t object;
};

static int
by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	return x->when < y->when ? -1 : x->when > y->when;
}

static void
order_requests(struct mix *m, const uint32_t *times, uint64_t *random)
{
	struct moment *moments = mem_alloc(m->request_count * sizeof(*moments)), *next = moments;
	for (uint32_t k = 0; k < m->object_count; k++) {
		double start = 0, length = 1;
		if (times[k] > 1 && draw(random) < BURST_SHARE) {
			length = exp(draw(random) * log(BURST_SHORTEST));
			start = draw(random) * (1 - length);
		}
		for (uint32_t i = 0; i < times[k]; i++)
			*next++ = (struct moment){start + length * draw(random), k};
	}
	qsort(moments, m->request_count, sizeof(*moments), by_time);
	for (uint32_t i = 0; i < m->request_count; i++)
		m->order[i] = moments[i].object;
	free(moments);
}

/* ---- mixes ----------------------------------------------------------------------------------- */

static void
allocate(struct mix *m, uint32_t requests, uint32_t objects)
{
	*m = (struct mix){.object_count = objects, .request_count = requests};
	m->objects = mem_alloc(objects * sizeof(*m->objects));
	m->order = mem_alloc(requests * sizeof(*m->order));
}

static uint64_t
name_of(uint64_t seed, uint32_t k)
{
	return scramble(scramble(seed + GOLDEN) + k * GOLDEN);
}

void
mix_init_cdn(struct mix *m, uint32_t requests, uint64_t seed)
{
	uint32_t objects;
	uint32_t *times = share_out(requests, &objects);
	uint64_t random = scramble(seed);

	allocate(m, requests, objects);
	for (uint32_t k = 0; k < objects; k++) {
		struct mix_object *o = &m->objects[k];
		o->name = name_of(seed, k);
		o->bytes = size_at(draw(&random));
		m->distinct_bytes += o->bytes;
		m->asked_bytes += o->bytes * times[k];
		m->asked_once += times[k] == 1;
	}
	order_requests(m, times, &random);
	free(times);
}

void
mix_init_same(struct mix *m, uint32_t requests, uint32_t objects, uint64_t bytes, uint64_t seed)
{
	allocate(m, requests, objects);
	for (uint32_t k = 0; k < objects; k++)
		m->objects[k] = (struct mix_object){name_of(seed, k), bytes};
	for (uint32_t i = 0; i < requests; i++)
		m->order[i] = i % objects;
	m->distinct_bytes = objects * bytes;
	m->asked_bytes = requests * bytes;
}

void
mix_fini(struct mix *m)
{
	free(m->objects);
	free(m->order);
	*m = (struct mix){0};
}

/* ---- URLs ------------------------------------------------------------------------------------ */

size_t
mix_path(const struct mix_object *o, char out[MIX_PATH_BYTES])
{
	return (size_t)snprintf(out, MIX_PATH_BYTES, "/cdn/%016llx/%llu",
				(unsigned long long)o->name, (unsigned long long)o->bytes);
}

bool
mix_path_parse(struct str path, struct mix_object *out)
{
	static const char prefix[] = "/cdn/";
	const size_t name_at = sizeof(prefix) - 1, bytes_at = name_at + 17;
	struct mix_object o = {0};
	size_t i;

	if (path.n <= bytes_at || memcmp(path.p, prefix, name_at) != 0 ||
	    path.p[bytes_at - 1] != '/')
		return false;
	for (i = name_at; i < bytes_at - 1; i++) {
		char c = path.p[i];
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
		o.name = o.name << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	for (i = bytes_at; i < path.n && path.p[i] != '?'; i++) {
		if (path.p[i] < '0' || path.p[i] > '9' || i - bytes_at > 15)
			return false;
		o.bytes = o.bytes * 10 + (uint64_t)(path.p[i] - '0');
	}
	if (i == bytes_at)
		return false;
	*out = o;
	return true;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Eight bytes at a time: word i of an object is (key + i) times an odd constant. Another object's
 * bytes, and this one's from another offset, differ in every word. */
static uint64_t
body_key(const struct mix_object *o)
{
	return scramble(o->name + o->bytes * GOLDEN);
}

static uint64_t
body_word(uint64_t key, uint64_t i)
{
	uint64_t x = (key + i) * GOLDEN;
	return x ^ x >> 32;
}

static char
body_byte(uint64_t key, uint64_t at)
{
	uint64_t w = body_word(key, at / 8);
	char c[8];
	memcpy(c, &w, 8);
	return c[at % 8];
}

void
mix_body_fill(const struct mix_object *o, uint64_t at, char *p, size_t n)
{
	uint64_t key = body_key(o);
	for (; n && at % 8; n--)
		*p++ = body_byte(key, at++);
	for (; n >= 8; n -= 8, p += 8, at += 8) {
		uint64_t w = body_word(key, at / 8);
		memcpy(p, &w, 8);
	}
	for (; n; n--)
		*p++ = body_byte(key, at++);
}

bool
mix_body_matches(const struct mix_object *o, uint64_t at, const char *p, size_t n)
{
	uint64_t key = body_key(o), differences = 0;
	for (; n && at % 8; n--)
		differences |= (uint64_t)(*p++ ^ body_byte(key, at++));
	for (; n >= 8; n -= 8, p += 8, at += 8) {
		uint64_t w;
		memcpy(&w, p, 8);
		differences |= w ^ body_word(key, at / 8);
	}
	for (; n; n--)
		differences |= (uint64_t)(*p++ ^ body_byte(key, at++));
	return differences == 0;
}
