/* route.c - `twice route`: which route of a configuration a request takes, and what that means. */
#include "config/config.h"
#include "config/load.h"
#include "config/name.h"
#include "proxy/cli/cli.h"
#include "config/units.h"
#include "proxy/node/routing.h"

#include "proxy/base/buf.h"
#include "proxy/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTE_FILE, ROUTE_METHOD, ROUTE_HEADER, ROUTE_FROM, ROUTE_JSON };
static const struct flag rows[] = {
	[ROUTE_FILE] = {"-c", "FILE", "configuration in YAML", NULL},
	[ROUTE_METHOD] = {"--method", "METHOD", "the method of the requests: POST; default: GET",
			  NULL},
	[ROUTE_HEADER] = {"-H", "HEADER", "a header of the requests: -H 'Cookie: a=b'; several",
			  NULL},
	[ROUTE_FROM] = {"--from", "ADDRESS", "the address that clients ask from: 192.0.2.1", NULL},
	[ROUTE_JSON] = {"--json", NULL, "print a line of JSON for each URL", NULL},
	{NULL, NULL, NULL, NULL},
};

struct question {
	const char *path;   /* of the configuration */
	const char *from;   /* NULL: not said */
	const char *method; /* NULL: GET */
	bool json;
	struct buf fields; /* lines */
	const char **urls; /* owned array; "-": from standard input */
	unsigned url_count;
	struct config config;
	struct routing *routing;
	struct config_places *places;
};

/* ---- for people ------------------------------------------------------------------------------ */

static const char *
word(const json_t *of, const char *key)
{
	const char *w = json_string_value(json_object_get(of, key));
	return w ? w : "any";
}

static long long
number(const json_t *of, const char *key)
{
	return json_integer_value(json_object_get(of, key));
}

/* number 2, edge.yaml:12 (host a.example.com, path /api/) */
static void
print_name(const json_t *route)
{
	printf("number %lld, %s (host %s, path %s)", number(route, "number"), word(route, "place"),
	       word(route, "host"), word(route, "path"));
}

static void
print_route(const json_t *top)
{
	json_t *route = json_object_get(top, "route"), *value, *other;
	const char *name;
	size_t i;
	printf("route    ");
	if (json_is_object(route))
		print_name(route);
	else
		printf("none: the defaults");
	printf("\n");
	json_object_foreach(json_object_get(route, "settings"), name, value)
	{
		printf("           %s: %s\n", name, json_string_value(value));
	}
	json_array_foreach(json_object_get(top, "not_matched"), i, other)
	{
		printf("not      ");
		print_name(other);
		printf(": %s\n", word(other, "because"));
	}
	if (number(top, "not_matched_more"))
		printf("not      and %lld more\n", number(top, "not_matched_more"));
}

/* Behind the URL, headers and cookies of the key have a line each. */
static void
print_key(const char *key)
{
	printf("key      ");
	for (; *key; key++)
		if (*key == '\n')
			printf("\n           ");
		else
			putchar(*key);
	printf("\n");
}

static void
print_rates(const json_t *top)
{
	const json_t *rate;
	char time[UNITS_BYTES];
	size_t i;
	json_array_foreach(json_object_get(top, "rates"), i, rate)
	{
		printf("rate     %lld requests of a client in %s, %lld at once, %s%s\n",
		       number(rate, "requests"),
		       units_say_lasting((double)number(rate, "per_s"), time),
		       number(rate, "burst"), word(rate, "of"),
		       json_is_true(json_object_get(rate, "hits")) ? "" : "; hits do not count");
	}
}

static void
print_answer(const json_t *top)
{
	const json_t *client = json_object_get(top, "client"),
		     *origin = json_object_get(top, "origin"),
		     *location = json_object_get(top, "location"), *why;
	size_t i;
	if (json_is_object(client))
		printf("client   %s %s\n", word(client, "address"),
		       json_is_true(json_object_get(client, "may_ask")) ? "may ask"
									: "may not ask");
	print_rates(top);
	printf("now      a request would: %s", word(top, "does"));
	if (number(top, "status"))
		printf("; status %lld", number(top, "status"));
	if (json_is_string(location))
		printf("; Location: %s", json_string_value(location));
	printf("\n");
	json_array_foreach(json_object_get(top, "why"), i, why)
	{
		printf("           %s\n", json_string_value(why));
	}
	if (json_object_get(top, "key"))
		print_key(word(top, "key"));
	if (json_is_object(origin))
		printf("origin   group %s is asked for %s, Host: %s\n", word(origin, "group"),
		       word(origin, "target"), word(origin, "host"));
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Adds the route's place in the file. */
static void
add_place(struct question *q, json_t *route)
{
	char setting[CONFIG_NAME_BYTES], place[256];
	if (!json_is_object(route))
		return;
	snprintf(setting, sizeof setting, "routes.%lld", number(route, "number") - 1);
	config_places_find(q->places, setting, place, sizeof place);
	if (strlen(place) > 2) /* ": " */
		place[strlen(place) - 2] = '\0';
	json_object_set_new(route, "place", json_string(place));
}

static int
ask(struct question *q, const char *url)
{
	json_t *top, *other;
	size_t i;
	const struct routing_order o = {.url = str_of(url),
					.fields = buf_str(&q->fields),
					.from = str_of(q->from ? q->from : ""),
					.method = str_of(q->method ? q->method : "")};
	const char *no = routing_ask(q->routing, &o, &top);
	if (no) {
		cli_complain("route", "%s: %s", url, no);
		return CLI_USAGE;
	}
	add_place(q, json_object_get(top, "route"));
	json_array_foreach(json_object_get(top, "not_matched"), i, other)
	{
		add_place(q, other);
	}
	if (q->json) {
		json_dumpf(top, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	} else {
		printf("url      %s\n", word(top, "url"));
		if (json_object_get(top, "key"))
			print_route(top);
		print_answer(top);
	}
	printf("\n");
	json_decref(top);
	return CLI_FINE;
}

/* A URL on each line. */
static int
ask_lines(struct question *q)
{
	char *line = NULL;
	size_t room = 0;
	int worst = CLI_FINE;
	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (*line && ask(q, line) != CLI_FINE)
			worst = CLI_USAGE;
	}
	free(line);
	return worst;
}

static int
ask_all(struct question *q)
{
	int worst = CLI_FINE;
	q->routing = routing_create(&q->config);
	q->places = config_places_open(q->path, NULL, 0);
	for (unsigned i = 0; i < q->url_count; i++) {
		bool lines = strcmp(q->urls[i], "-") == 0;
		if ((lines ? ask_lines(q) : ask(q, q->urls[i])) != CLI_FINE)
			worst = CLI_USAGE;
	}
	config_places_close(&q->places);
	routing_destroy(&q->routing);
	if (fflush(stdout) != 0 && worst == CLI_FINE)
		worst = CLI_FAILED;
	return worst;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* FLAGS_END; or FLAGS_EXIT and f->exit_code. */
static int
read_flags(struct question *q, struct flags *f)
{
	int i;
	while ((i = flags_next(f)) != FLAGS_END) {
		switch (i) {
		case FLAGS_EXIT:
			return i;
		case FLAGS_WORD:
			q->urls[q->url_count++] = f->value;
			break;
		case ROUTE_FILE:
			q->path = f->value;
			break;
		case ROUTE_HEADER:
			if (strpbrk(f->value, "\r\n"))
				return flags_refuse(f, "a header has no line end");
			if (!strchr(f->value, ':'))
				return flags_refuse(
					f, "-H: \"%.100s\" is no header; write NAME: VALUE",
					f->value);
			buf_printf(&q->fields, "%s\r\n", f->value);
			break;
		case ROUTE_METHOD:
			q->method = f->value;
			break;
		case ROUTE_FROM:
			q->from = f->value;
			break;
		default:
			q->json = true;
			break;
		}
	}
	if (!q->url_count)
		return flags_refuse(f, "say which URL: twice route -c FILE http://host/path");
	if (!q->path)
		return flags_refuse(f, "say which configuration has the routes: -c FILE");
	return FLAGS_END;
}

static int
load_and_ask(struct question *q)
{
	char err[512];
	config_init(&q->config);
	int result = config_load_flags(&q->config, q->path, NULL, 0, err, sizeof err);
	if (result < 0)
		cli_complain("route", "%s", err);
	result = result < 0 ? CLI_USAGE : ask_all(q);
	config_fini(&q->config);
	return result;
}

int
cli_route(int argc, char **argv)
{
	struct flags f = {
		.command = "route",
		.synopsis = "URL... -c FILE [-H HEADER]... [--from ADDRESS] [--json]",
		.about =
			"Tells which route of a configuration a GET of the URL takes and why, what that "
			"route sets,\nthe key, and what an origin would be asked. No proxy has to run. "
			"A URL - stands for those on\nthe lines of standard input. Exit code 2 when the "
			"configuration is wrong, or a URL is none.",
		.rows = rows,
		.argc = argc,
		.argv = argv};
	struct question q = {.urls = mem_zalloc(((size_t)argc + 1) * sizeof *q.urls)};
	int result = read_flags(&q, &f) == FLAGS_EXIT ? f.exit_code : load_and_ask(&q);
	buf_fini(&q.fields);
	free(q.urls);
	return result;
}
