/* replay.c - main for a fuzzer without libFuzzer: feeds it the files of corpus/NAME and
 * regress/NAME, or those named on the command line. NAME is the program's, without "fuzz_".
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static unsigned fed;

static void
feed(const char *path)
{
	FILE *f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	rewind(f);
	unsigned char *data = malloc(n ? n : 1); /* exactly n: a sanitizer sees one byte too far */
	if (!data || fread(data, 1, n, f) != n) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	fed++;
}

static void
feed_folder(const char *folder, const char *name)
{
	char path[1024];
	snprintf(path, sizeof(path), "tests/fuzz/%s/%s", folder, name);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));) {
		snprintf(path, sizeof(path), "tests/fuzz/%s/%s/%s", folder, name, e->d_name);
		if (e->d_name[0] != '.')
			feed(path);
	}
	if (d)
		closedir(d);
}

int
main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	name += strncmp(name, "fuzz_", 5) == 0 ? 5 : 0;
	for (int i = 1; i < argc; i++)
		feed(argv[i]);
	if (argc == 1) {
		feed_folder("corpus", name);
		feed_folder("regress", name);
	}
	printf("fuzz_%s: %u passed, %d failed\n", name, fed, fed == 0);
	return fed ? EXIT_SUCCESS : EXIT_FAILURE;
}
