/* fuzz_log.c - a log of any bytes: unpacked, its format found, read line by line, screened, and
 * entered in the catalogue.
 * rooms: simulate serve config cache coding http base filter
 *
 * The first byte says which format is asked for; 8: none.
 */
#include "config/config.h"
#include "proxy/simulate/screen.h"
#include "proxy/simulate/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static volatile unsigned char sum;

static void
look_at(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		sum = (unsigned char)(sum + (unsigned char)s.p[i]);
}

static void
read_log(struct source *s, struct screen *screen, struct catalogue *c)
{
	struct entry e;
	while (source_next(s, &e) == SOURCE_ENTRY) {
		struct visit v;
		struct catalogue_news news;
		look_at(e.method);
		look_at(e.scheme);
		look_at(e.host);
		look_at(e.target);
		look_at(e.query);
		look_at(e.client);
		look_at(e.cache);
		look_at(e.variant);
		look_at(e.purge);
		if (screen_entry(screen, &e, &v, &news) == SCREENING_TAKEN)
			catalogue_see(c, &v, &news);
	}
	look_at(str_of(source_trouble(s)));
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct config config;
	if (!config.workers && !config.cache.disk_bytes)
		config_init(&config);
	if (n == 0)
		return 0;
	struct source_options o = {.format = data[0] == 8 ? FORMAT_AUTO : data[0] % FORMAT_COUNT};
	char name[64], err[512];
	int fd = memfd_create("log", 0);
	if (fd < 0 || write(fd, data + 1, n - 1) != (ssize_t)(n - 1))
		abort();
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	struct screen_options so = {.config = &config, .skip = {"*a*b*"}, .skip_n = 1};
	struct screen *screen = screen_create(&so);
	struct catalogue *c = catalogue_create(64, 0);
	struct source *s = source_open(name, &o, err, sizeof err);
	if (s)
		read_log(s, screen, c);
	catalogue_rewind(c);
	struct catalogue_facts facts;
	catalogue_facts(c, &facts);
	source_close(&s);
	catalogue_destroy(&c);
	screen_destroy(&screen);
	close(fd);
	return 0;
}
