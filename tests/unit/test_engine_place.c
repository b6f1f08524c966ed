/* rooms: fleet origin http base
 *
 * test_engine_place.c - the addresses of engines. */
#include "proxy/fleet/engine_place.h"
#include "tests/kit/unit.h"

#include <stdio.h>

/* A place reads as "url name user password service database". */
static const struct {
	const char *says, *text, *reads;
} places[] = {
	/* clang-format off */
	{"a server",                "redis://10.0.0.5:6380",            "http://10.0.0.5:6380 redis://10.0.0.5:6380    0"},
	{"at the usual port",       "redis://r.example.com",            "http://r.example.com:6379 redis://r.example.com    0"},
	{"a database",              "redis://r/3",                      "http://r:6379 redis://r/3    3"},
	{"IPv6",                    "redis://[::1]",                    "http://[::1]:6379 redis://[::1]    0"},
	{"IPv6 with a port",        "redis://[::1]:7",                  "http://[::1]:7 redis://[::1]:7    0"},
	{"by TLS",                  "rediss://r:7",                     "https://r:7 rediss://r:7    0"},
	{"a password",              "redis://:pw@r",                    "http://r:6379 redis://r  pw  0"},
	{"a user",                  "redis://me:p%40w@r",               "http://r:6379 redis://r me p@w  0"},
	{"an @ in the password",    "redis://me:p@w@r",                 "http://r:6379 redis://r me p@w  0"},
	{"a socket",                "unix:/run/redis.sock",             "unix:/run/redis.sock unix:/run/redis.sock    0"},
	{"a Sentinel",              "sentinel://s/main",                "http://s:26379 sentinel://s/main   main 0"},
	{"and a database behind it","sentinel://:pw@s:1/main/2",        "http://s:1 sentinel://s:1/main/2  pw main 2"},
	{"a Sentinel of nothing",   "sentinel://s",                     "none"},
	{"no password",             "redis://me@r",                     "none"},
	{"a broken escape",         "redis://:%4@r",                    "none"},
	{"an escape at the end",    "redis://:p%4",                     "none"},
	{"NUL in the password",     "redis://:%00@r",                   "none"},
	{"a database that is none", "redis://r/x",                      "none"},
	{"a database too large",    "redis://r/99999",                  "none"},
	{"no host",                 "redis://",                         "none"},
	{"port 0",                  "redis://r:0",                      "none"},
	{"another scheme",          "http://r",                         "none"},
	{"no scheme",               "10.0.0.5:6379",                    "none"},
	{"a relative socket",       "unix:redis.sock",                  "none"},
	{"nothing",                 "",                                 "none"},
	/* clang-format on */
};

START_TEST(place)
{
	struct engine_place p;
	char err[256] = "", reads[2048] = "none";
	if (engine_place_parse(places[_i].text, &p, err, sizeof err) == 0)
		snprintf(reads, sizeof reads, "%s %s %s %s %s %u", p.url, p.name, p.user,
			 p.password, p.service, p.database);
	else
		ck_assert_ptr_nonnull(strstr(err, "redis://HOST:PORT"));
	ck_assert_msg(strcmp(reads, places[_i].reads) == 0, "%s: %s", places[_i].says, reads);
}
END_TEST

START_TEST(long_ones_are_refused)
{
	char text[2 * ENGINE_PLACE_TEXT] = "redis://:", err[256];
	struct engine_place p;
	for (size_t n = strlen(text); n + 3 < sizeof text; n++) {
		snprintf(text + n, sizeof text - n, "x@r");
		ck_assert(engine_place_parse(text, &p, err, sizeof err) == 0 ||
			  n > ENGINE_PLACE_WORD);
		text[n] = 'x';
	}
}
END_TEST

START_TEST(one_that_moved_keeps_its_password)
{
	struct engine_place from, to;
	char err[256];
	ck_assert_int_eq(engine_place_parse("sentinel://:pw@s/main/2", &from, err, sizeof err), 0);
	ck_assert_int_eq(engine_place_move(&from, "10.0.0.6:6379", &to), 0);
	ck_assert_str_eq(to.url, "http://10.0.0.6:6379");
	ck_assert_str_eq(to.name, "redis://10.0.0.6:6379");
	ck_assert_str_eq(to.password, "pw");
	ck_assert(!to.sentinel && to.database == 2);
	ck_assert_int_eq(engine_place_move(&from, "10.0.0.6", &to), -1);
	ck_assert_int_eq(engine_place_move(&from, ":6379", &to), -1);
}
END_TEST

UNIT("engine_place", LOOP(place, places), TEST(long_ones_are_refused),
     TEST(one_that_moved_keeps_its_password))
