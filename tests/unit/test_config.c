/* rooms: config base
 * test_config.c - settings: defaults, files, flags, and what is said about mistakes.
 */
#include "config/changes.h"
#include "config/config.h"
#include "config/groups.h"
#include "config/load.h"
#include "config/manual.h"
#include "config/print.h"
#include "config/schema.h"
#include "tests/kit/own_settings.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

static char *
contents(const char *path)
{
	static char text[65536];
	FILE *f = fopen(path, "rb");
	ck_assert_msg(f != NULL, "%s", path);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

START_TEST(defaults_stand_without_a_file)
{
	config_init(&c);
	ck_assert_uint_eq(c.listen_count, 1);
	ck_assert_str_eq(c.listen[0], "0.0.0.0:8080");
	ck_assert_str_eq(c.admin, "127.0.0.1:9180");
	ck_assert_uint_eq(c.workers, 0);
	ck_assert_uint_eq(c.origin_count, 0);
	ck_assert_str_eq(c.cache.dir, "/var/cache/twice");
	ck_assert_uint_eq(c.admission.sightings, 0);
	ck_assert_uint_eq(c.admission.capacity, 10000000);
	ck_assert_double_eq(c.admission.false_positives, 0.01);
	ck_assert_uint_eq(c.admission.rotate_after_s, 0);
	ck_assert_ptr_null(c.access_log);
	ck_assert_str_eq(c.log_level, "info");
	config_fini(&c);
	config_fini(&c);
}
END_TEST

/* A whole configuration, as people write it. */
static const char whole[] = "listen: [ \"0.0.0.0:8080\" ]\n"
			    "admin: \"127.0.0.1:9180\"\n"
			    "workers: auto\n"
			    "origins:\n"
			    "  - url: https://origin.example.com\n"
			    "cache:\n"
			    "  dir: /var/cache/twice\n"
			    "  disk: 100GiB\n"
			    "  memory: 1GiB\n"
			    "admission:\n"
			    "  sightings: 2          # 1 = admit everything\n"
			    "  capacity: 10M         # distinct URLs per generation\n"
			    "  false_positives: 1%\n"
			    "  rotate_after: 24h\n"
			    "  fill_until: 0%\n";

START_TEST(a_whole_file_loads)
{
	ck_assert_msg(parse(whole) == 0, "%s", err);
	ck_assert_uint_eq(c.origin_count, 1);
	ck_assert_str_eq(c.origins[0].url, "https://origin.example.com");
	ck_assert_ptr_null(c.origins[0].host);
	ck_assert(c.origins[0].verify);
	ck_assert_uint_eq(c.cache.disk_bytes, 100ull << 30);
	ck_assert_int_eq(config_validate(&c, err, sizeof(err)), 0);
	config_fini(&c);
}
END_TEST

START_TEST(sightings_are_chosen_where_the_filter_counts_to_three)
{
	static const struct {
		const char *text;
		unsigned sightings; /* 0: chosen */
	} rows[] = {
		{"{}\n", 0},
		{"admission: { filter: pair }\n", 0},
		{"admission: { filter: counting }\n", 2},
		{"admission: { filter: stable, sightings: 1 }\n", 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		ck_assert_msg(parse(rows[i].text) == 0, "%s: %s", rows[i].text, err);
		ck_assert_uint_eq(c.admission.sightings, rows[i].sightings);
		config_fini(&c);
	}
}
END_TEST

START_TEST(every_setting_can_be_given)
{
	ck_assert_msg(
		parse("listen: [ '*:80', '[::]:81' ]\nadmin: off\nworkers: 3\n"
		      "origins:\n  - { url: http://a:81/, host: b, verify: off, read_timeout: 250ms }\n"
		      "  - https://[::1]:82\n"
		      "cache: { dir: none, max_object: 1.5MiB, targeted_field: X-CC, status_key: yes }\n"
		      "admission: { filter: counting, sightings: 15, write_budget: 10M }\n"
		      "routes:\n  - path: /api\n    admit: never\n    query: sort\n"
		      "    keep_params: [ a, b ]\n    key_headers: Accept\n"
		      "  - { path: /own, pass: on }\n"
		      "access_log: '-'\nlog_level: debug\n") == 0,
		"%s", err);
	ck_assert_uint_eq(c.listen_count, 2);
	ck_assert_str_eq(c.listen[1], "[::]:81");
	ck_assert_ptr_null(c.admin);
	ck_assert_uint_eq(c.workers, 3);
	ck_assert_uint_eq(c.origin_count, 2);
	ck_assert_str_eq(c.origins[0].url, "http://a:81");
	ck_assert_str_eq(c.origins[0].host, "b");
	ck_assert(!c.origins[0].verify);
	ck_assert_uint_eq(c.origins[0].read_timeout_ms, 250);
	ck_assert_str_eq(c.origins[1].url, "https://[::1]:82");
	ck_assert_uint_eq(c.origins[1].max_connections, 256);
	ck_assert_ptr_null(c.cache.dir);
	ck_assert_uint_eq(c.cache.max_object_bytes, 3 << 19);
	ck_assert(c.cache.status_key);
	ck_assert_int_eq(c.admission.filter, CONFIG_FILTER_COUNTING);
	ck_assert_uint_eq(c.admission.write_budget, 10000000);
	ck_assert_uint_eq(c.route_count, 2);
	ck_assert_ptr_null(c.routes[0].host);
	ck_assert(c.routes[1].pass);
	ck_assert_int_eq(c.routes[0].admit, CONFIG_ADMIT_NEVER);
	ck_assert_int_eq(c.routes[0].query, CONFIG_QUERY_SORT);
	ck_assert_uint_eq(c.routes[0].keep_param_count, 2);
	ck_assert_str_eq(c.routes[0].keep_params[1], "b");
	ck_assert_uint_eq(c.routes[0].key_header_count, 1);
	ck_assert_uint_eq(c.routes[0].drop_param_count, 0);
	ck_assert_str_eq(c.access_log, "-");
	config_fini(&c);
}
END_TEST

/* clang-format off */
static const struct {
	const char *text, *says; /* how the sentence begins, and what else it holds */
	const char *way_out;
} mistakes[] = {
	{ "forwarded: { trust: yes }\n",         "t.yaml:1: forwarded.trust: \"yes\" does not say whom", "or any if you mean everybody" },
	{ "forwarded:\n  trust: [ on ]\n",       "t.yaml:2: forwarded.trust: \"on\" does not say whom", "10.0.0.0/8" },
	{ "routes: [ { allow: on } ]\n",         "t.yaml:1: routes.allow: \"on\" does not say whom", "10.0.0.0/8" },
	{ "cache:\n  disc: 5GiB\n",               "t.yaml:2: there is no setting \"cache.disc\"", "\"disk\"" },
	{ "disk: 5GiB\n",                         "t.yaml:1: there is no setting \"disk\"", "\"cache.disk\"" },
	{ "cache:\n  listen: x\n",                "t.yaml:2: there is no setting \"cache.listen\"", "\"listen\"" },
	{ "zzz: 1\n",                             "t.yaml:1: there is no setting \"zzz\"", "listen, admin" },
	{ "origins:\n- url: http://a\n  hots: b\n", "t.yaml:3: there is no setting \"origins.hots\"", "\"host\"" },
	{ "cache:\n\n  disk: 5GX\n",              "t.yaml:3: cache.disk: \"5GX\"", "100GiB" },
	{ "cache:\n  disk: 5\n",                  "t.yaml:2: cache.disk: 5 is out of range", "8MiB to" },
	{ "cache:\n  memory: -1\n",               "t.yaml:2: cache.memory", "64MiB" },
	{ "workers: many\n",                      "t.yaml:1: workers: \"many\"", "or auto" },
	{ "workers: 0\n",                         "t.yaml:1: workers: 0 is out of range", "or auto" },
	{ "timeouts: { idle: 30 }\n",             "t.yaml:1: timeouts.idle: \"30\"", "30s" },
	{ "admission: { rotate_after: 1500ms }",  "t.yaml:1: admission.rotate_after", "whole seconds" },
	{ "admission:\n  sightings: 16\n",        "t.yaml:2: admission.sightings: 16", "1 to 15" },
	{ "admission:\n  sightings: 0\n",         "t.yaml:2: admission.sightings: 0", "1 to 15" },
	{ "admission:\n  sightings: auto\n  filter: counting\n", "t.yaml:2: admission.sightings: auto is only for", "leave filter out" },
	{ "admission:\n  sightings: both\n",      "t.yaml:2: admission.sightings: \"both\" is not", "or auto" },
	{ "admission:\n  sightings: 3\n  filter: stable\n", "t.yaml:2: admission.sightings", "set admission.filter to pair" },
	{ "admission: { false_positives: 2 }",    "t.yaml:1: admission.false_positives", "1%" },
	{ "admission: { false_positives: 0% }",   "t.yaml:1: admission.false_positives", "to 50%" },
	{ "log_level: wrning\n",                  "t.yaml:1: log_level: \"wrning\"", "\"warning\"" },
	{ "routes: [ { query: x } ]\n",           "t.yaml:1: routes.query", "keep|ignore|sort" },
	{ "forwarded: { trust: maybe }",          "t.yaml:1: forwarded.trust: \"maybe\" is not a network", "10.0.0.0/8" },
	{ "forwarded: { trust: [ 10.0.0.1/8 ] }",  "t.yaml:1: forwarded.trust: \"10.0.0.1/8\" is not a network", "or off" },
	{ "listen: [ foo ]\n",                    "t.yaml:1: listen: \"foo\"", "127.0.0.1:8080" },
	{ "listen: [ ]\n",                        "t.yaml:1: listen", "at least one" },
	{ "listen: [ '*:1', '0.0.0.0:1' ]\n",     "t.yaml:1: listen: 0.0.0.0:1 is given twice", "keep one" },
	{ "admin: '*:8080'\n",                    "t.yaml:1: admin", "another port" },
	{ "origins: [ http://a/b ]\n",            "t.yaml:1: origins.url", "without user, path" },
	{ "origins: [ 'unix:app.sock' ]\n",       "t.yaml:1: origins.url", "unix:/path" },
	{ "origins: [ 'http://u@a' ]\n",          "t.yaml:1: origins.url", "http://host:port" },
	{ "origins: [ 'ftp://a' ]\n",             "t.yaml:1: origins.url", "http://host:port" },
	{ "origins: [ 'http://a:0' ]\n",          "t.yaml:1: origins.url", "http://host:port" },
	{ "origins: [ 'http://' ]\n",             "t.yaml:1: origins.url", "http://host:port" },
	{ "origins: [ 'http://[::1' ]\n",         "t.yaml:1: origins.url", "http://host:port" },
	{ "origins:\n  - host: x\n",              "t.yaml:2: origins.url: missing", "http[s]://" },
	{ "origins:\n- http://a\n- name: w\n",   "t.yaml:3: origins.url: missing", "servers:" },
	{ "origins:\n- servers:\n  - url: http://a\n", "t.yaml:3: origins.servers: their group has no name", "name:" },
	{ "origins:\n- name: w\n  url: http://a\n  servers: [ http://b ]\n", "t.yaml:4: origins.servers: there is a url", "among" },
	{ "origins:\n- { name: w, url: http://a }\n- { name: w, url: http://b }\n", "t.yaml:3: origins.name: \"w\" is given twice", "own" },
	{ "origins:\n- name: w\n  servers:\n  - http://a\n  - http://A\n", "t.yaml:5: origins: http://A is given twice", "keep one" },
	{ "origins:\n- http://a\n- { url: http://b, balance: hash }\n", "t.yaml:3: origins.url: http://b is of the same group as http://a", "name" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: /h, expect: ok }\n", "t.yaml:4: origins.health.expect: ", "200-399" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: /h, expect: 399-200 }\n", "t.yaml:4: origins.health.expect: ", "200-399" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: /h, expect: 200-3999 }\n", "t.yaml:4: origins.health.expect: ", "200-399" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: h }\n", "t.yaml:4: origins.health.path: ", "/healthz" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: '/a b' }\n", "t.yaml:4: origins.health.path: ", "/healthz" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: /h, host: 'a b' }\n", "t.yaml:4: origins.health.host: ", "host" },
	{ "origins:\n- name: w\n  servers: [ http://a, http://b ]\n  health: { path: /h, timeout: 9s }\n", "t.yaml:4: origins.health.timeout: ", "every" },
	{ "origins:\n- name: w\n  url: http://a\n  health: { path: /h }\n", "t.yaml:4: origins.health.path: checks are off for a group of one server", "leave health out" },
	{ "origins: { name: w, servers: [ { weight: 2 } ] }\n", "t.yaml:1: origins.servers.url is missing", "http[s]://" },
	{ "origins: { name: w, servers: [ { url: http://a, weight: 0 } ] }\n", "t.yaml:1: origins.servers.weight: 0 is out of range", "1 to" },
	{ "origins: { url: http://a, balance: leest }\n", "t.yaml:1: origins.balance: \"leest\"", "\"least\"" },
	{ "listen: '*:81'\norigins:\n- name: w\n  servers:\n  - http://b\n  - http://127.0.0.1:81\n", "t.yaml:6: origins.servers.url: http://127.0.0.1:81 is where twice", "behind it" },
	{ "origins: http://a\nroutes: [ { path: /a, origin: b } ]\n", "t.yaml:2: routes.origin: no group of origins is called \"b\"", "name:" },
	{ "routes: [ { host: 'www.*.com' } ]\n", "t.yaml:1: routes.host: one wildcard", "*.example.com" },
	{ "routes: [ { host: 'a.example:8443' } ]\n", "t.yaml:1: routes.host: no request is for \"a.example:8443\"", "name alone" },
	{ "routes: [ { host: a.example. } ]\n", "t.yaml:1: routes.host: no request is for \"a.example.\"", "name alone" },
	{ "routes: [ { host: 'https://a' } ]\n", "t.yaml:1: routes.host: \"https://a\" is no name of a host", "without scheme" },
	{ "routes: [ { host: '2001:db8::1' } ]\n", "t.yaml:1: routes.host: \"2001:db8::1\" is no name of a host", "[2001:db8::1]" },
	{ "routes: [ { host: '*example.com' } ]\n", "t.yaml:1: routes.host: a wildcard is for whole labels", "*.example.com" },
	{ "routes: [ { path: 'img/' } ]\n",        "t.yaml:1: routes.path: img/ is not", "/img/" },
	{ "listen: [ '0.0.0.0:80', '[::]:80' ]\n",  "t.yaml:1: listen: 0.0.0.0:80 and [::]:80 take the same", "keep one" },
	{ "listen: [ '127.0.0.1:80', 'https://0.0.0.0:80' ]\n", "t.yaml:1: listen: 127.0.0.1:80 and https://0.0.0.0:80 take", "keep one" },
	{ "listen: '0.0.0.0:80'\nadmin: 127.0.0.1:80\n", "t.yaml:2: admin: 0.0.0.0:80 covers 127.0.0.1:80 too", "another port" },
	{ "routes: [ { path: '/a//b' } ]\n",       "t.yaml:1: routes.path: servers read \"//b\" in /a//b in", "end the path" },
	{ "routes: [ { path: '/a/../b' } ]\n",     "t.yaml:1: routes.path: servers read \"/../\" in /a/../b in", "end the path" },
	{ "routes: [ { path: '/a/%61' } ]\n",      "t.yaml:1: routes.path: servers read \"%61\" in /a/%61 in", "themselves" },
	{ "routes: [ { path: '/a%2Fb' } ]\n",      "t.yaml:1: routes.path: servers read \"%2Fb\" in /a%2Fb in", "end the path" },
	{ "routes: [ { path: '/a%' } ]\n",         "t.yaml:1: routes.path: servers read \"%\" in /a% in", "end the path" },
	{ "routes: [ { path: '/a;b' } ]\n",        "t.yaml:1: routes.path: servers read \";b\" in /a;b in", "end the path" },
	{ "routes: [ { path: '/a?b' } ]\n",        "t.yaml:1: routes.path: /a?b is not", "without a query" },
	{ "routes: [ { host: '*.b.c' }, { host: a.b.c } ]\n", "t.yaml:1: routes.host: route 1 matches all", "before" },
	{ "routes: [ { path: /a, redirect: { to: '//b' } } ]\n", "t.yaml:1: routes.redirect.to: //b is not where", "$path$query" },
	{ "routes: [ { path: /a, redirect: { to: $path } } ]\n", "t.yaml:1: routes.redirect.to: $path is not where", "$path$query" },
	{ "routes: [ { path: /a, redirect: { to: /$path } } ]\n", "t.yaml:1: routes.redirect.to: /$path is not where", "$path$query" },
	{ "routes: [ { path: /a, redirect: { to: 'https://$path' } } ]\n", "t.yaml:1: routes.redirect.to: https://$path is not", "$path$query" },
	{ "routes: [ { path: /a, redirect: { to: 'javascript:x' } } ]\n", "t.yaml:1: routes.redirect.to: javascript:x is not", "$path$query" },
	{ "routes: [ { path: /a, redirect: { to: 'https://a/$uri' } } ]\n", "t.yaml:1: routes.redirect.to: https://a/$uri has a variable", "$path" },
	{ "routes: [ { path: /a, redirect: { to: /b }, answer: { status: 503 } } ]\n", "t.yaml:1: routes.answer: redirect answers already", "leave one" },
	{ "admission: { sightings: auto }\nroutes: [ { path: /a, admission: { sightings: 4 } } ]\n", "t.yaml:2: routes.admission.sightings: the filter tells 3", "set admission.sightings" },
	{ "admission: { sightings: 2 }\nroutes: [ { path: /a, admission: { sightings: 3 } } ]\n", "t.yaml:2: routes.admission.sightings: the filter tells 2", "set admission.sightings" },
	{ "routes: [ { path: /a, cache: { stale_after: 0s } } ]\n", "t.yaml:1: routes.cache.stale_after: 0s is out of range", "or inherited" },
	{ "routes: [ { path: /a, cache: { disk: 1GiB } } ]\n", "t.yaml:1: there is no setting \"routes.cache.disk\"", "" },
	{ "routes: [ { path: /a, name: 'a b' } ]\n", "t.yaml:1: routes.name: \"a b\" is no name", "one word" },
	{ "rate: { burst: 5 }\n",                 "t.yaml:1: rate.burst: there is no rate", "requests:" },
	{ "rate: { requests: 10/x }\n",           "t.yaml:1: rate.per: \"1x\"", "30s" },
	{ "rate: { requests: 10/s, per: 1m }\n",  "t.yaml:1: \"rate.per\" is given again", "keep one" },
	{ "routes: [ { rate: { requests: 1, per: 1d, burst: 31 } } ]\n", "t.yaml:1: routes.rate.burst: at this rate 31", "smaller" },
	{ "routes: [ { path: /a, answer: { body: x } } ]\n", "t.yaml:1: routes.answer: there is no status", "503" },
	{ "routes: [ { path: /a, answer: { status: 204, body: x } } ]\n", "t.yaml:1: routes.answer.body: an answer with status 204", "leave one" },
	{ "routes: [ { path: /a, answer: { status: 205, file: x } } ]\n", "t.yaml:1: routes.answer.file: an answer with status 205", "leave one" },
	{ "routes: [ { path: /a, answer: { file: x } } ]\n", "t.yaml:1: routes.answer: there is no status", "503" },
	{ "routes: [ { path: /a, answer: { status: 503, body: x, file: x } } ]\n", "t.yaml:1: routes.answer.file: body and file cannot both be sent", "leave one" },
	{ "routes: [ { path: /a, answer: { status: 206 } } ]\n", "t.yaml:1: routes.answer.status: 206", "200" },
	{ "routes: [ { path: /a, strip_prefix: a } ]\n", "t.yaml:1: routes.strip_prefix: a is not the beginning of a path", "/api" },
	{ "routes: [ { path: /a, strip_prefix: / } ]\n", "t.yaml:1: routes.strip_prefix: / is not the beginning of a path", "leave it out" },
	{ "routes: [ { path: /a, strip_prefix: '/a?b' } ]\n", "t.yaml:1: routes.strip_prefix: /a?b is not", "/api" },
	{ "routes: [ { path: /a, strip_prefix: '/a/..' } ]\n", "t.yaml:1: routes.strip_prefix: servers read \"/..\" in /a/.. in different", "that is meant" },
	{ "routes: [ { path: /img, strip_prefix: /api } ]\n", "t.yaml:1: routes.strip_prefix: no path of this route is /api or below it (path: /img)", "whole segments" },
	{ "routes: [ { path: /apis, strip_prefix: /api } ]\n", "t.yaml:1: routes.strip_prefix: no path of this route is /api", "whole segments" },
	{ "routes: [ { path: /a, add_prefix: 'http://b/c' } ]\n", "t.yaml:1: routes.add_prefix: http://b/c is not the beginning of a path", "/api" },
	{ "routes: [ { path: /a, add_prefix: '/a b' } ]\n", "t.yaml:1: routes.add_prefix: /a b is not", "encoded" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$' } } ]\n", "t.yaml:1: routes.rewrite.to: rewrite has both", "write it, too" },
	{ "routes: [ { path: /a, rewrite: { to: /a } } ]\n", "t.yaml:1: routes.rewrite.from: rewrite has both", "write it, too" },
	{ "routes: [ { path: /a, rewrite: { from: '^/(a$', to: /a } } ]\n", "t.yaml:1: routes.rewrite.from: ^/(a$ is not a regular expression", "a ( has no )" },
	{ "routes: [ { path: /a, rewrite: { from: '^a/(.*)$', to: /b } } ]\n", "t.yaml:1: routes.rewrite.from: ^a/(.*)$ matches nothing", "write ^/a/(.*)$" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a\\?b=(.*)$', to: /b } } ]\n", "t.yaml:1: routes.rewrite.from: ^/a\\?b=(.*)$ looks for a question mark", "the query is kept" },
	{ "routes: [ { path: /a, rewrite: { from: '^/(a)$', to: /$3 } } ]\n", "t.yaml:1: routes.rewrite.to: $3 is nothing, for from: has 1 pair", "( ) around" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: 'http://b/' } } ]\n", "t.yaml:1: routes.rewrite.to: http://b/ is not a path", "named in origins" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: '//b/' } } ]\n", "t.yaml:1: routes.rewrite.to: //b/ is not a path", "one slash" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: '/b$query' } } ]\n", "t.yaml:1: routes.rewrite.to: /b$query has a variable", "the query is kept" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: '/b c' } } ]\n", "t.yaml:1: routes.rewrite.to: a path has no \" \" (20) as in /b c", "%20" },
	{ "routes: [ { path: /a, rewrite: { from: '^/(a)$', to: '/\\1' } } ]\n", "t.yaml:1: routes.rewrite.to: /\\1 has \\1", "write $1" },
	{ "routes: [ { path: /a, rewrite: { regex: '^/a$', to: /b } } ]\n", "t.yaml:1: there is no setting \"routes.rewrite.regex\"", "write from:" },
	{ "routes: [ { path: /a, strip: /a } ]\n", "t.yaml:1: there is no setting \"routes.strip\"", "strip_prefix" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: '/b%2' } } ]\n", "t.yaml:1: routes.rewrite.to: a path has no \"%\" (25)", "%25" },
	{ "routes: [ { path: /a, rewrite: { from: '^/a$', to: '/b/../c' } } ]\n", "t.yaml:1: routes.rewrite.to: no origin is asked for \"/../\"", "that is meant" },
	{ "routes: [ { path: /a, add_prefix: /b, answer: { status: 503 } } ]\n", "t.yaml:1: routes.add_prefix: answer answers here", "leave one" },
	{ "routes: [ { path: /a, deny: [ 10.0.0.1/8 ] } ]\n", "t.yaml:1: routes.deny: \"10.0.0.1/8\" is not a network", "10.0.0.0/8" },
	{ "request_headers: { set: { Host: a } }\n", "t.yaml:1: request_headers.set: Host cannot be changed", "leave it out" },
	{ "routes:\n- path: /a\n  response_headers:\n    remove: [ Content-Length ]\n", "t.yaml:4: routes.response_headers.remove: Content-Length cannot", "leave it out" },
	{ "response_headers:\n  add:\n  - Proxy-Connection: x\n", "t.yaml:3: response_headers.add: Proxy-Connection cannot", "leave it out" },
	{ "request_headers: { add: 'X-A $host' }\n", "t.yaml:1: request_headers.add: \"X-A $host\" is no header field", "Name: value" },
	{ "request_headers: { add: ':path: x' }\n", "t.yaml:1: request_headers.add: \":path: x\" is no header field", "Name: value" },
	{ "request_headers: { add: { X-A: $hots } }\n", "t.yaml:1: request_headers.add: \"X-A: $hots\" has a variable", "$host" },
	{ "request_headers: { set: \"A: b\\nC: d\" }\n", "t.yaml:1: request_headers.set", "one line" },
	{ "request_headers: { remove: [ 'X Y' ] }\n", "t.yaml:1: request_headers.remove: \"X Y\" is one text", "[ X, Y ]" },
	{ "response_headers: { remove: [ 'Content-*' ] }\n", "t.yaml:1: response_headers.remove: Content-* is content-length, too", "write more" },
	{ "response_headers: { remove: [ '*' ] }\n", "t.yaml:1: response_headers.remove: * is connection, too", "write more" },
	{ "request_headers: { remove: [ 'Proxy-A*' ] }\n", "t.yaml:1: request_headers.remove: Proxy-A* is proxy-*, too", "write more" },
	{ "request_headers: { set: { 'X-*': 1 } }\n", "t.yaml:1: request_headers.set: \"X-*: 1\" has a name for many", "in full" },
	{ "request_headers: { set: { A: [ b ] } }\n", "t.yaml:1: request_headers.set: one value", "not a list" },
	{ "origins: [ http://a, http://A ]\n",    "t.yaml:1: origins: http://A is given twice", "keep one" },
	{ "origins:\n  - http://b\n  - http://127.0.0.1:8080\n", "t.yaml:3: origins.url: http://127.0.0.1:8080 is where twice itself listens", "behind it" },
	{ "listen: '[::]:81'\norigins: 'http://[::1]:81'\n", "t.yaml:2: origins.url: http://[::1]:81 is where twice", "behind it" },
	{ "listen: '127.0.0.1:80'\norigins: http://localhost\n", "t.yaml:2: origins.url: http://localhost is where twice", "behind it" },
	{ "listen: '127.0.0.1:443'\norigins: https://127.0.0.1\n", "t.yaml:2: origins.url", "behind it" },
	{ "origins: http://127.0.0.1:9180\n",     "t.yaml:1: origins.url: http://127.0.0.1:9180 is the admin address", "has the content" },
	{ "origins:\n  - http://b\n  - url: http://a\n    ca_file: /x\n", "t.yaml:4: origins.ca_file: http://a has no certificate", "https://" },
	{ "origins:\n  - url: https://a\n    ca_file: /x\n    verify: off\n", "t.yaml:3: origins.ca_file", "leave one" },
	{ "origins:\n  - url: http://a\n    cert_file: /x\n", "t.yaml:3: origins.cert_file: http://a is asked without TLS", "https://" },
	{ "origins:\n  - url: https://a\n    key_file: /x\n", "t.yaml:3: origins.key_file: there is no certificate", "cert_file" },
	{ "origins:\n  - url: http://a\n    server_name: b\n", "t.yaml:3: origins.server_name: http://a is asked without TLS", "https://" },
	{ "origins:\n  - url: https://a\n    server_name: 'b:443'\n", "t.yaml:3: origins.server_name: \"b:443\" is not the name", "without port" },
	{ "origins:\n  - url: https://a\n    server_name: ''\n", "t.yaml:3: origins.server_name", "" },
	{ "routes:\n  - { keep_params: a, query: ignore }\n", "t.yaml:2: routes.keep_params", "leave one" },
	{ "routes:\n  - path: /a\n  - path: /b\n    query: ignore\n    drop_params: a\n", "t.yaml:5: routes.drop_params", "leave one" },
	{ "routes:\n  - keep_params: a\n    drop_params: b\n", "t.yaml:3: routes.drop_params", "leave one" },
	{ "routes:\n  - pass: on\n    admit: always\n", "t.yaml:2: routes.pass", "leave pass" },
	{ "routes:\n  - path: /a\n  - host: h\n    path: /ab\n", "t.yaml:4: routes.path: route 1 matches all of it", "before it" },
	{ "routes:\n  - host: h\n  - host: H\n",  "t.yaml:3: routes.host: route 1 matches all of it", "before it" },
	{ "cache:\n  max_object: 20GiB\n",        "t.yaml:2: cache.max_object", "auto" },
	{ "workers: 2\n\nworkers: 3\n",           "t.yaml:3: \"workers\" is given again, first on line 1", "keep one" },
	{ "cache: [ 1 ]\n",                       "t.yaml:1: cache: settings belong here", "name: value" },
	{ "workers: [ 1 ]\n",                     "t.yaml:1: workers: one value", "not a list" },
	{ "listen: { a: b }\n",                   "t.yaml:1: listen: one value", "not a list" },
	{ "just words\n",                         "t.yaml:1: the file: settings belong here", "name: value" },
	{ "cache:\n\tdisk: 5\n",                  "t.yaml:2: this is not YAML", "not tabs" },
	{ "listen: [\n",                          "t.yaml:2: this is not YAML", "check" },
	{ "workers: 1\n---\nworkers: 2\n",        "t.yaml:3: a second document", "keep one" },
	{ "cache: { dir: \"a\\nb\" }\n",          "t.yaml:1: cache.dir", "one line" },
	{ "cache: { dir: \"a\\0b\" }\n",          "t.yaml:1: cache.dir", "zero byte" },
	{ "cache: { dir: '' }\n",                 "t.yaml:1: cache.dir", "one line" },
};
/* clang-format on */

START_TEST(an_old_name_works_for_one_release)
{
	ck_assert_msg(parse("admission: { memory: stable }\n") == 0, "%s", err);
	ck_assert_int_eq(c.admission.filter, CONFIG_FILTER_STABLE);
	config_fini(&c);
	config_init(&c);
	ck_assert_int_eq(parse("admission:\n  filter: pair\n  memory: stable\n"), -1);
	ck_assert_msg(strstr(err, "t.yaml:3: \"admission.filter\" is given again"), "%s", err);
	config_fini(&c);
	config_init(&c); /* another section's memory is what it always was */
	ck_assert_msg(parse("cache: { memory: 2MiB }\n") == 0, "%s", err);
	ck_assert_uint_eq(c.cache.memory_bytes, 2 << 20);
	config_fini(&c);
}
END_TEST

/* clang-format off */
static const char *const fine[] = {
	"origins: http://127.0.0.1:8081\n",
	"listen: '127.0.0.1:8080'\norigins: http://127.0.0.2:8080\n",
	"listen: '127.0.0.1:0'\norigins: http://127.0.0.1\n",
	"origins: http://name.example:8080\n",
	"origins: 'unix:/run/app.sock'\n",
	"origins: { url: https://a, ca_file: /x }\n",
	"origins: { url: https://a, cert_file: /x, server_name: b.example }\n",
	"routes:\n  - { keep_params: a, query: sort }\n",
	"routes:\n  - { path: /ab }\n  - { path: /a }\n  - { host: h }\n  - { path: / }\n",
	"routes:\n  - { host: h, path: /a }\n  - { path: /a }\n",
};
/* clang-format on */

START_TEST(what_goes_together_is_let_through)
{
	ck_assert_msg(parse(fine[_i]) == 0, "%s%s", fine[_i], err);
	config_fini(&c);
}
END_TEST

START_TEST(places_of_elements)
{
	char dir[200], path[256], place[300];
	tmpdir_make(dir, sizeof dir);
	snprintf(path, sizeof path, "%s/t.yaml", dir);
	FILE *f = fopen(path, "w");
	fputs("listen: '*:1'\norigins:\n  - http://a\n  - url: https://b\n    ca_file: /x\n", f);
	fclose(f);
	config_place(path, NULL, 0, "origins.1.ca_file", place, sizeof place);
	ck_assert_str_eq(place + strlen(path), ":5: ");
	config_place(path, NULL, 0, "origins.0.url", place, sizeof place);
	ck_assert_str_eq(place + strlen(path), ":3: ");
	config_place(path, NULL, 0, "origins.7.url", place, sizeof place);
	ck_assert_str_eq(place + strlen(path), ":3: "); /* where the list begins */
	config_place(path, NULL, 0, "cache.disk", place, sizeof place);
	ck_assert_str_eq(place + strlen(path), ": "); /* a default has no line */
	const struct config_flag flag = {"--origin", "origins", "http://c"};
	config_place(path, &flag, 1, "origins.0.url", place, sizeof place);
	ck_assert_str_eq(place, "--origin: ");
	tmpdir_remove(dir);
}
END_TEST

START_TEST(trust_is_a_list_of_networks)
{
	ck_assert_msg(parse("forwarded: { trust: any }") == 0, "%s", err);
	ck_assert_uint_eq(c.forwarded.trust_count, 1);
	ck_assert_str_eq(c.forwarded.trust[0], "any");
	ck_assert_msg(parse("forwarded: { trust: off }") == 0, "%s", err);
	ck_assert_uint_eq(c.forwarded.trust_count, 0);
	ck_assert_msg(parse("forwarded: { trust: [ 10.0.0.0/8, '::1' ] }") == 0, "%s", err);
	ck_assert_uint_eq(c.forwarded.trust_count, 2);
	ck_assert_str_eq(c.forwarded.trust[1], "::1");
	config_fini(&c);
}
END_TEST

/* clang-format off */
static const struct {
	const char *says, *allow;
	unsigned count; /* networks that it has; 0: there is no such rule */
} allows[] = {
	{ "no list",             "path: /x",       0 },
	{ "a rule that is off",  "allow: off",     0 },
	{ "an empty list",       "allow: [ ]",     1 },
	{ "a list without text", "allow:",         1 },
	{ "nobody, in a word",   "allow: none",    1 },
	{ "nobody, in a list",   "allow: [ none ]", 1 },
};
/* clang-format on */

/* An empty list admits nobody, and says so when it is printed; what was printed means the same again. */
START_TEST(an_empty_allow_is_no_lack_of_one)
{
	char text[200];
	snprintf(text, sizeof text, "routes:\n  - host: a\n    %s\n", allows[_i].allow);
	ck_assert_msg(parse(text) == 0, "%s", err);
	for (int again = 0; again < 2; again++) {
		ck_assert_msg(c.routes[0].clients.allow_count == allows[_i].count, "%s",
			      allows[_i].says);
		if (allows[_i].count)
			ck_assert_str_eq(c.routes[0].clients.allow[0], "none");
		char *all = printed(&c);
		ck_assert_msg(parse(all) == 0, "%s", err);
		free(all);
	}
	config_fini(&c);
}
END_TEST

START_TEST(mistake_is_explained)
{
	config_init(&c);
	char *before = printed(&c);
	ck_assert_msg(parse(mistakes[_i].text) == -1, "%s", mistakes[_i].text);
	ck_assert_msg(strncmp(err, mistakes[_i].says, strlen(mistakes[_i].says)) == 0,
		      "wanted \"%s...\", got \"%s\"", mistakes[_i].says, err);
	ck_assert_msg(strstr(err, mistakes[_i].way_out) != NULL, "no \"%s\" in \"%s\"",
		      mistakes[_i].way_out, err);
	char *after = printed(&c);
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
	config_fini(&c);
}
END_TEST

START_TEST(an_empty_file_or_group_means_defaults)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n",
					    "cache:\norigins: ~\nroutes:\n"};
	config_init(&c);
	char *want = printed(&c);
	for (int i = 0; i < COUNT(texts); i++) {
		ck_assert_msg(parse(texts[i]) == 0, "%s", err);
		char *got = printed(&c);
		ck_assert_str_eq(got, want);
		free(got);
	}
	free(want);
	config_fini(&c);
}
END_TEST

START_TEST(flags_stand_before_the_file)
{
	static const struct config_flag flags[] = {
		{"--disk", "cache.disk", "20GiB"},   {"--origin", "origins", "http://a"},
		{"--origin", "origins", "http://b"}, {"--workers", "workers", "1"},
		{"--workers", "workers", "2"},	     {"--listen", "listen", "127.0.0.1:0"},
	};
	config_init(&c);
	ck_assert_msg(config_load_flags(&c, "config/twice.yaml", flags, COUNT(flags), err,
					sizeof(err)) == 0,
		      "%s", err);
	ck_assert_uint_eq(c.cache.disk_bytes, 20ull << 30);
	ck_assert_uint_eq(c.origin_count, 2);
	ck_assert_str_eq(c.origins[1].url, "http://b");
	ck_assert_uint_eq(c.workers, 2);
	ck_assert_str_eq(c.listen[0], "127.0.0.1:0");
	config_fini(&c);
}
END_TEST

START_TEST(a_wrong_flag_is_named)
{
	static const struct config_flag bad = {"--disk", "cache.disk", "12X"};
	static const struct config_flag odd = {"--admin", "admin", "0.0.0.0:8080"};
	config_init(&c);
	ck_assert_int_eq(config_load_flags(&c, NULL, &bad, 1, err, sizeof(err)), -1);
	ck_assert_msg(strncmp(err, "--disk: cache.disk: \"12X\"", 25) == 0, "%s", err);
	ck_assert_int_eq(config_load_flags(&c, NULL, &odd, 1, err, sizeof(err)), -1);
	ck_assert_msg(strncmp(err, "--admin: admin: ", 16) == 0, "%s", err);
	config_fini(&c);
}
END_TEST

START_TEST(a_file_that_is_not_there_is_named)
{
	config_init(&c);
	ck_assert_int_eq(config_load_flags(&c, "/nonexistent/t.yaml", NULL, 0, err, sizeof(err)),
			 -1);
	ck_assert_msg(strstr(err, "/nonexistent/t.yaml") != NULL, "%s", err);
	ck_assert_int_eq(config_load_flags(&c, "/", NULL, 0, err, sizeof(err)), -1);
	config_fini(&c);
}
END_TEST

START_TEST(origins_make_groups)
{
	struct config_member m;
	ck_assert_msg(parse("origins:\n"
			    "  - http://a\n"
			    "  - { name: web, balance: hash, retries: 2, queue: 10, servers: [\n"
			    "      http://b, { url: http://c, weight: 3, backup: on } ] }\n"
			    "  - http://d\n"
			    "  - { name: one, url: http://b, total_timeout: 1m }\n"
			    "routes: [ { host: '*.x', origin: one }, { origin: default } ]\n") == 0,
		      "%s", err);
	static const struct {
		const char *url, *setting, *group;
	} want[] = {{"http://a", "origins.0.url", "default"},
		    {"http://d", "origins.2.url", "default"},
		    {"http://b", "origins.1.servers.0.url", "web"},
		    {"http://c", "origins.1.servers.1.url", "web"},
		    {"http://b", "origins.3.url", "one"}};
	ck_assert_uint_eq(config_group_count(&c), 3);
	ck_assert_uint_eq(config_member_count(&c), COUNT(want));
	for (unsigned i = 0; i < COUNT(want); i++) {
		config_member(&c, i, &m);
		ck_assert_str_eq(m.url, want[i].url);
		ck_assert_str_eq(m.setting, want[i].setting);
		ck_assert_str_eq(config_group_name(&c, m.group), want[i].group);
		ck_assert_uint_eq(m.weight, i == 3 ? 3 : 1);
		ck_assert(m.backup == (i == 3));
	}
	ck_assert_int_eq(config_group_find(&c, c.routes[0].target.origin), 2);
	ck_assert_int_eq(config_group_find(&c, NULL), 0);
	ck_assert_int_eq(config_group_find(&c, "x"), -1);
	ck_assert_int_eq(config_group(&c, 1)->balance, CONFIG_BALANCE_HASH);
	ck_assert_uint_eq(config_group(&c, 1)->queue, 10);
	char *first = printed(&c);
	ck_assert_msg(parse(first) == 0, "%s\n%s", err, first);
	char *second = printed(&c);
	ck_assert_str_eq(first, second);
	free(first);
	free(second);
	config_fini(&c);
}
END_TEST

START_TEST(running_needs_an_origin)
{
	config_init(&c);
	ck_assert_int_eq(config_validate(&c, err, sizeof(err)), -1);
	ck_assert_msg(strstr(err, "--origin") != NULL, "%s", err);
	config_fini(&c);
}
END_TEST

START_TEST(twice_yaml_is_what_the_rows_say)
{
	config_init(&c);
	char *text = printed(&c);
	ck_assert_msg(
		strcmp(text, contents("config/twice.yaml")) == 0,
		"config/twice.yaml is out of date; run: build/twice check > config/twice.yaml");
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		ck_assert_msg(strlen(line) <= 100, "%s", line);
	free(text);
	config_fini(&c);
}
END_TEST

/* Strips the "#" of the examples: every setting is then given, none is the default of a list. */
START_TEST(the_examples_load_too)
{
	char *text = contents("config/twice.yaml"), *out = malloc(65536), *to = out;
	ck_assert(out != NULL);
	for (char *rest, *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *list = strstr(line, ": [ ]");
		if (list && line[0] != '#')
			memcpy(list, ":    ", 5);
		to += sprintf(to, "%s\n", line + (line[0] == '#'));
	}
	ck_assert_msg(parse(out) == 0, "%s\n%s", err, out);
	ck_assert_uint_eq(c.origin_count, 1);
	ck_assert_uint_eq(c.route_count, 1);
	free(out);
	config_fini(&c);
}
END_TEST

/* Of a group that is one of several shapes. */
static const json_t *
properties_of(const json_t *schema)
{
	const json_t *found = json_object_get(schema, "properties"), *one;
	size_t i;
	json_array_foreach(json_object_get(schema, "anyOf"), i, one) if (!found) found =
		properties_of(one);
	return found ? found : json_object_get(json_object_get(schema, "items"), "properties");
}

static unsigned
count_described(const json_t *properties, const struct setting *rows)
{
	unsigned n = 0;
	for (const struct setting *s = rows; s->key; s++, n++) {
		const json_t *one = json_object_get(properties, s->key);
		ck_assert_msg(one != NULL, "%s is not in the schema", s->key);
		ck_assert_str_eq(json_string_value(json_object_get(one, "description")),
				 s->sentence);
		if (s->inside)
			n += count_described(properties_of(one), s->inside);
	}
	return n;
}

START_TEST(editors_get_every_setting)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	ck_assert_int_eq(manual_print_schema(f), 0);
	fclose(f);
	json_t *schema = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(schema);
	ck_assert_uint_gt(count_described(properties_of(schema), schema_top), 150);
	ck_assert_ptr_nonnull(json_object_get(properties_of(schema), "include"));
	json_decref(schema);
	free(text);
}
END_TEST

static const char *
pick(const char *const *words, int n)
{
	return words[rand() % n];
}

/* A file with random settings of every kind. */
static char *
random_yaml(void)
{
	static const char *const sizes[] = {"8MiB", "10M", "1.5GiB", "123456789", "99TB"};
	static const char *const times[] = {"1s", "90s", "1h30m", "7d", "1500s"};
	static const char *const shares[] = {"1%", "0.03", "33.3%", "0.1234567", "50%"};
	static const char *const texts[] = {"plain",
					    "/a/b",
					    "\"with \\\"quotes\\\" and \\\\\"",
					    "'# no comment'",
					    "\"a: b\"",
					    "'null'",
					    "'~'",
					    "\"- x\"",
					    "'[x]'",
					    "\"$${x} $$${y} $z\"",
					    "\"two\\nlines\\tand caf\u00e9\"",
					    "x:y"};
	static const char *const names[] = {"plain", "a.b", "'x[]'", "'~'", "x:y", "\"-\""};
	static const char *const files[] = {"plain", "/a/b", "'./# x'", "\"/a b/c\"", "'- x'"};
	static const char *const labels[] = {"plain", "a.b", "x:y", "\"-\""};
	static const char *const words[] = {"on", "off", "true", "no"};
	static const char *const hosts[] = {"plain", "a-b", "'[::1]'", "\"*.example.com\""};
#define PICK(a) pick(a, COUNT(a))
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	fprintf(f,
		"cache: { disk: %s, default_ttl: %s, heuristic_fraction: %s, status_key: %s, dir: %s }\n",
		PICK(sizes), PICK(times), PICK(shares), PICK(words), PICK(files));
	fprintf(f,
		"admission: { capacity: %d, false_positives: %s, rotate_after: %s, fill_until: %s }\n",
		1000 + rand() % 100000, PICK(shares), PICK(times), PICK(shares));
	fprintf(f, "access_log: %s\nforwarded: { via: %s }\ntimeouts: { idle: %dms }\n",
		PICK(files), PICK(labels), 1 + rand() % 100000);
	fprintf(f, rand() % 2 ? "origins: [ ]\n" : "origins:\n");
	for (int i = rand() % 3; i > 0; i--)
		fprintf(f, "#\n");
	fprintf(f, "routes:\n");
	for (int i = rand() % 4; i > 0; i--)
		fprintf(f,
			"  - { host: %s, path: /%d/, drop_params: [ %s, %s ], key_cookies: [ ], "
			"cache: { default_ttl: %ds, stale_after: %s }, "
			"answer: { status: 503, body: %s } }\n"
			"  - { host: %s, path: /p%d/, pass: %s }\n",
			PICK(hosts), i, PICK(names), PICK(names), rand() % 3,
			rand() % 2 ? "inherited" : "1ms", PICK(texts), PICK(hosts), i, PICK(words));
	fclose(f);
	return text;
}

/* 0s is a lifetime; what is not given is none. */
START_TEST(a_route_inherits_what_it_does_not_say)
{
	ck_assert_msg(parse("cache: { default_ttl: 1h, stale_if_error: 2h, set_cookie: strip }\n"
			    "routes:\n  - { path: /a, cache: { default_ttl: 0s } }\n"
			    "  - { path: /b, cache: { stale_if_error: 5s, set_cookie: never, "
			    "client_errors: on } }\n") == 0,
		      "%s", err);
	struct config_cache a = config_route_cache(&c, &c.routes[0]),
			    b = config_route_cache(&c, &c.routes[1]);
	ck_assert_uint_eq(a.default_ttl_s, 0);
	ck_assert_uint_eq(a.stale_if_error_s, 7200);
	ck_assert_int_eq(a.set_cookie, CONFIG_COOKIE_STRIP);
	ck_assert(!a.client_errors);
	ck_assert_uint_eq(b.default_ttl_s, 3600);
	ck_assert_uint_eq(b.stale_if_error_s, 5);
	ck_assert_int_eq(b.set_cookie, CONFIG_COOKIE_NEVER);
	ck_assert(b.client_errors);
	char *text = printed(&c);
	ck_assert_ptr_nonnull(strstr(text, "      default_ttl: 0s "));
	ck_assert_ptr_nonnull(strstr(text, "      default_ttl: inherited "));
	free(text);
	config_fini(&c);
}
END_TEST

START_TEST(what_is_printed_loads_to_the_same)
{
	srand((unsigned)_i + 1);
	for (int i = 0; i < 50; i++) {
		char *text = random_yaml();
		ck_assert_msg(parse(text) == 0, "seed %d: %s\n%s", _i + 1, err, text);
		char *first = printed(&c);
		ck_assert_msg(parse(first) == 0, "seed %d: %s\n%s", _i + 1, err, first);
		char *second = printed(&c);
		ck_assert_str_eq(first, second);
		free(text);
		free(first);
		free(second);
		config_fini(&c);
	}
}
END_TEST

static void
on_difference(void *ctx, const char *setting)
{
	strcat(strcat(ctx, setting), " ");
}

START_TEST(differences_are_named)
{
	struct config other;
	char said[256] = "";
	config_init(&c);
	config_init(&other);
	config_differences(&c, &other, on_difference, said);
	ck_assert_str_eq(said, "");
	ck_assert_msg(
		parse("workers: 2\ncache: { disk: 5GiB }\norigins: [ http://a ]\nlimits: { body: 1k }") ==
			0,
		"%s", err);
	config_differences(&c, &other, on_difference, said);
	ck_assert_str_eq(said, "workers origins cache.disk limits.body ");
	config_fini(&c);
	config_fini(&other);
}
END_TEST

static void
is_classed(const char *setting)
{
	const char *why = config_restart_for(&c, &c, setting);
	ck_assert_msg(!why || !strstr(why, "nobody has said"), "config/changes.c has no row for %s",
		      setting);
}

/* Every row of the schema is live or says why not: a new one cannot be forgotten. */
START_TEST(every_setting_is_live_or_needs_a_restart)
{
	char name[CONFIG_NAME_BYTES];
	config_init(&c);
	for (const struct setting *s = schema_top; s->key; s++) {
		if (s->kind != KIND_GROUP)
			is_classed(s->key);
		for (const struct setting *in = s->kind == KIND_GROUP ? s->inside : NULL;
		     in && in->key; in++) {
			snprintf(name, sizeof name, "%s.%s", s->key, in->key);
			is_classed(name);
		}
	}
	config_fini(&c);
	ck_assert_ptr_nonnull(strstr(config_restart_for(&c, &c, "other"), "nobody has said"));
}
END_TEST

static const struct {
	const char *says, *running, *fresh;
	const char *setting; /* that changed */
	bool restart;
} changes[] = {
	{"routes are live", "{}", "routes: [ { path: /x } ]", "routes", false},
	{"so are lifetimes", "{}", "cache: { default_ttl: 1h }", "cache.default_ttl", false},
	{"the place of the cache is not", "{}", "cache: { dir: /other }", "cache.dir", true},
	{"nor are further disks", "{}", "more_disks: [ { dir: /a } ]", "more_disks", true},
	{"nor workers", "{}", "workers: 3", "workers", true},
	{"one and two sightings have one filter", "admission: { sightings: 2 }",
	 "admission: { sightings: 1 }", "admission.sightings", false},
	{"three have another", "admission: { sightings: 2 }", "admission: { sightings: 3 }",
	 "admission.sightings", true},
	{"that of auto, the default, as well", "admission: { sightings: 2 }", "{}",
	 "admission.sightings", true},
	{"which tells up to three", "{}", "admission: { sightings: 3 }", "admission.sightings",
	 false},
	{"and fewer", "admission: { sightings: auto }", "admission: { sightings: 2 }",
	 "admission.sightings", false},
	{"but no more", "{}", "admission: { sightings: 4 }", "admission.sightings", true},
	{"counting has another", "{}", "admission: { filter: counting, sightings: 3 }",
	 "admission.sightings", true},
	{"and so has another kind", "admission: { filter: counting }",
	 "admission: { filter: counting, sightings: 1 }", "admission.sightings", true},
	{"also where that kind would be the only change of both", "{}",
	 "admission: { filter: counting, sightings: 1 }", "admission.sightings", true},
	{"a limit by address is live where there was one", "limits: { per_address: 5 }",
	 "limits: { per_address: 6 }", "limits.per_address", false},
	{"else addresses were not counted", "{}", "limits: { per_address: 6 }",
	 "limits.per_address", true},
};

static void
count_one(void *ctx, const char *setting)
{
	(void)setting;
	++*(int *)ctx;
}

START_TEST(a_change_is_taken_over_or_kept)
{
	struct config running, fresh, as_asked;
	int differences = 0;
	ck_assert_int_eq(parse(changes[_i].running), 0);
	running = c;
	config_init(&c);
	ck_assert_int_eq(parse(changes[_i].fresh), 0);
	fresh = c;
	config_copy(&as_asked, &fresh);
	bool restart = config_restart_for(&running, &fresh, changes[_i].setting) != NULL;
	ck_assert_msg(restart == changes[_i].restart, "%s", changes[_i].says);
	ck_assert_ptr_null(config_keep(&fresh, &running, err, sizeof err));
	config_differences(&running, &fresh, count_one, &differences);
	ck_assert_msg(differences == !restart, "%s", changes[_i].says);
	differences = 0;
	config_differences(&as_asked, &fresh, count_one, &differences);
	ck_assert_msg((differences > 0) == restart, "%s", changes[_i].says);
	config_fini(&running);
	config_fini(&fresh);
	config_fini(&as_asked);
}
END_TEST

START_TEST(what_does_not_go_with_what_stays_is_named)
{
	struct config running;
	ck_assert_int_eq(parse("admin: 127.0.0.1:1"), 0);
	running = c;
	config_init(&c);
	ck_assert_int_eq(parse("admin: 127.0.0.1:2\nlisten: 127.0.0.1:1"), 0);
	const char *bad = config_keep(&c, &running, err, sizeof err);
	ck_assert_ptr_nonnull(bad);
	ck_assert_str_eq(bad, "admin");
	ck_assert_msg(strstr(err, "127.0.0.1:1 is a listen address too") == err, "%s", err);
	config_fini(&running);
	config_fini(&c);
}
END_TEST

/* Nine levels of ten aliases each would be a thousand million origins. */
START_TEST(aliases_cannot_make_much_of_little)
{
	char text[16384] = "routes: [ { path: /first/, keep_params: &a [ ";
	for (int i = 0; i < 500; i++)
		strcat(text, "x,");
	strcat(text, " x ] } ");
	for (int i = 0; i < 200; i++)
		sprintf(text + strlen(text), ", {path: /%d/, keep_params: *a}", i);
	strcat(text, " ]\n");
	ck_assert_int_eq(parse(text), 0);
	ck_assert_uint_eq(c.route_count, 201);
	config_fini(&c);
	char *large = malloc(1 << 20);
	ck_assert(large != NULL);
	strcpy(large, "routes: [ &r { keep_params: &a [ x");
	size_t n = strlen(large);
	for (int i = 0; i < 5000; i++)
		n += (size_t)sprintf(large + n, ",x");
	n += (size_t)sprintf(large + n, " ] }");
	for (int i = 0; i < 5000; i++)
		n += (size_t)sprintf(large + n, ", *r");
	n += (size_t)sprintf(large + n, " ]\n");
	ck_assert_int_eq(parse(large), -1);
	ck_assert_msg(strstr(err, "too many settings") != NULL, "%s", err);
	free(large);
}
END_TEST

UNIT("config", TEST(defaults_stand_without_a_file), TEST(a_whole_file_loads),
     TEST(sightings_are_chosen_where_the_filter_counts_to_three), TEST(every_setting_can_be_given),
     TEST(an_old_name_works_for_one_release), LOOP(mistake_is_explained, mistakes),
     LOOP(what_goes_together_is_let_through, fine), TEST(places_of_elements),
     TEST(trust_is_a_list_of_networks), LOOP(an_empty_allow_is_no_lack_of_one, allows),
     TEST(an_empty_file_or_group_means_defaults), TEST(flags_stand_before_the_file),
     TEST(a_wrong_flag_is_named), TEST(a_file_that_is_not_there_is_named),
     TEST(origins_make_groups), TEST(running_needs_an_origin),
     TEST(a_route_inherits_what_it_does_not_say), TEST(twice_yaml_is_what_the_rows_say),
     TEST(the_examples_load_too), TIMES(what_is_printed_loads_to_the_same, 5),
     TEST(differences_are_named), TEST(every_setting_is_live_or_needs_a_restart),
     TEST(editors_get_every_setting), LOOP(a_change_is_taken_over_or_kept, changes),
     TEST(what_does_not_go_with_what_stays_is_named), TEST(aliases_cannot_make_much_of_little))
