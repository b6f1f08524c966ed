/* explain.c - `twice explain`: why a URL is (not) on disk, for people. */
#include "proxy/cli/ask.h"
#include "proxy/cli/cli.h"
#include "proxy/cli/owners.h"

#include "proxy/base/mem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXPLAIN_HEADER, EXPLAIN_FROM, EXPLAIN_JSON, EXPLAIN_ADMIN };
static const struct flag rows[] = {
	[EXPLAIN_HEADER] = {"-H", "HEADER",
			    "a header of the request: -H 'Accept-Encoding: br'; several", NULL},
	[EXPLAIN_FROM] = {"--from", "ADDRESS", "the address that the client asks from: 192.0.2.1",
			  NULL},
	[EXPLAIN_JSON] = {"--json", NULL, "print the answer of GET /explain as it is", NULL},
	[EXPLAIN_ADMIN] = {"--admin", "ADDR", "admin address of the proxy (" ASK_ADMIN_DEFAULT ")",
			   NULL},
	{NULL, NULL, NULL, NULL},
};

static const char *
word(const json_t *of, const char *key)
{
	const char *w = json_string_value(json_object_get(of, key));
	return w ? w : "-";
}

static long long
number(const json_t *of, const char *key)
{
	return json_integer_value(json_object_get(of, key));
}

static void
print_time(const char *before, long long unix_s)
{
	char text[64] = "-";
	time_t t = (time_t)unix_s;
	struct tm tm;
	if (localtime_r(&t, &tm))
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
	printf("%s%s", before, text);
}

/* Each header, and below it what it does. */
static void
print_headers(const json_t *headers)
{
	size_t i;
	json_t *h;
	json_array_foreach(headers, i, h)
	{
		printf("           %s: %s\n             %s", word(h, "name"), word(h, "value"),
		       word(h, "does"));
		if (json_is_string(json_object_get(h, "origin")) &&
		    strcmp(word(h, "origin"), word(h, "value")) != 0)
			printf(" (%s)", word(h, "origin"));
		printf("\n");
	}
}

static void
print_stored(json_t *stored)
{
	if (!json_is_object(stored)) {
		printf("stored   nothing\n");
		return;
	}
	printf("stored   %s: status %lld, %lld bytes%s, %lld s old, ", word(stored, "where"),
	       number(stored, "status"), number(stored, "body_bytes"),
	       json_is_true(json_object_get(stored, "in_slices")) ? " in slices" : "",
	       number(stored, "age_s"));
	print_time(number(stored, "fresh_for_s") >= 0 ? "fresh until " : "stale since ",
		   number(stored, "fresh_until"));
	const char *by = word(stored, "lifetime_by");
	printf("%s\n", strcmp(by, "guessed") == 0	? " (guessed)"
		       : strcmp(by, "default_ttl") == 0 ? " (cache.default_ttl)"
							: "");
	print_headers(json_object_get(stored, "headers"));
}

static void
print_route(const json_t *route)
{
	const char *name;
	json_t *value;
	if (json_is_null(json_object_get(route, "number")))
		printf("route    none: the defaults\n");
	else
		printf("route    number %lld (host %s, path %s)%s, admits %s\n",
		       number(route, "number"), word(route, "host"), word(route, "path"),
		       json_is_true(json_object_get(route, "pass")) ? ", passes" : "",
		       word(route, "admit"));
	json_object_foreach(json_object_get(route, "settings"), name, value)
	{
		printf("           %s: %s\n", name, json_string_value(value));
	}
}

static void
print_origin(const json_t *origin)
{
	printf("origin   group %s is asked for %s, Host: %s\n", word(origin, "group"),
	       word(origin, "target"), word(origin, "host"));
}

static void
print_explained(json_t *top)
{
	json_t *refused = json_object_get(top, "refused"), *seen = json_object_get(top, "seen"),
	       *last = json_object_get(top, "last"), *now = json_object_get(top, "now"), *why;
	size_t i;
	if (refused) {
		printf("now      refused with %lld: %s\n", number(refused, "status"),
		       word(refused, "rule"));
		return;
	}
	printf("key      %s\n", word(top, "key"));
	print_route(json_object_get(top, "route"));
	if (json_is_string(json_object_get(top, "varies_on")))
		printf("varies   on %s\n", word(top, "varies_on"));
	if (json_array_size(json_object_get(top, "headers")) > 1) {
		printf("request\n");
		print_headers(json_object_get(top, "headers"));
	}
	if (json_is_object(json_object_get(top, "fleet")))
		owners_print(json_object_get(top, "fleet"));
	print_stored(json_object_get(top, "stored"));
	printf("seen     known to: %s generation (the current one is number %lld); it is written at sighting %lld\n",
	       word(seen, "generation"), number(seen, "current_number"), number(seen, "asked_for"));
	if (json_is_object(last))
		printf("last     %lld s ago: status %lld, %s (%s)\n", number(last, "seconds_ago"),
		       number(last, "status"), word(last, "verdict"), word(last, "answer"));
	else
		printf("last     no request is remembered\n");
	if (json_is_string(json_object_get(last, "not_stored")))
		printf("           It was not stored (%s). %s\n", word(last, "not_stored"),
		       word(last, "because"));
	if (json_is_object(json_object_get(top, "origin")))
		print_origin(json_object_get(top, "origin"));
	printf("now      a request would: %s; verdict %s\n", word(now, "does"),
	       word(now, "verdict"));
	json_array_foreach(json_object_get(top, "why"), i, why)
	{
		printf("           %s\n", json_string_value(why));
	}
}

static int
explain(const char *admin, const char *query, bool as_it_is)
{
	struct buf answer = {0};
	char err[1024];
	json_error_t wrong;
	enum asked asked = ask_admin(admin, query, NULL, &answer, err, sizeof err);
	json_t *top = asked == ASK_FINE ? json_loadb(answer.p, answer.n, 0, &wrong) : NULL;
	if (asked != ASK_FINE)
		cli_complain("explain", "%s", err);
	else if (as_it_is)
		fwrite(answer.p, 1, answer.n, stdout);
	else if (top)
		print_explained(top);
	else
		cli_complain("explain", "the server at %s is not twice: %s", admin, wrong.text);
	int result = asked != ASK_FINE ? ask_exit_code(asked)
		     : as_it_is || top ? CLI_FINE
				       : CLI_FAILED;
	json_decref(top);
	buf_fini(&answer);
	return fflush(stdout) == 0 ? result : CLI_FAILED;
}

static void
add_pair(struct buf *query, const char *name, const char *value)
{
	char *form = ask_form(name, value);
	buf_printf(query, "%s%s", query->n ? "&" : "/explain?", form);
	free(form);
}

int
cli_explain(int argc, char **argv)
{
	struct flags f = {
		.command = "explain",
		.synopsis = "URL [-H HEADER]... [--from ADDRESS] [--json] [--admin ADDR]",
		.about =
			"Tells why a URL is on disk or not: its key and route, where it is stored and "
			"until when,\nwhether it was seen before, and what a request would do now; on a node of a fleet, which one\ndecides about it. "
			"Asking changes nothing.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	const char *admin = ask_admin_default, *url = NULL;
	struct buf query = {0}, headers = {0};
	bool json = false;
	int i;
	while ((i = flags_next(&f)) != FLAGS_END) {
		if (i == FLAGS_WORD && url)
			i = flags_refuse(&f, "one URL at a time; \"%s\" is one too many", f.value);
		if (i == EXPLAIN_HEADER && !strchr(f.value, ':'))
			i = flags_refuse(&f, "-H: \"%.100s\" is no header; write NAME: VALUE",
					 f.value);
		if (i == FLAGS_EXIT) {
			buf_fini(&headers);
			return f.exit_code;
		}
		if (i == FLAGS_WORD)
			url = f.value;
		else if (i == EXPLAIN_HEADER)
			add_pair(&headers, "header", f.value);
		else if (i == EXPLAIN_FROM)
			add_pair(&headers, "from", f.value);
		else if (i == EXPLAIN_JSON)
			json = true;
		else
			admin = f.value;
	}
	if (!url) {
		flags_refuse(&f, "say which URL: twice explain http://host/path");
		buf_fini(&headers);
		return f.exit_code;
	}
	add_pair(&query, "url", url);
	if (headers.n)
		buf_printf(&query, "&%.*s", (int)(headers.n - strlen("/explain?")),
			   headers.p + strlen("/explain?"));
	buf_add(&query, "", 1);
	int result = explain(admin, query.p, json);
	buf_fini(&query);
	buf_fini(&headers);
	return result;
}
