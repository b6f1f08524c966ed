/* The page in a real browser: what it shows, its lines, its errors, its contrast, its keys. */
#include "tests/kit/browser.h"
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <signal.h>
#include <sys/resource.h>

#define FRESH "Cache-Control: max-age=600\r\n"

/* ---- what is expected ------------------------------------------------------------------------ */

static void
ask_some(void)
{
	for (int i = 0; i < 8; i++)
		for (int k = 0; k <= i % 3; k++)
			get(text("/%d", i));
}

static void
open_dashboard(void)
{
	needs("chromium");
	origin_says("*", .fields = FRESH, .pattern_bytes = 30000);
	edge_start();
	ask_some();
	browser_open(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(browser_is("document.readyState === 'complete' && typeof last === 'object' && "
			      "history.n > 0"));
}

SCENARIO_IN(90, "the page shows what /stats says, and lines at once")
{
	open_dashboard();
	edge_expect_stat("requests.total", 15);
	wait_until(strstr(browser_words("total"), "15 since the start"));
	wait_until(browser_is("fetch('stats').then(a => a.json()).then(s => window.now = s), "
			      "window.now && window.now.requests.total === 15"));
	wait_until(browser_is("$('ratio').textContent === share(now.disk.saved_ratio) && "
			      "$('saved').textContent === bytes(now.disk.saved_bytes)"));
	expect(browser_is("$('hit').textContent === share(now.requests.hit_ratio)"));
	expect(browser_is("$('written').textContent === bytes(now.disk.written_bytes)"));
	expect(browser_is("$('baseline').textContent === bytes(now.disk.baseline_bytes)"));
	expect(browser_is("[...document.querySelectorAll('#requests tr')].some(r => "
			  "r.cells[0].textContent === 'RAM hits' && r.cells[1].textContent === "
			  "String(now.requests.ram_hits))"));
	expect(browser_is("$('who').textContent.includes(now.node.name) && "
			  "$('who').textContent.includes(now.version) && "
			  "$('who').textContent.includes(now.node.listen[0])"));
	wait_until(browser_is("history.rows.requests.some(v => v > 0)"));
	expect(browser_is("document.querySelectorAll('#charts svg').length >= 8"));
	wait_until(browser_is("document.querySelectorAll('#charts .line').length >= 5"));
	expect(browser_is("$('banner').dataset.level === 'ok'"));
	expect(strstr(browser_words("state"), "ok since ") != NULL && !*browser_words("reasons"));
	expect(strstr(browser_words("failedall"), "0 of 15 since the start") != NULL);
	expect(browser_is("$('fleetbox').hidden")); /* there is none */
	/* Of fifteen requests nobody knows what others would have made of them. */
	expect(strstr(browser_words("whatifoff"), "Not known yet") != NULL &&
	       !*browser_words("whatif"));
	browser_expect_no_errors();
}

SCENARIO("the page's policy allows no script and no style but in files of its own")
{
	edge_start();
	static const char *const paths[] = {"/", "/dashboard.css", "/dashboard.js"};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		struct client *c = client_open_to(edge_admin_port());
		client_send(c, text("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", paths[i]));
		struct answer a = client_read(c, "GET");
		expect_status(a, 200);
		const char *policy = field(a, "Content-Security-Policy");
		expect_that(policy && strstr(policy, "default-src 'none'") &&
				    !strstr(policy, "unsafe"),
			    "%s: %s", paths[i], policy ? policy : "no policy");
		expect(i > 0 || (!strstr(a.body, "style=") && !strstr(a.body, "<style") &&
				 !strstr(a.body, "onclick")));
	}
}

SCENARIO_IN(90, "the page is read in light and dark, wide and narrow, and with the keyboard alone")
{
	open_dashboard();
	static const int widths[] = {1280, 390, 320};
	for (int i = 0; i < 3; i++) {
		browser_set_width(widths[i], 900);
		expect_that(browser_is("document.documentElement.scrollWidth <= innerWidth"),
			    "%d pixels wide it scrolls sideways", widths[i]);
	}
	browser_expect_contrast("light");
	browser_expect_contrast("dark");
	for (int i = 0; i < 20 && !browser_is("document.activeElement.dataset.step === '10'"); i++)
		browser_press("Tab", 9);
	expect(browser_is("document.activeElement.dataset.step === '10'"));
	browser_press("Enter", 13);
	wait_until(browser_is("history.step === 10 && history.n > 0"));
	expect(browser_is("$('when').textContent === 'The last 2 hours'"));
	for (int i = 0; i < 20 && !browser_is("document.activeElement.tagName === 'svg'"); i++)
		browser_press("Tab", 9);
	expect(browser_is("document.activeElement.getAttribute('aria-label').length > 20"));
	browser_press("ArrowLeft", 37);
	expect(browser_is(
		"document.querySelector('.cursor').getAttribute('visibility') === 'visible'"));
	browser_expect_no_errors();
}

SCENARIO_IN(90, "a banner says that an origin is out, and that twice does not answer")
{
	needs("chromium");
	edge_yaml("origins:\n  - url: http://127.0.0.1:1\n");
	/* The page asks at that port when the proxy has ended. */
	edge_start("--admin", text("127.0.0.1:%u", edge_reserve_port()));
	for (int i = 0; i < 5; i++)
		get("/x");
	browser_open(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(browser_is(
		"document.readyState === 'complete' && !!document.querySelector('.dot.out')"));
	wait_until(browser_is("$('banner').dataset.level === 'failing'"));
	expect(strstr(browser_words("reasons"),
		      "the only server of origins fails: http://127.0.0.1:1 is failing "
		      "(connect-failed)") != NULL);
	wait_until(strcmp(browser_words("failed"), "100.0%") == 0);
	expect(browser_is("$('failedbox').classList.contains('bad')"));
	edge_stop();
	wait_until(strstr(browser_words("banner"), "does not answer") != NULL);
}

static void
limit_files(uint64_t bytes)
{
	struct rlimit r = {bytes, RLIM_INFINITY};
	expect(prlimit(edge_pid(), RLIMIT_FSIZE, &r, NULL) == 0);
}

SCENARIO_IN(90, "a banner says that a certificate ends soon, and that a reload was refused")
{
	needs("chromium");
	cert_write(text("%s/a.pem", kit_dir()), .names = "a.example", .from_days = -9,
		   .until_days = -1);
	cert_write(text("%s/b.pem", kit_dir()), .names = "b.example", .from_days = -9,
		   .until_days = 5);
	cert_write(text("%s/c.pem", kit_dir()), .names = "c.example");
	edge_start_yaml("listen: [ \"127.0.0.1:0\", \"https://127.0.0.1:0\" ]\n"
			"tls: { certificates: [ %D/a.pem, %D/b.pem, %D/c.pem ] }\n");
	browser_open(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(browser_is("document.getElementById('banner') !== null"));
	wait_until(strstr(browser_words("reasons"), "1 certificate has expired: a.example") !=
		   NULL);
	expect(strstr(browser_words("reasons"), "b.example") != NULL);
	expect(strstr(browser_words("reasons"), "c.example") == NULL);
	expect(browser_is("$('banner').dataset.level === 'degraded'"));
	edge_rewrite("no_such_setting: on\n");
	edge_signal(SIGHUP);
	wait_until(strstr(browser_words("reasons"), "the last reload was refused") != NULL);
}

SCENARIO_IN(90, "a banner says that the disk fails, until it works again")
{
	open_dashboard();
	expect_that(!*browser_words("reasons"), "the page warns of %s", browser_words("reasons"));
	limit_files(1);
	get("/new");
	get("/new");
	edge_wait_stat("disk.failing", 1);
	wait_until(strstr(browser_words("reasons"), "of the cache cannot be used") != NULL);
	limit_files(RLIM_INFINITY);
	/* A stored object says that the disk works again. */
	for (int i = 0; edge_stat("disk.failing") > 0; i++) {
		get(text("/new/%d", i));
		get(text("/new/%d", i));
	}
	wait_until(!*browser_words("reasons"));
}
