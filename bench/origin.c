/* origin.c - the sample origin as a program: bench/ puts proxies in front of it.
 *
 *	origin [PORT [THREADS [MAX_AGE_S]]]
 *
 * Prints its port, serves until its standard input ends, then prints what it served.
 */
#include "proxy/cli/demo/sample_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	struct sample_origin_options o = {.port = argc > 1 ? (unsigned)atoi(argv[1]) : 0,
					  .threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1,
					  .max_age_s = argc > 3 ? (unsigned)atoi(argv[3]) : 86400};
	struct sample_origin_counts n;
	struct sample_origin *origin;
	char err[200], ignored[256];

	if (sample_origin_start(&origin, &o, err, sizeof(err))) {
		fprintf(stderr, "origin: %s\n", err);
		return 1;
	}
	printf("port=%u\n", sample_origin_port(origin));
	fflush(stdout);
	while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0)
		;
	sample_origin_counts(origin, &n);
	printf("requests=%llu body_bytes=%llu connections=%llu\n", (unsigned long long)n.requests,
	       (unsigned long long)n.body_bytes, (unsigned long long)n.connections);
	sample_origin_stop(&origin);
	return 0;
}
