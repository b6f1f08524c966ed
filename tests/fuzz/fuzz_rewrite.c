/* fuzz_rewrite.c - strip_prefix, add_prefix, rewrite.from, rewrite.to and a request's path and query, a line each: rules
 * that check lets pass make a path that is safe to ask for, below what is added, or none; and the way back leads there again.
 * rooms: serve config coding http base
 */
#include "config/config.h"
#include "config/rules_inside.h"
#include "proxy/http/syntax.h"
#include "proxy/http/uri.h"
#include "proxy/serve/outgoing/rewrite.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

enum { LINES = 5 };

/* As the parser of heads lets it through. */
static bool
is_request(struct str target)
{
	struct str path = str_before(target, '?');
	if (!str_starts(path, STR("/")) || !str_is(path, BYTE_PATH) || !str_is(target, BYTE_TARGET))
		return false;
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '%' &&
		    (i + 2 >= path.n || byte_hex(path.p[i + 1]) < 0 || byte_hex(path.p[i + 2]) < 0))
			return false;
	return true;
}

/* Another way than the program's: segments of a path that was decoded so often. */
static void
has_no_dots(struct str path, int decodes)
{
	struct buf b = {0};
	if (decodes) {
		uri_add_decoded(path, &b);
		has_no_dots(buf_str(&b), decodes - 1);
	}
	buf_fini(&b);
	for (size_t i = 0, from = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/' && path.p[i] != '\\')
			continue;
		struct str segment = {path.p + from, i - from};
		assert(!str_eq(str_before(segment, ';'), STR("..")));
		from = i + 1;
	}
}

static void
leads_back(const struct rewrite *r, struct str path)
{
	struct buf client = {0}, again = {0};
	if (rewrite_back(r, path, &client)) {
		assert(client.n && client.p[0] == '/');
		assert(!rewrite_path(r, buf_str(&client), &again));
		assert(str_eq(buf_str(&again), path));
	}
	buf_fini(&client);
	buf_fini(&again);
}

static void
ask(const struct config_target *t, const struct rewrite *r, struct str target)
{
	struct buf out = {0};
	const struct fault *fault = rewrite_path(r, target, &out);
	struct str made = buf_str(&out), path = str_before(made, '?');
	assert(!fault || out.n == 0);
	if (out.n) {
		assert(path.p[0] == '/' && (path.n == 1 || !strchr("/\\", path.p[1])));
		assert(str_is(path, BYTE_PATH) && str_is(made, BYTE_TARGET));
		assert(path.n == made.n || t->rewrite.to);
		has_no_dots(path, 2);
	}
	assert(!t->add_prefix || out.n || fault);
	buf_fini(&out);
	leads_back(r, str_before(target, '?'));
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char *text = malloc(n + 1), *line[LINES], *at = text, why[512];
	memcpy(text, data, n);
	text[n] = '\0';
	for (unsigned i = 0; i < LINES; i++) {
		line[i] = at;
		at += strcspn(at, "\n");
		if (*at)
			*at++ = '\0';
	}
	struct config_route route = {.target = {.strip_prefix = *line[0] ? line[0] : NULL,
						.add_prefix = *line[1] ? line[1] : NULL,
						.rewrite = {.from = *line[2] ? line[2] : NULL,
							    .to = *line[3] ? line[3] : NULL}}};
	struct config c = {.routes = &route, .route_count = 1};
	struct str target = str_of(line[4]);
	if (!rules_of_rewrite(&c, 0, why, sizeof why) && is_request(target)) {
		struct rewrite *r = rewrite_create(&route);
		if (r)
			ask(&route.target, r, target);
		rewrite_destroy(&r);
	}
	free(text);
	return 0;
}
