/* Prometheus and Grafana get their metrics. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char *
metrics(void)
{
	struct client *c = client_open_to(edge_admin_port());
	client_send(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	return client_read(c, "GET").body;
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static char *
read_file(const char *path)
{
	static char bytes[1 << 18];
	FILE *f = fopen(path, "r");
	expect_that(f != NULL, "%s is not there", path);
	bytes[fread(bytes, 1, sizeof bytes - 1, f)] = '\0';
	fclose(f);
	return bytes;
}

/* The value of a sample, named with its labels; -1: there is none. */
static double
sample(const char *name)
{
	char *at = strstr(metrics(), text("\n%s ", name));
	return at ? strtod(at + strlen(name) + 2, NULL) : -1;
}

static void
one_of_each(void)
{
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	origin_says("/gone", .status = 404, .body = "no");
	edge_yaml("routes: [ { path: /x, name: x } ]\n"
		  "listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:0\" ]\n");
	edge_start("--self-signed");
	get("/x");
	get("/x");
	get("/gone");
	edge_expect_stat("connections.closed", 3); /* so that all answers are counted */
}

SCENARIO("Prometheus reads /metrics without a complaint")
{
	needs("promtool"); /* Debian: prometheus */
	one_of_each();
	char *path = text("%s/metrics", kit_dir());
	write_file(path, metrics());
	struct output o = program("sh", "-c", text("promtool check metrics <%s", path));
	expect_that(o.status == 0 && !*o.err, "exit %d: %s%s", o.status, o.out, o.err);
	o = program("sh", "-c", "echo 'twice_wrong{ 1' | promtool check metrics");
	expect_that(o.status != 0, "promtool finds nothing wrong in nonsense");
}

SCENARIO(
	"each answer is in one outcome, one class of status, one histogram; each fetch at its origin")
{
	one_of_each();
	expect_int((int)sample("twice_requests_total{outcome=\"ram-hit\"}"), 1);
	expect_int((int)sample("twice_requests_total{outcome=\"miss\"}"), 2);
	expect_int((int)sample("twice_responses_total{code=\"2xx\"}"), 2);
	expect_int((int)sample("twice_responses_total{code=\"4xx\"}"), 1);
	expect_int((int)sample("twice_request_duration_seconds_count{answer=\"cached\"}"), 1);
	expect_int((int)sample("twice_request_duration_seconds_count{answer=\"fetched\"}"), 2);
	expect_int((int)sample("twice_request_first_byte_seconds_count{answer=\"fetched\"}"), 2);
	expect_int((int)sample("twice_object_size_bytes_count"), 2);
	expect_int((int)sample("twice_object_size_bytes_sum"), 7);
	const char *url = text("{origin=\"%s\"", origin_url());
	expect_int((int)sample(text("twice_origin_requests_total%s}", url)), 2);
	expect_int((int)sample(text("twice_origin_responses_total%s,code=\"4xx\"}", url)), 1);
	expect_int((int)sample(text("twice_origin_first_byte_seconds_count%s}", url)), 2);
	expect_int((int)sample(text("twice_origin_up%s}", url)), 1);
	expect(sample("process_resident_memory_bytes") > 1e6);
	expect(sample("process_start_time_seconds") > 1.7e9);
}

SCENARIO("an origin that cannot be reached is down in /metrics")
{
	edge_yaml("origins:\n  - url: http://127.0.0.1:1\n");
	edge_start();
	for (int i = 0; i < 5; i++)
		get("/x");
	edge_wait_stat("requests.errors", 5);
	expect_int((int)sample("twice_origin_up{origin=\"http://127.0.0.1:1\"}"), 0);
	expect(sample("twice_origin_errors_total{origin=\"http://127.0.0.1:1\"}") >= 5);
}

/* Each name of ours that stands in the text begins a sample or a histogram. */
static void
expect_names_exist(const char *file, const char *names, const char *all)
{
	int found = 0;
	for (const char *at = names; (at = strstr(at, "twice_")); found++) {
		size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
		char *name = text("\n%.*s", (int)n, at);
		const char *hit = strstr(all, name);
		while (hit && !strchr(" {", hit[1 + n]))
			hit = strstr(hit + 1, name);
		expect_that(hit != NULL, "%s names %s, which /metrics does not have", file,
			    name + 1);
		at += n;
	}
	expect_that(found > 5, "%s names only %d", file, found);
}

/* Expressions of the dashboard as recording rules, with Grafana's words replaced. */
static char *
as_rules(json_t *dashboard)
{
	char *rules = text("groups:\n- name: panels\n  rules:\n");
	json_t *panels = json_object_get(dashboard, "panels"), *panel, *target;
	size_t i, j;
	json_array_foreach(panels, i, panel)
	{
		json_array_foreach(json_object_get(panel, "targets"), j, target)
		{
			const char *e = json_string_value(json_object_get(target, "expr"));
			char *expr = text("%s", e), *at;
			while ((at = strstr(expr, "$__rate_interval")))
				expr = text("%.*s5m%s", (int)(at - expr), expr, at + 16);
			while ((at = strstr(expr, "$__range")))
				expr = text("%.*s1h%s", (int)(at - expr), expr, at + 8);
			rules = text("%s  - record: panel:e%zu_%zu\n    expr: >-\n      %s\n",
				     rules, i, j, expr);
		}
	}
	return rules;
}

SCENARIO("the dashboard for Grafana and the alert rules name what /metrics has")
{
	one_of_each();
	char *all = metrics();
	expect_names_exist("config/alerts.yaml", read_file("config/alerts.yaml"), all);
	expect_names_exist("config/grafana.json", read_file("config/grafana.json"), all);
}

SCENARIO("promtool finds nothing wrong in the alert rules and in the dashboard's expressions")
{
	needs("promtool");
	struct output o = program("promtool", "check", "rules", "config/alerts.yaml");
	expect_that(o.status == 0, "exit %d: %s%s", o.status, o.out, o.err);
	json_error_t why;
	json_t *dashboard = json_load_file("config/grafana.json", JSON_REJECT_DUPLICATES, &why);
	expect_that(dashboard != NULL, "line %d: %s", why.line, why.text);
	char *path = text("%s/panels.yaml", kit_dir());
	write_file(path, as_rules(dashboard));
	json_decref(dashboard);
	o = program("promtool", "check", "rules", path);
	expect_that(o.status == 0, "exit %d: %s%s", o.status, o.out, o.err);
	expect_that(strstr(o.out, "rules found") != NULL, "%s", o.out);
}

/* With these series, alerts of config/alerts.yaml fire at these times; promtool judges. */
static void
expect_alerts(const char *series, const char *checks)
{
	needs("promtool");
	char *path = text("%s/alerts-test.yaml", kit_dir()), here[4096];
	expect(getcwd(here, sizeof here) != NULL);
	write_file(path,
		   text("rule_files: [ %s/config/alerts.yaml ]\nevaluation_interval: 1h\ntests:\n"
			"  - interval: 1h\n    input_series:\n%s    promql_expr_test:\n%s",
			here, series, checks));
	struct output o = program("promtool", "test", "rules", path);
	expect_that(o.status == 0, "exit %d: %s%s", o.status, o.out, o.err);
}

#define FIRES(alert, at, n)                                                \
	"      - expr: 'count(ALERTS{alertname=\"" alert                   \
	"\",alertstate=\"firing\"}) or vector(0)'\n        eval_time: " at \
	"\n        exp_samples: [ { labels: \"{}\", value: " n " } ]\n"

SCENARIO("alerts tell of a certificate 14 days and 3 days before it ends, and when it has")
{
	expect_alerts(
		"      - series: 'twice_certificate_end_timestamp_seconds{name=\"a\",file=\"f\"}'\n"
		"        values: '1728000x600'\n", /* 20 days, and time begins at 0 */
		FIRES("TwiceCertificateEndsSoon", "5d",
		      "0") FIRES("TwiceCertificateEndsSoon", "7d",
				 "1") FIRES("TwiceCertificateEndsNow", "7d",
					    "0") FIRES("TwiceCertificateEndsSoon", "18d", "0")
			FIRES("TwiceCertificateEndsNow", "18d", "1")
				FIRES("TwiceCertificateExpired", "18d", "0")
					FIRES("TwiceCertificateEndsNow", "21d", "0")
						FIRES("TwiceCertificateExpired", "21d", "1"));
}

SCENARIO("alerts tell of a target that is down, if it was twice, and of a reload that was refused")
{
	expect_alerts("      - series: 'twice_build_info{job=\"j\",instance=\"i\",version=\"1\"}'\n"
		      "        values: '1x5 _x50'\n"
		      "      - series: 'up{job=\"j\",instance=\"i\"}'\n"
		      "        values: '1x5 0x50'\n"
		      "      - series: 'up{job=\"other\",instance=\"k\"}'\n"
		      "        values: '0x50'\n"
		      "      - series: 'twice_configuration_reload_refused{instance=\"i\"}'\n"
		      "        values: '0x5 1x20'\n",
		      FIRES("TwiceDown", "4h", "0") FIRES("TwiceDown", "8h", "1")
			      FIRES("TwiceReloadRefused", "4h", "0")
				      FIRES("TwiceReloadRefused", "8h", "1"));
}

SCENARIO("alerts tell of the engine of a fleet that is away, and of a node that is silent")
{
	expect_alerts("      - series: 'twice_fleet_engine_away{instance=\"i\"}'\n"
		      "        values: '0x5 1x20'\n"
		      "      - series: 'twice_fleet_members{instance=\"i\"}'\n"
		      "        values: '3x25'\n"
		      "      - series: 'twice_fleet_well{instance=\"i\"}'\n"
		      "        values: '3x9 2x20'\n",
		      FIRES("TwiceFleetEngineAway", "4h", "0")
			      FIRES("TwiceFleetEngineAway", "8h", "1")
				      FIRES("TwiceFleetNodeSilent", "8h", "0")
					      FIRES("TwiceFleetNodeSilent", "12h", "1"));
}

static double
certificate_end(const char *name, const char *file)
{
	return sample(text("twice_certificate_end_timestamp_seconds{name=\"%s\",file=\"%s\"}", name,
			   file));
}

SCENARIO("the end of each certificate that clients are shown is told, and how the last reload went")
{
	char *a = text("%s/a.pem", kit_dir()), *b = text("%s/b.pem", kit_dir());
	const char *yaml = "listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:0\" ]\n"
			   "tls: { certificates: [ %D/a.pem, %D/b.pem, %D/spare.pem ] }\n";
	time_t from = time(NULL);
	cert_write(a, .names = "a.example,www.a.example", .from_days = -1, .until_days = 10);
	cert_write(b, .names = "b.example", .from_days = -9, .until_days = -1);
	cert_write(text("%s/spare.pem", kit_dir()), .names = "a.example", .from_days = -9,
		   .until_days = 1);
	time_t to = time(NULL);
	edge_start_yaml(yaml);
	expect_between(certificate_end("a.example", a), (double)(from + 10 * 86400),
		       (double)(to + 10 * 86400));
	expect_between(certificate_end("b.example", b), (double)(from - 86400),
		       (double)(to - 86400));
	expect_that(!strstr(metrics(), "spare.pem"), "one that nobody is shown is told");
	double read = sample("twice_configuration_read_timestamp_seconds");
	expect_between(read, (double)from, (double)time(NULL));
	expect_int((int)sample("twice_configuration_reload_refused"), 0);
	edge_rewrite("no_such_setting: on\n");
	edge_signal(SIGHUP);
	wait_until((int)sample("twice_configuration_reload_refused") == 1);
	expect_that(sample("twice_configuration_read_timestamp_seconds") == read,
		    "it was not read");
	cert_write(b, .names = "b.example", .from_days = -1, .until_days = 90);
	edge_rewrite(yaml);
	edge_signal(SIGHUP);
	wait_until((int)sample("twice_configuration_reload_refused") == 0);
	expect(sample("twice_configuration_read_timestamp_seconds") >= read);
	expect(certificate_end("b.example", b) >= (double)(to + 90 * 86400));
}

SCENARIO("routes with a name are counted by it, over reloads, and go with it")
{
	by_http_only();
	const char *first = "routes:\n  - { path: /a/, name: one }\n  - { path: /b/, name: one }\n"
			    "  - { path: /c/, name: two, deny: any }\n  - { path: /d/ }\n";
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	edge_start_yaml(first);
	for (int i = 0; i < 3; i++) {
		get("/a/x");
		get("/b/x");
		get("/c/x");
		get("/d/x");
	}
	edge_expect_stat("connections.closed", 12);
	expect_int((int)sample("twice_route_requests_total{route=\"one\"}"), 6);
	expect_int((int)sample("twice_route_hits_total{route=\"one\"}"), 4);
	expect_int((int)sample("twice_route_body_bytes_total{route=\"one\"}"), 30);
	expect_int((int)sample("twice_route_responses_total{route=\"two\",code=\"4xx\"}"), 3);
	/* Another place and another name. */
	write_file(text("%s/twice.yaml", kit_dir()),
		   "routes:\n  - { path: /e/, name: three }\n  - { path: /b/, name: one }\n");
	edge_signal(SIGHUP);
	wait_until(edge_said("is read again"));
	get("/b/x");
	get("/e/x");
	wait_until((int)sample("twice_route_requests_total{route=\"three\"}") == 1 &&
		   (int)sample("twice_route_requests_total{route=\"one\"}") == 7);
	expect_int((int)sample("twice_route_requests_total{route=\"two\"}"), -1);
}

SCENARIO("numbers of routes that are gone are given again, and begin at nothing")
{
	by_http_only();
	origin_says("*", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	edge_start_yaml("routes: [ { path: /, name: r0 } ]\n");
	get("/x");
	for (int i = 1; i <= 6; i++) {
		char *yaml = text("routes:\n");
		for (int k = 0; k < 60; k++)
			yaml = text("%s  - { path: /%d/, name: r%d-%d }\n", yaml, k, i, k);
		write_file(text("%s/twice.yaml", kit_dir()), yaml);
		struct output o = program(edge_binary(), "reload", "--admin",
					  text("127.0.0.1:%u", edge_admin_port()));
		expect_that(o.status == 0, "%s%s", o.out, o.err);
		for (int k = 0; k < 60; k += 20) {
			expect_int((int)sample(text("twice_route_requests_total{route=\"r%d-%d\"}",
						    i, k)),
				   0);
			get(text("/%d/x", k));
			wait_until((int)sample(text("twice_route_requests_total{route=\"r%d-%d\"}",
						    i, k)) == 1);
		}
	}
}
