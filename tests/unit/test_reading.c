/* rooms: config base
 * test_reading.c - every shape that YAML has, where a setting is expected: it has its one obvious meaning,
 * or is a mistake that is told with file, line and the right word; never silently something else.
 */
#include "config/config.h"
#include "config/load.h"
#include "config/print.h"
#include "config/schema.h"
#include "tests/kit/own_settings.h"
#include "tests/kit/tmpdir.h"
#include "tests/kit/unit.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what is refused ------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *text, *says, *way_out; /* how the sentence begins, and what else it holds */
} refused[] = {
	/* tags, documents, keys */
	{ "routes: !include routes.yaml\n",       "t.yaml:1: !include is not known", "include: routes.yaml" },
	{ "cache:\n  disk: !env SIZE\n",          "t.yaml:2: !env is not known", "${SIZE}" },
	{ "cache: !mine { disk: 9MiB }\n",        "t.yaml:1: the tag !mine", "leave it out" },
	{ "workers: !!binary AA==\n",             "t.yaml:1: the tag tag:yaml.org,2002:binary", "leave it out" },
	{ "workers: 1\n---\nworkers: 2\n",        "t.yaml:3: a second document", "keep one" },
	{ "workers: 1\n\nworkers: 1\n",           "t.yaml:3: \"workers\" is given again, first on line 1", "keep one" },
	{ "? [ a ]\n: b\n",                       "t.yaml:1: a name: one value", "not a list" },
	{ "cache.dir: /x\n",                      "t.yaml:1: \"cache.dir\" is not read with a dot", "cache: { dir: ... }" },
	{ "routes:\n- { <<: 5 }\n",               "t.yaml:2: <<: a group of settings belongs here", "*name" },
	{ "routes:\n- { <<: [ 5 ] }\n",           "t.yaml:2: <<: a group of settings belongs here", "*name" },
	{ "include: other.yaml\n",                "t.yaml:1: include: only files", "" },
	{ "routes: [ { host: *.example.com } ]\n", "t.yaml:1: this is not YAML", "quote values that begin with *" },
	{ "include: [ ${A} ]\n",                  "t.yaml:1: this is not YAML", "\"${NAME}\"" },
	/* nothing where something belongs */
	{ "workers: 1\nlisten:\n",                "t.yaml:2: listen: nothing is written", "0.0.0.0:8080" },
	{ "listen: ~\n",                          "t.yaml:1: listen: nothing is written", "0.0.0.0:8080" },
	{ "admin: null\n",                        "t.yaml:1: admin: nothing is written", "127.0.0.1:9180" },
	{ "admin: NULL\n",                        "t.yaml:1: admin: nothing is written", "127.0.0.1:9180" },
	{ "admin_token: ''\n",                    "t.yaml:1: admin_token: the text is empty", "leave it out" },
	{ "origins: [ ~ ]\n",                     "t.yaml:1: origins: nothing is written here", "leave it out" },
	{ "routes:\n- path: /a\n-\n",             "t.yaml:3: routes: nothing is written here", "leave it out" },
	{ "routes: [ { key_cookies: [ null ] } ]\n", "t.yaml:1: routes.key_cookies: nothing is written here", "" },
	{ "request_headers: { set: { A: ~ } }\n", "t.yaml:1: request_headers.set: A has no value", "remove" },
	/* a value where a rule or a group belongs, and the other way round */
	{ "routes: web\n",                        "t.yaml:1: routes: \"web\" is one value", "- path: /img/" },
	{ "routes: [ web ]\n",                    "t.yaml:1: routes: \"web\" is one value", "- path: /img/" },
	{ "cache: off\n",                         "t.yaml:1: cache: settings belong here", "pass: on in a route" },
	{ "routes: [ { cache: on } ]\n",          "t.yaml:1: routes.cache: settings belong here", "default_ttl" },
	{ "routes: [ { path: [ /a, /b ] } ]\n",   "t.yaml:1: routes.path: one value belongs here", "not a list" },
	{ "routes: { /img/: { pass: on } }\n",    "t.yaml:1: there is no setting \"routes./img/\"", "path" },
	{ "routes: [ { key_headers: [ [ A ] ] } ]\n", "t.yaml:1: routes.key_headers: one value", "not a list" },
	/* words that would name a thing by accident */
	{ "access_log: on\n",                     "t.yaml:1: access_log: \"on\" is a word and no path", "\"-\" for standard output" },
	{ "access_log: stdout\n",                 "t.yaml:1: access_log: \"stdout\" is a word", "\"-\" for standard output" },
	{ "access_log: json\n",                   "t.yaml:1: access_log: \"json\" is a word", "./json" },
	{ "cache: { dir: yes }\n",                "t.yaml:1: cache.dir: \"yes\" is a word", "none" },
	{ "cache: { dir: memory }\n",             "t.yaml:1: cache.dir: \"memory\" is a word", "none" },
	{ "cache: { dir: ~/twice }\n",            "t.yaml:1: cache.dir: \"~/twice\" is no path", "in full" },
	{ "cache: { dir: $HOME/twice }\n",        "t.yaml:1: cache.dir: \"$HOME/twice\" is no path", "${NAME}" },
	{ "access_log: 'access-%Y.log'\n",        "t.yaml:1: access_log: \"access-%Y.log\" is no path", "in full" },
	{ "access_log: 'syslog:local0'\n",        "t.yaml:1: access_log: \"syslog:local0\" is no path", "in full" },
	{ "access_log: ' /x'\n",                  "t.yaml:1: access_log: \" /x\" begins or ends with a space", "" },
	{ "tls: { certificates: '/c/*.pem' }\n",  "t.yaml:1: tls.certificates: \"/c/*.pem\" is no path", "in full" },
	{ "tls: { certificates: 'a.pem, b.pem' }\n", "t.yaml:1: tls.certificates: \"a.pem, b.pem\" is one text", "[ a.pem, b.pem ]" },
	{ "tls: { certificates: [ { cert: a.pem, sni: b } ] }\n", "t.yaml:1: tls.certificates: one value", "" },
	{ "admin_token: on\n",                    "t.yaml:1: admin_token: \"on\" does not say which", "a secret" },
	{ "admin_token: /etc/twice/token\n",      "t.yaml:1: admin_token: \"/etc/twice/token\" is a path", "admin_token_file" },
	{ "user: yes\n",                          "t.yaml:1: user: \"yes\" is no name", "none" },
	{ "forwarded: { via: off }\n",            "t.yaml:1: forwarded.via: \"off\" is no name", "one word" },
	{ "routes: [ { name: on } ]\n",           "t.yaml:1: routes.name: \"on\" is no name", "none" },
	{ "routes: [ { upgrade: on } ]\n",        "t.yaml:1: routes.upgrade: \"on\" is no name", "[ ] for none" },
	{ "origins: [ { url: http://a, host: on } ]\n", "t.yaml:1: origins.host: \"on\" is no name of a host", "client" },
	{ "origins: [ { url: http://a, host: 'https://b' } ]\n", "t.yaml:1: origins.host: \"https://b\" is no name", "without scheme" },
	{ "origins: [ { url: https://a, ca_file: off } ]\n", "t.yaml:1: origins.ca_file: \"off\" is a word", "system" },
	{ "routes: [ { pass_cookies: any } ]\n",  "t.yaml:1: routes.pass_cookies: \"any\" is no name", "\"*\" for any" },
	{ "routes: [ { drop_params: all } ]\n",   "t.yaml:1: routes.drop_params: \"all\" is no name", "[ ] for none" },
	{ "cache: { tag_headers: none }\n",       "t.yaml:1: cache.tag_headers: \"none\" is no name", "[ ] for none" },
	{ "routes: [ { answer: { status: 200, body: x, content_type: json } } ]\n", "t.yaml:1: routes.answer.content_type: \"json\"", "application/json" },
	/* what can never match */
	{ "routes: [ { host: .site.test } ]\n",   "t.yaml:1: routes.host: no request is for \".site.test\"", "*.site.test" },
	{ "routes: [ { host: a..b } ]\n",         "t.yaml:1: routes.host: no request is for \"a..b\"", "" },
	{ "routes: [ { host: all } ]\n",          "t.yaml:1: routes.host: \"all\" is no name", "any" },
	{ "routes: [ { host: 'b\xc3\xbc.example' } ]\n", "t.yaml:1: routes.host: write it in one line", "Punycode (xn--...)" },
	{ "routes: [ { path: \"/caf\xc3\xa9\\n\" } ]\n", "t.yaml:1: routes.path: write it in one line of text", "" },
	{ "origins: [ { url: 'http://a', health: /caf\xc3\xa9 } ]\n", "t.yaml:1: origins.health.path: write it in one line of plain ASCII", "" },
	{ "routes: [ { host: 'a.example, b.example' } ]\n", "t.yaml:1: routes.host: \"a.example, b.example\" is more than one name", "a.example" },
	{ "routes: [ { path: /api/** } ]\n",      "t.yaml:1: routes.path: /api/** has two * side by side", "write one" },
	{ "routes: [ { path: .css } ]\n",         "t.yaml:1: routes.path: .css is not the beginning", "*.png" },
	{ "routes: [ { path: '*.css?*' } ]\n",    "t.yaml:1: routes.path: *.css?* is not the beginning", "without a query" },
	{ "routes: [ { path: '*.(css|js)' } ]\n", "t.yaml:1: routes.path: *.(css|js) would be read", "a route for each" },
	{ "routes: [ { path: '*/../x' } ]\n",     "t.yaml:1: routes.path: servers read \"/../\" in */../x", "" },
	{ "routes: [ { methods: [ get ] } ]\n",   "t.yaml:1: routes.methods: no client sends get", "capitals" },
	{ "routes: [ { methods: TRACE } ]\n",     "t.yaml:1: routes.methods: no route sees a TRACE", "leave it out" },
	{ "routes: [ { methods: [ HEAD, POST ] } ]\n", "t.yaml:1: routes.methods: a HEAD takes the route of its GET", "write GET" },
	{ "routes: [ { methods: 'GET, POST' } ]\n", "t.yaml:1: routes.methods: \"GET, POST\" is one text", "[ GET, POST ]" },
	{ "routes: [ { headers: [ X-Beta ] } ]\n", "t.yaml:1: routes.headers: \"X-Beta\" is no field with its value", "Accept-Language" },
	{ "routes: [ { headers: { X-Beta: a** } } ]\n", "t.yaml:1: routes.headers: \"X-Beta: a**\" is no field", "" },
	{ "routes: [ { headers: { host: a } } ]\n", "t.yaml:1: routes.headers: requests are told apart", "host:" },
	{ "routes: [ { headers: { Upgrade: websocket } } ]\n", "t.yaml:1: routes.headers: Upgrade belongs to one connection", "upgrade:" },
	{ "routes: [ { path: /a }, { path: '/a/*.css' } ]\n", "t.yaml:1: routes.path: route 1 matches all of it", "before it" },
	{ "routes: [ { path: '*.css' }, { path: '/a/*.min.css' } ]\n", "t.yaml:1: routes.path: route 1 matches all of it", "before it" },
	{ "routes: [ { path: '/a/*' }, { path: /a/b } ]\n", "t.yaml:1: routes.path: route 1 matches all of it", "before it" },
	{ "routes: [ { path: /a, methods: GET }, { path: /a, methods: HEAD } ]\n", "t.yaml:1: routes.methods: a HEAD", "GET" },
	{ "routes: [ { path: /a, methods: [ GET, POST ] }, { path: /a/b, methods: POST } ]\n", "t.yaml:1: routes.path: route 1 matches all of it", "before it" },
	{ "routes: [ { path: /a, headers: { X: 'a*' } }, { path: /a, headers: { x: ab, y: c } } ]\n", "t.yaml:1: routes.path: route 1 matches all of it", "before it" },
	{ "routes: [ { path: '/a, /b' } ]\n",     "t.yaml:1: routes.path: /a, /b would be read", "a route for each" },
	{ "routes: [ { path: '/u/{id}' } ]\n",    "t.yaml:1: routes.path: /u/{id} would be read", "/u/" },
	{ "routes: [ { path: '^/api' } ]\n",      "t.yaml:1: routes.path: ^/api is not the beginning", "/img/" },
	{ "routes: [ { path: '/x.php$' } ]\n",    "t.yaml:1: routes.path: /x.php$ would be read", "" },
	{ "admin_hosts: [ '*.a.example' ]\n",     "t.yaml:1: admin_hosts: no request is for", "in full" },
	{ "admin_hosts: 'a.example:9090'\n",      "t.yaml:1: admin_hosts: no request is for", "without port" },
	{ "routes: [ { drop_params: '*_id' } ]\n", "t.yaml:1: routes.drop_params: \"*_id\" has its *", "at the end" },
	{ "cache: { tag_headers: 'X-*' }\n",      "t.yaml:1: cache.tag_headers: \"X-*\" is one name here", "in full" },
	/* two in one */
	{ "routes: [ { key_headers: 'A, B' } ]\n", "t.yaml:1: routes.key_headers: \"A, B\" is one text", "[ A, B ]" },
	{ "routes: [ { key_headers: A B } ]\n",   "t.yaml:1: routes.key_headers: \"A B\" is one text", "[ A, B ]" },
	{ "routes: [ { pass_cookies: 'a; b' } ]\n", "t.yaml:1: routes.pass_cookies: \"a; b\" is one text", "[ a, b ]" },
	{ "routes: [ { key_cookies: 'a=b' } ]\n", "t.yaml:1: routes.key_cookies: \"a=b\" is no name", "the name alone" },
	{ "routes: [ { drop_params: 'a&b' } ]\n", "t.yaml:1: routes.drop_params: \"a&b\" is no name", "the name alone" },
	{ "response_headers: { remove: 'X-A: b' }\n", "t.yaml:1: response_headers.remove: \"X-A: b\" is no name", "the name alone" },
	{ "request_headers: { set: { A: x, a: y } }\n", "t.yaml:1: request_headers.set: a is set twice", "add" },
	{ "cache: { purge_from: '10.0.0.0/8, 127.0.0.1' }\n", "t.yaml:1: cache.purge_from: \"10.0.0.0/8, 127.0.0.1\" is not a network", "10.0.0.0/8" },
	{ "listen: '0.0.0.0:80, 0.0.0.0:443'\n",  "t.yaml:1: listen: \"0.0.0.0:80, 0.0.0.0:443\"", "IP:PORT" },
	/* numbers */
	{ "workers: 1.5\n",                       "t.yaml:1: workers: \"1.5\" is not a number", "or auto" },
	{ "workers: 010\n",                       "t.yaml:1: workers: \"010\" is not a number", "or auto" },
	{ "workers: 0x4\n",                       "t.yaml:1: workers: \"0x4\" is not a number", "or auto" },
	{ "limits: { connections: 1_000 }\n",     "t.yaml:1: limits.connections: \"1_000\"", "50k" },
	{ "timeouts: { idle: 1.5ms }\n",          "t.yaml:1: timeouts.idle: \"1.5ms\"", "30s" },
	{ "timeouts: { idle: 1:30 }\n",           "t.yaml:1: timeouts.idle: \"1:30\"", "30s" },
	{ "cache: { keep_free: 5 }\n",            "t.yaml:1: cache.keep_free: 5 would be bytes", "5GiB" },
	{ "admission: { write_budget: 10 }\n",    "t.yaml:1: admission.write_budget: 10 would be bytes", "10MiB" },
	{ "limits: { body: 10 }\n",               "t.yaml:1: limits.body: 10 would be bytes", "10B" },
	{ "cache: { status_key: 1 }\n",           "t.yaml:1: cache.status_key: \"1\" is not a switch", "on or off" },
	/* settings without those that they belong to */
	{ "rate: { per: 1m }\n",                  "t.yaml:1: rate.per: there is no rate", "requests:" },
	{ "rate: { hits: off }\n",                "t.yaml:1: rate.hits: there is no rate", "requests:" },
	{ "routes: [ { redirect: { status: 302 } } ]\n", "t.yaml:1: routes.redirect.status: there is nowhere", "to:" },
	{ "routes: [ { answer: { content_type: a/b } } ]\n", "t.yaml:1: routes.answer: there is no status", "503" },
	{ "origins: { name: w, servers: [ http://a, http://b ], health: { every: 3s } }\n", "t.yaml:1: origins.health: there are no checks without a path", "/healthz" },
	/* what other programs call it */
	{ "ttl: 1h\n",                            "t.yaml:1: there is no setting \"ttl\"", "default_ttl" },
	{ "routes: [ { cache: { ttl_status: { 404: forever } } } ]\n", "t.yaml:1: routes.cache.ttl_status: \"404: forever\" is no status", "404: 1m" },
	{ "routes: [ { cache: { ttl_status: [ 500: 1m ] } } ]\n", "t.yaml:1: routes.cache.ttl_status: \"500: 1m\" is no status", "404: 1m" },
	{ "routes: [ { cache: { ttl_type: { text: 1m } } } ]\n", "t.yaml:1: routes.cache.ttl_type: \"text: 1m\" is no media type", "text/css: 1h" },
	{ "routes: [ { cache: { ttl_type: { \"text/html; charset=utf-8\": 1m } } } ]\n", "t.yaml:1: routes.cache.ttl_type: \"text/html; charset=utf-8: 1m\" is no media type", "without parameters" },
	{ "routes: [ { cache: { ttl_type: { \"*/*\": 1m } } } ]\n", "t.yaml:1: routes.cache.ttl_type: \"*/*: 1m\" is for all types", "ttl:" },
	{ "compress: { types: [ html ] }\n",      "t.yaml:1: compress.types: \"html\" is no media type", "application/json, text/*" },
	{ "compress: { types: \"text/html; charset=utf-8\" }\n", "t.yaml:1: compress.types: \"text/html; charset=utf-8\" is no media type", "without parameters" },
	{ "compress: { types: [ text/css, \"*/*\" ] }\n", "t.yaml:1: compress.types: \"*/*\" is no media type", "* for all" },
	{ "compress: { types: [ text/css, none ] }\n", "t.yaml:1: compress.types: none is for all types, or none", "alone" },
	{ "compress: { types: [ default, text/x-mine ] }\n", "t.yaml:1: compress.types: default is for all types, or none", "alone" },
	{ "routes: [ { pass: on, ttl_type: { text/css: 1m } } ]\n", "t.yaml:1: routes.pass: with pass: on nothing is stored", "leave" },
	{ "routes: [ { cache: { ignore: [ cookies ] } } ]\n", "t.yaml:1: routes.cache.ignore: \"cookies\" is not known", "set-cookie" },
	{ "routes: [ { pass: on, ttl: 1h } ]\n", "t.yaml:1: routes.pass: with pass: on nothing is stored", "leave pass" },
	{ "cache: { ttl: 1h }\n",                 "t.yaml:1: there is no setting \"cache.ttl\"", "default_ttl" },
	{ "upstreams: [ http://a ]\n",            "t.yaml:1: there is no setting \"upstreams\"", "origins:" },
	{ "tls: { cert: a, key: b }\n",           "t.yaml:1: there is no setting \"tls.cert\"", "certificates:" },
	{ "key_headers: A\n",                     "t.yaml:1: there is no setting \"key_headers\"", "routes.key_headers" },
	{ "cache: { size: 1GiB }\n",              "t.yaml:1: there is no setting \"cache.size\"", "disk:" },
	{ "redirect: https://a\n",                "t.yaml:1: there is no setting \"redirect\"", "in a route" },
	{ "routes: [ { cache: off, pass: off } ]\n", "t.yaml:1: \"routes.pass\" is given again", "keep one" },
	{ "routes: [ { default_ttl: 1h, cache: { default_ttl: 2h } } ]\n", "t.yaml:1: \"routes.cache.default_ttl\" is given again", "keep one" },
	{ "rate: { requests: 5/m, per: 1s }\n",   "t.yaml:1: \"rate.per\" is given again", "keep one" },
	/* variables */
	{ "workers: 1\naccess_log: ${TWICE_NO_SUCH}\n", "t.yaml:2: the environment has no variable TWICE_NO_SUCH", "${TWICE_NO_SUCH:-default}" },
	{ "access_log: ${TWICE_NO_SUCH\n",        "t.yaml:1: ${TWICE_NO_SUCH is no variable", "${NAME:-default}" },
	{ "access_log: ${}\n",                    "t.yaml:1: ${} is no variable", "${NAME}" },
	{ "access_log: ${A-b}\n",                 "t.yaml:1: ${A-b} is no variable", "${NAME:-default}" },
	{ "admin: ${TWICE_NO_SUCH:-}\n",          "t.yaml:1: admin: the text is empty", "leave it out" },
};

/* ---- what is understood ---------------------------------------------------------------------- */

/* Each is the same configuration as its other form. */
static const struct {
	const char *text, *same;
} understood[] = {
	{ "workers: !!int 3\n",                   "workers: 3\n" },
	{ "workers: \"3\"\n",                     "workers: 3\n" },
	{ "access_log: none\n",                   "{}\n" },
	{ "access_log: Off\n",                    "{}\n" },
	{ "admin: no\n",                          "admin: off\n" },
	{ "admin_token: off\n",                   "{}\n" },
	{ "cache: { dir: False }\n",              "cache: { dir: none }\n" },
	{ "limits: { body: off }\n",              "{}\n" },
	{ "cache: { status_key: TRUE }\n",        "cache: { status_key: on }\n" },
	{ "log_level: DEBUG\n",                   "log_level: debug\n" },
	{ "socket_mode: 0600\n",                  "socket_mode: 600\n" },
	{ "log_format: json\n",                   "access_log_format: json\n" },
	{ "rate: 5/m\n",                          "rate: { requests: 5, per: 1m }\n" },
	{ "rate: 100/10s\n",                      "rate: { requests: 100, per: 10s }\n" },
	{ "rate: { requests: 2 / minute, burst: 9 }\n", "rate: { requests: 2, per: 1m, burst: 9 }\n" },
	{ "rate: off\n",                          "{}\n" },
	{ "routes: { path: /a }\n",               "routes: [ { path: /a } ]\n" },
	{ "routes: [ { path: /a, cache: off } ]\n", "routes: [ { path: /a, pass: on } ]\n" },
	{ "routes: [ { default_ttl: 1h, sightings: 1 } ]\n", "routes: [ { cache: { default_ttl: 1h }, admission: { sightings: 1 } } ]\n" },
	{ "routes: [ { default_ttl: 1h, cache: { stale_after: 2s } } ]\n", "routes: [ { cache: { stale_after: 2s, default_ttl: 1h } } ]\n" },
	{ "routes: [ { method: POST } ]\n", "routes: [ { methods: [ POST ] } ]\n" },
	{ "routes: [ { headers: { X-Beta: \"*\" } } ]\n", "routes: [ { headers: [ \"X-Beta: *\" ] } ]\n" },
	{ "routes: [ { ttl_type: { image/*: 1d } } ]\n", "routes: [ { cache: { ttl_type: [ \"image/*: 1d\" ] } } ]\n" },
	{ "routes: [ { ttl: 1h, ttl_status: { 404: 1m } } ]\n", "routes: [ { cache: { ttl: 1h, ttl_status: [ \"404: 1m\" ] } } ]\n" },
	{ "routes: [ { redirect: 'https://b.example$path' } ]\n", "routes: [ { redirect: { to: 'https://b.example$path' } } ]\n" },
	{ "routes: [ { redirect: { url: /b } } ]\n", "routes: [ { redirect: { to: /b } } ]\n" },
	{ "routes: [ { answer: 503 } ]\n",        "routes: [ { answer: { status: 503 } } ]\n" },
	{ "routes: [ { rate: 5/s } ]\n",          "routes: [ { rate: { requests: 5 } } ]\n" },
	{ "routes:\n- answer:\n    status: 503\n    content: |\n      gr\xc3\xbc\xc3\x9f\n      two\n", "routes: [ { answer: { status: 503, body: \"gr\\u00fc\\u00df\\ntwo\\n\" } } ]\n" },
	{ "more_disks: [ { dir: /a, disk: 5GiB } ]\n", "more_disks: [ { dir: /a, size: 5GiB } ]\n" },
	{ "origins: { name: w, servers: [ http://a, http://b ], balance: Round_Robin, health: /h }\n",
	  "origins: { name: w, servers: [ http://a, http://b ], balance: round-robin, health: { path: /h } }\n" },
	{ "origins: { name: w, servers: [ http://a, http://b ], health: { path: /h, interval: 3s } }\n",
	  "origins: { name: w, servers: [ http://a, http://b ], health: { path: /h, every: 3s } }\n" },
	{ "listen: 'https://*:443'\ntls: { certificates: [ { cert: a.pem, key: a.key }, b.pem ] }\n",
	  "listen: 'https://*:443'\ntls: { certificates: [ a.pem, a.key, b.pem ] }\n" },
	{ "listen: 'https://*:443'\ntls: { certificates: { cert: a.pem, key: a.key } }\n",
	  "listen: 'https://*:443'\ntls: { certificates: [ a.pem, a.key ] }\n" },
	/* anchors and merge keys */
	{ "routes:\n- &a { path: /a, admit: always }\n- { <<: *a, path: /b }\n",
	  "routes: [ { path: /a, admit: always }, { path: /b, admit: always } ]\n" },
	{ "routes:\n- &a { path: /a, pass: on }\n- &b { path: /b, name: x }\n- { path: /c, <<: [ *b, *a ] }\n",
	  "routes: [ { path: /a, pass: on }, { path: /b, name: x }, { path: /c, name: x, pass: on } ]\n" },
	{ "cache: &c { <<: *c, disk: 20GiB }\n",  "cache: { disk: 20GiB }\n" },
	{ "routes:\n- { path: /a, key_headers: &l [ A, B ] }\n- { path: /b, key_headers: *l }\n",
	  "routes: [ { path: /a, key_headers: [ A, B ] }, { path: /b, key_headers: [ A, B ] } ]\n" },
	{ "routes:\n- &a { path: /a, cache: { stale_after: 1s } }\n- { <<: *a, path: /b, default_ttl: 1h }\n",
	  "routes: [ { path: /a, cache: { stale_after: 1s } }, { path: /b, cache: { stale_after: 1s, default_ttl: 1h } } ]\n" },
	/* variables */
	{ "workers: ${TWICE_TEST_NUMBER}\n",      "workers: 3\n" },
	{ "workers: ${TWICE_NO_SUCH:-4}\n",       "workers: 4\n" },
	{ "workers: ${TWICE_TEST_EMPTY:-4}\n",    "workers: 4\n" },
	{ "access_log: /${TWICE_TEST_NUMBER}/${TWICE_TEST_NUMBER}.log\n", "access_log: /3/3.log\n" },
	{ "routes: [ { answer: { status: 503, body: 'a $${b} $c' } } ]\n", "routes: [ { answer: { status: 503, body: \"a $\\x24{b} $c\" } } ]\n" },
	{ "routes: [ { keep_params: [ no, all ] } ]\n", "routes: [ { keep_params: [ 'no', 'all' ] } ]\n" },
};
/* clang-format on */

START_TEST(a_mistake_is_told)
{
	config_init(&c);
	ck_assert_msg(parse(refused[_i].text) == -1, "%s", refused[_i].text);
	ck_assert_msg(strncmp(err, refused[_i].says, strlen(refused[_i].says)) == 0,
		      "wanted \"%s...\", got \"%s\"", refused[_i].says, err);
	ck_assert_msg(strstr(err, refused[_i].way_out) != NULL, "no \"%s\" in \"%s\"",
		      refused[_i].way_out, err);
	config_fini(&c);
}
END_TEST

START_TEST(one_meaning_is_understood)
{
	setenv("TWICE_TEST_NUMBER", "3", 1);
	setenv("TWICE_TEST_EMPTY", "", 1);
	unsetenv("TWICE_NO_SUCH");
	config_init(&c);
	ck_assert_msg(parse(understood[_i].text) == 0, "%s%s", understood[_i].text, err);
	char *got = printed(&c);
	ck_assert_msg(parse(understood[_i].same) == 0, "%s%s", understood[_i].same, err);
	char *want = printed(&c);
	ck_assert_str_eq(got, want);
	free(got);
	free(want);
	config_fini(&c);
}
END_TEST

/* ---- every row, every shape ------------------------------------------------------------------ */

static bool
is_name(enum kind kind)
{
	return kind == KIND_FILE || kind == KIND_HOST || kind == KIND_LABEL ||
	       kind == KIND_HEADER || kind == KIND_COOKIE || kind == KIND_PARAM;
}

/* Parses "a: { b: VALUE }". */
static int
try(const char *before, const struct setting *s, const char *value, const char *after)
{
	char text[512];
	snprintf(text, sizeof text, "%s%s: %s%s\n", before, s->key, value, after);
	config_init(&c);
	int result = parse(text);
	config_fini(&c);
	if (result < 0)
		ck_assert_msg(strncmp(err, "t.yaml:1: ", 10) == 0, "no place in \"%s\" for %s", err,
			      text);
	return result;
}

static void
must_fail(const char *before, const struct setting *s, const char *value, const char *after)
{
	ck_assert_msg(try(before, s, value, after) == -1, "%s%s: %s%s was taken", before, s->key,
		      value, after);
}

static void
try_shapes(const struct setting *s, const char *before, const char *after)
{
	enum kind kind = s->kind == KIND_LIST ? s->each : s->kind;
	bool list = s->kind == KIND_LIST;
	must_fail(before, s, "!tag x", after);
	must_fail(before, s, "${TWICE_NO_SUCH}", after);
	if (kind != KIND_FIELD && strcmp(s->key, "certificates") != 0)
		must_fail(before, s, "{ q: r }", after);
	must_fail(before, s, "[ [ x ] ]", after);
	if (!list || (*s->fallback && !s->nobody))
		must_fail(before, s, "~", after);
	must_fail(before, s, list ? "[ ~ ]" : "[ x ]", after);
	if (kind != KIND_BODY)
		must_fail(before, s, "\"\"", after);
	if (kind != KIND_BODY && kind != KIND_FIELD && kind != KIND_TEXT)
		must_fail(before, s, "\" x\"", after);
	if (is_name(kind)) {
		must_fail(before, s, "on", after);
		must_fail(before, s, "\"True\"", after);
		must_fail(before, s, "\"A, B\"", after);
	}
	if (kind == KIND_COUNT || kind == KIND_BYTES || kind == KIND_ROOM || kind == KIND_MILLIS ||
	    kind == KIND_SECONDS) {
		must_fail(before, s, "1.5", after);
		must_fail(before, s, "on", after);
		must_fail(before, s, "-1", after);
		must_fail(before, s, "0100", after);
	}
	if (kind == KIND_MILLIS || kind == KIND_SECONDS)
		must_fail(before, s, "30", after);
}

static void
walk(const struct setting *rows, const char *before, const char *after)
{
	char b[256], a[256];
	for (const struct setting *s = rows; s->key; s++) {
		if (s->kind != KIND_GROUP && s->kind != KIND_GROUPS) {
			try_shapes(s, before, after);
			continue;
		}
		bool many = s->kind == KIND_GROUPS;
		must_fail(before, s, "!tag { }", after);
		must_fail(before, s, "[ 1, [ 2 ] ]", after);
		snprintf(b, sizeof b, "%s%s: %s{ ", before, s->key, many ? "[ " : "");
		snprintf(a, sizeof a, " }%s%s", many ? " ]" : "", after);
		walk(s->inside, b, a);
	}
}

START_TEST(every_row_refuses_what_it_is_not)
{
	walk(schema_top, "", "");
}
END_TEST

/* ---- several mistakes, several files --------------------------------------------------------- */

static char dir[200], told[4096];

static void
add_told(void *ctx, const char *sentence)
{
	(void)ctx;
	size_t skip = strncmp(sentence, dir, strlen(dir)) == 0 ? strlen(dir) + 1 : 0;
	strcat(strcat(told, sentence + skip), "\n");
}

static char *
put(const char *name, const char *text)
{
	static char path[300];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static int
load(const char *name)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	*told = '\0';
	return config_load(&c, path, NULL, 0, add_told, NULL);
}

START_TEST(all_mistakes_are_told_at_once)
{
	tmpdir_make(dir, sizeof dir);
	config_init(&c);
	put("t.yaml", "workers: many\n"
		      "cache: { disc: 1GiB, memory: 1 }\n"
		      "routes:\n"
		      "  - { path: img, query: x }\n"
		      "  - { path: /a, host: .b }\n"
		      "  - { path: c }\n"
		      "  -\n"
		      "  - { path: /d, pass: on, query: sort }\n"
		      "  - { origin: web }\n"
		      "access_log: on\n"
		      "admission: { sightings: 3, filter: stable }\n"
		      "origins:\n"
		      "  - { hots: x }\n"
		      "  - nonsense\n"
		      "  - { name: web, servers: [ { weight: 2 } ] }\n"
		      "  - { url: http://a, key_file: b }\n");
	ck_assert_int_eq(load("t.yaml"), -1);
	static const char *const lines[] = {
		"t.yaml:1: workers: \"many\"",
		"t.yaml:2: there is no setting \"cache.disc\"",
		"t.yaml:2: cache.memory: 1 is out of range",
		"t.yaml:4: routes.query: \"x\"",
		"t.yaml:5: routes.host: no request is for \".b\"",
		"t.yaml:6: routes.path: c is not the beginning",
		"t.yaml:7: routes: nothing is written here",
		"t.yaml:8: routes.pass: with pass: on",
		"t.yaml:10: access_log: \"on\"",
		"t.yaml:11: admission.sightings: this filter",
		"t.yaml:13: there is no setting \"origins.hots\"",
		"t.yaml:14: origins.url: \"nonsense\"",
		"t.yaml:15: origins.servers.url is missing",
		"t.yaml:16: origins.key_file: there is no certificate",
	};
	const char *at = told;
	for (int i = 0; i < COUNT(lines); i++) {
		ck_assert_msg(strncmp(at, lines[i], strlen(lines[i])) == 0,
			      "no \"%s\" at %s in\n%s", lines[i], at, told);
		at = strchr(at, '\n') + 1;
	}
	ck_assert_msg(*at == '\0', "%s", told);
	config_fini(&c);
	tmpdir_remove(dir);
}
END_TEST

static void
make_dir(const char *name)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(files_include_files)
{
	tmpdir_make(dir, sizeof dir);
	make_dir("conf.d");
	config_init(&c);
	put("t.yaml", "include: [ conf.d, \"${TWICE_TEST_FILE}\" ]\n"
		      "cache: { disk: 20GiB }\nroutes: { path: /first }\n");
	put("conf.d/20.yml", "routes: [ { path: /third } ]\ncache: { memory: 9MiB }\n");
	put("conf.d/10.yaml", "routes:\n- path: /second\nlog_level: debug\n");
	put("conf.d/.hidden.yaml", "nonsense\n");
	put("conf.d/notes.txt", "nonsense\n");
	put("last.yaml", "include: deeper.yaml\nroutes: [ { path: /fourth } ]\n");
	put("deeper.yaml", "# nothing\nroutes: [ { path: /fifth } ]\n");
	put("empty.yaml", "");
	setenv("TWICE_TEST_FILE", "last.yaml", 1);
	ck_assert_msg(load("t.yaml") == 0, "%s", told);
	static const char *const paths[] = {"/first", "/second", "/third", "/fourth", "/fifth"};
	ck_assert_uint_eq(c.route_count, COUNT(paths));
	for (int i = 0; i < COUNT(paths); i++)
		ck_assert_str_eq(c.routes[i].path, paths[i]);
	ck_assert_uint_eq(c.cache.disk_bytes, 20ull << 30);
	ck_assert_uint_eq(c.cache.memory_bytes, 9ull << 20);
	ck_assert_str_eq(c.log_level, "debug");

	char place[400];
	snprintf(place, sizeof place, "%s/t.yaml", dir);
	char *path = strdup(place);
	config_place(path, NULL, 0, "routes.4.path", place, sizeof place);
	ck_assert_str_eq(place + strlen(dir), "/deeper.yaml:2: ");
	config_place(path, NULL, 0, "cache.memory", place, sizeof place);
	ck_assert_str_eq(place + strlen(dir), "/conf.d/20.yml:2: ");
	free(path);
	config_fini(&c);
	tmpdir_remove(dir);
}
END_TEST

/* clang-format off */
static const struct {
	const char *main, *other; /* texts of t.yaml and o.yaml */
	const char *says;
} together[] = {
	{ "include: nothing.yaml\n",            "",                        "t.yaml:1: include: cannot read " },
	{ "workers: 1\ninclude: o.yaml\n",      "\nworkers: 2\n",          "o.yaml:2: \"workers\" is given again, first in " },
	{ "cache: { disk: 9GiB }\ninclude: o.yaml\n", "cache:\n  disk: 8GiB\n", "o.yaml:2: \"cache.disk\" is given again, first in " },
	{ "include: o.yaml\n",                  "\nworkres: 2\n",          "o.yaml:2: there is no setting \"workres\"" },
	{ "include: o.yaml\n",                  "\n\nworkers: x\n",        "o.yaml:3: workers: \"x\"" },
	{ "include: o.yaml\n",                  "routes:\n- path: x\n",    "o.yaml:2: routes.path: x is not" },
	{ "include: o.yaml\n",                  "routes: [\n",             "o.yaml:2: this is not YAML" },
	{ "include: o.yaml\n",                  "- path: /x\n",            "o.yaml:1: settings belong here" },
	{ "include: o.yaml\n",                  "a: 1\n---\nb: 2\n",       "o.yaml:3: a second document" },
	{ "include: o.yaml\n",                  "user: ${TWICE_NO_SUCH}\n", "o.yaml:1: the environment has no variable" },
	{ "include: o.yaml\n",                  "include: t.yaml\n",       "o.yaml:1: include: " },
	{ "include: [ o.yaml, ./o.yaml ]\n",    "",                        "t.yaml:1: include: " },
	{ "include: t.yaml\n",                  "",                        "t.yaml:1: include: " },
	{ "include: '*.yaml'\n",                "",                        "t.yaml:1: include: \"*.yaml\" is no path" },
	{ "include: { a: b }\n",                "",                        "t.yaml:1: include: write a list" },
	{ "include:\n",                         "",                        "t.yaml:1: include: \"\" is no path" },
	{ "cache: { include: o.yaml }\n",       "",                        "t.yaml:1: there is no setting \"cache.include\"" },
};
/* clang-format on */

START_TEST(mistakes_have_their_file)
{
	tmpdir_make(dir, sizeof dir);
	config_init(&c);
	put("t.yaml", together[_i].main);
	put("o.yaml", together[_i].other);
	ck_assert_int_eq(load("t.yaml"), -1);
	ck_assert_msg(strncmp(told, together[_i].says, strlen(together[_i].says)) == 0,
		      "wanted \"%s\", got \"%s\"", together[_i].says, told);
	config_fini(&c);
	tmpdir_remove(dir);
}
END_TEST

START_TEST(includes_are_not_deep)
{
	tmpdir_make(dir, sizeof dir);
	config_init(&c);
	char name[32], text[64];
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "%d.yaml", i);
		snprintf(text, sizeof text, "include: %d.yaml\n", i + 1);
		put(name, text);
	}
	ck_assert_int_eq(load("0.yaml"), -1);
	ck_assert_msg(strncmp(told, "8.yaml:1: include: more than 8 files", 36) == 0, "%s", told);
	config_fini(&c);
	tmpdir_remove(dir);
}
END_TEST

UNIT("reading", LOOP(a_mistake_is_told, refused), LOOP(one_meaning_is_understood, understood),
     TEST(every_row_refuses_what_it_is_not), TEST(all_mistakes_are_told_at_once),
     TEST(files_include_files), LOOP(mistakes_have_their_file, together),
     TEST(includes_are_not_deep))
