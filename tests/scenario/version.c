/* One version, wherever it is told. .ci/version makes it; tests/lint/version.sh says how. */
#include "tests/kit/kit.h"

#include <ctype.h>

SCENARIO("the program, its manual pages, /stats and /metrics tell the same version")
{
	edge_start();
	char *version = program(edge_binary(), "--version").out;
	expect_that(strncmp(version, "twice ", 6) == 0 && isdigit(version[6]), "it says %s",
		    version);
	version += strlen("twice ");
	version[strcspn(version, "\n")] = '\0';

	/* A version with a time has a tilde, which manual pages write in another way. */
	char *tilde = strchr(version, '~');
	char *in_page =
		tilde ? text("%.*s\\(ti%s", (int)(tilde - version), version, tilde + 1) : version;
	expect_that(strstr(program(edge_binary(), "manual", "twice.1").out, in_page),
		    "twice(1) lacks %s", in_page);
	expect_that(strstr(program(edge_binary(), "manual", "twice.yaml.5").out, in_page),
		    "twice.yaml(5) lacks %s", in_page);

	const char *at = text("127.0.0.1:%u", edge_admin_port());
	struct output stats = program(edge_binary(), "stats", "--json", "--admin", at);
	expect_that(strstr(stats.out, text("\"version\": \"%s\"", version)), "/stats lacks %s: %s",
		    version, stats.out);
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, text("GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", at));
	struct answer a = client_read(c, "GET");
	expect_that(strstr(a.body, text("twice_build_info{version=\"%s\"} 1\n", version)),
		    "/metrics lacks %s", version);
	client_close(c);
}
