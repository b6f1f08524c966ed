/* rooms: config base
 * fuzz_config.c - any bytes as a configuration: refused with a sentence, or printed and read back
 * to the same.
 */
#include "config/config.h"
#include "config/load.h"
#include "config/print.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static char *
printed(const struct config *c)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	config_print(c, f);
	fclose(f);
	return text;
}

static void
must(bool truth, const char *why)
{
	if (!truth) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct config c = {0};
	char err[512] = "";
	if (config_parse(&c, "fuzz", (const char *)data, n, err, sizeof(err)) < 0) {
		must(strncmp(err, "fuzz:", 5) == 0, err);
		return 0;
	}
	char *first = printed(&c);
	must(config_parse(&c, "again", first, strlen(first), err, sizeof(err)) == 0, err);
	char *second = printed(&c);
	must(strcmp(first, second) == 0, "printed, read and printed is not the same");
	free(first);
	free(second);
	config_fini(&c);
	return 0;
}
