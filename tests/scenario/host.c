/* The Host that origins are asked for, and the lines that say where it is the wrong one. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#define CACHEABLE	 "Cache-Control: max-age=600\r\n"
#define FILE_HOST(lines) "origins:\n  - url: %O\n" lines

static const char *
own_host(void)
{
	return text("127.0.0.1:%u", origin_port());
}

static struct output
twice(const char *command, const char *url)
{
	return program(edge_binary(), command, url, "--admin",
		       text("127.0.0.1:%u", edge_admin_port()));
}

/* ---- what is sent ---------------------------------------------------------------------------- */

SCENARIO("the server of --origin is asked for its own name and port, whatever clients ask for")
{
	origin_says("/x", .fields = CACHEABLE, .body = "hello");
	edge_start("--origin", origin_url());
	get_with("/x", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), own_host());
	ask("POST", "/p", "Host: a.test\r\n", "x");
	expect_text(heard_field(origin_last(), "Host"), own_host());
	expect(edge_said(
		text("answers come from %s, asked for Host: %s", origin_url(), own_host())));
}

SCENARIO("by --origin keys and purges are of the URL that clients use")
{
	by_http_only();
	origin_says("/x", .fields = CACHEABLE, .body = "hello");
	edge_start("--origin", origin_url());
	get_with("/x", "Host: a.test\r\n");
	expect_hit(get_with("/x", "Host: a.test\r\n"));
	expect_miss(get_with("/x", "Host: b.test\r\n"));
	expect_status(edge_purge("url=http://a.test/x"), 200);
	expect_miss(get_with("/x", "Host: a.test\r\n"));
	expect_hit(get_with("/x", "Host: b.test\r\n"));
}

SCENARIO("--host names another Host, and --host client passes on that of the client")
{
	origin_says("*", .body = "hello");
	edge_start("--origin", origin_url(), "--host", "www.site.test");
	get_with("/x", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), "www.site.test");
	edge_stop();
	edge_start("--origin", origin_url(), "--host", "client");
	get_with("/y", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), "a.test");
	expect(edge_said("asked for Host: as the client sends it"));
}

SCENARIO("each of several --origin is asked for its own name")
{
	const char *second = origin_door(1);
	origin_says("@1/x", .body = "second");
	edge_start("--origin", origin_url(), "--origin", second, "--cache", "none");
	origin_dies();
	expect_answer(get_with("/x", "Host: a.test\r\n"), 200, "second");
	expect_text(heard_field(origin_last(), "Host"), second + strlen("http://"));
	struct output o = twice("explain", "http://a.test/x");
	expect_that(strstr(o.out, text("Host: %s, %s\n", own_host(), second + strlen("http://"))),
		    "%s", o.out);
}

SCENARIO("a Unix socket has no name: its server is asked for that of the client")
{
	const char *url = origin_door_unix(1);
	origin_says("@1*", .body = "hello");
	edge_start("--origin", url);
	get_with("/x", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), "a.test");
}

SCENARIO("in a file nothing is sent but what it says")
{
	origin_says("*", .body = "hello");
	edge_start_yaml(FILE_HOST(""));
	get_with("/x", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), "a.test");
}

SCENARIO("a reload keeps the Host of --origin")
{
	origin_says("*", .body = "hello");
	edge_yaml("cache:\n  default_ttl: 2m\n");
	edge_start("--origin", origin_url(), "--host", "www.site.test");
	edge_rewrite("cache:\n  default_ttl: 1m\n");
	expect_int(
		program(edge_binary(), "reload", "--admin", text("127.0.0.1:%u", edge_admin_port()))
			.status,
		0);
	get_with("/x", "Host: a.test\r\n");
	expect_text(heard_field(origin_last(), "Host"), "www.site.test");
}

SCENARIO("--host goes with --origin, and names a host")
{
	static const char *const wrong[] = {"a b", "https://x.test", "x.test/", "user@x.test"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct output o = program(edge_binary(), "check", "--origin", "http://a.test",
					  "--host", wrong[i]);
		expect_int(o.status, 2);
		expect_that(strstr(o.err, "is not the name of a host"), "%s", o.err);
	}
	struct output o = program(edge_binary(), "check", "--host", "x.test");
	expect_int(o.status, 2);
	expect_that(strstr(o.err, "--host goes with --origin"), "%s", o.err);
}

SCENARIO("check prints the Host that --origin comes to")
{
	static const struct {
		const char *url, *host;
	} rows[] = {
		{"https://www.site.test", "host: www.site.test "},
		{"http://www.site.test:80", "host: www.site.test "},
		{"https://www.site.test:8443", "host: www.site.test:8443 "},
		{"http://[2001:db8::1]:8080", "host: \"[2001:db8::1]:8080\""},
		{"unix:/run/app.sock", "host: client "},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct output o = program(edge_binary(), "check", "--origin", rows[i].url);
		expect_that(strstr(o.out, rows[i].host), "%s: %s", rows[i].url, o.out);
	}
}

/* ---- what is said of it ---------------------------------------------------------------------- */

SCENARIO("explain says which Host the origin is asked for")
{
	by_http_only();
	edge_start("--origin", origin_url(), "--host", "www.site.test");
	struct output o = twice("explain", "http://a.test/x");
	expect_that(strstr(o.out, "is asked for /x, Host: www.site.test\n"), "%s", o.out);
}

SCENARIO("a line of an error in the access log says which Host the origin was asked for")
{
	origin_says("/good", .body = "hello");
	edge_yaml("access_log: %D/log\n");
	edge_start("--origin", origin_url(), "--host", "www.site.test");
	get("/good");
	get("/missing");
	get_with("/other", "Cache-Control: only-if-cached\r\n"); /* nobody was asked */
	edge_stop();
	struct output o = program("cat", text("%s/log", kit_dir()));
	expect_that(strstr(o.out, " origin_host=\"www.site.test\"") > strstr(o.out, "/missing"),
		    "%s", o.out);
	expect(!strstr(strstr(o.out, "origin_host=") + 1, "origin_host="));
}

SCENARIO("the same in JSON, for an origin that cannot be reached")
{
	edge_yaml("access_log: %D/log\naccess_log_format: json\n" FILE_HOST(""));
	edge_start();
	origin_dies();
	get_with("/x", "Host: a.test\r\n");
	edge_stop();
	struct output o = program("cat", text("%s/log", kit_dir()));
	expect_that(strstr(o.out, ",\"origin_host\":\"a.test\""), "%s", o.out);
}

static const char refused[] = "refused its first";

SCENARIO("an origin whose first answers are 404 is said once, with the Host and the setting")
{
	edge_start_yaml(FILE_HOST(""));
	get_with("/a", "Host: a.test\r\n");
	expect(!edge_said(refused));
	for (int i = 0; i < 5; i++)
		get_with(text("/%d", i), "Host: a.test\r\n");
	expect_int(edge_times_said(refused), 1);
	expect(edge_said("(the last with 404), for Host: a.test, which is the client's"));
	expect(edge_said("set host: in origins"));
}

SCENARIO("one 421 is enough")
{
	origin_says("*", .status = 421);
	edge_start("--origin", origin_url(), "--host", "www.site.test");
	get("/a");
	expect_int(edge_times_said(refused), 1);
	expect(edge_said("for Host: www.site.test, which is configured"));
}

SCENARIO("an origin that has answered well may say 404 as often as it likes")
{
	origin_says("/good", .body = "hello");
	edge_start_yaml(FILE_HOST(""));
	get("/0");
	get("/good");
	for (int i = 0; i < 5; i++)
		get(text("/%d", i));
	expect_int(edge_times_said(refused), 0);
}

/* ---- redirects to its own name ----------------------------------------------------------------- */

static const char leads_away[] = "its own name, where clients leave this proxy";

static void
redirect_to(const char *where)
{
	origin_says("*", .status = 301, .fields = text("Location: %s\r\n", where));
}

SCENARIO("an origin that redirects to its own name is said once, and host: is what to set")
{
	redirect_to(text("http://%s/x/", own_host()));
	edge_start_yaml(FILE_HOST(""));
	for (int i = 0; i < 3; i++)
		get_with(text("/%d", i), "Host: a.test\r\n");
	expect_int(edge_times_said(leads_away), 1);
	expect(edge_said(text("asked for Host: a.test; set host: %s\n", own_host())));
}

SCENARIO("one that redirects to https of its name is named by https")
{
	redirect_to("https://127.0.0.1/x/");
	edge_start("--origin", origin_url());
	get_with("/x", "Host: a.test\r\n");
	expect_int(edge_times_said(leads_away), 1);
	expect(edge_said("; write https://127.0.0.1 as its url\n"));
}

SCENARIO("one that redirects to the name that --origin gives it may be asked for the client's")
{
	redirect_to(text("http://%s/x/", own_host()));
	edge_start("--origin", origin_url());
	get_with("/x", "Host: a.test\r\n");
	expect(edge_said("set host: client (--host client)"));
}

SCENARIO("redirects to the client's name, to paths and to strangers are nothing to say")
{
	edge_start_yaml(FILE_HOST("    host: www.site.test\n"));
	static const char *const fine[] = {
		"/x/", "http://a.test/x/", "https://A.test/", "?q", "http://login.test/",
		":",   "//a.test/",	   "http://",	      ""};
	for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
		redirect_to(fine[i]);
		get_with(text("/%zu", i), "Host: a.test\r\n");
		origin_forget("*");
	}
	expect_int(edge_times_said(leads_away), 0);
	redirect_to("//WWW.site.test:80/x");
	get_with("/last", "Host: a.test\r\n");
	expect_int(edge_times_said(leads_away), 1);
}
