/* The page in a real browser: what it shows, its lines, its errors, its contrast, its keys.
 *
 * Chromium is asked through its DevTools protocol: JSON messages in WebSocket frames (RFC 6455).
 */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRESH "Cache-Control: max-age=600\r\n"

static struct {
	pid_t pid;
	int fd;
	int last_id;
	char *errors; /* what the console said */
} browser;

/* ---- WebSocket ------------------------------------------------------------------------------- */

static void
receive(void *to, size_t n)
{
	for (size_t got = 0; got < n;) {
		struct pollfd p = {browser.fd, POLLIN, 0};
		expect_that(poll(&p, 1, KIT_FOREVER) == 1, "the browser says nothing");
		ssize_t part = read(browser.fd, (char *)to + got, n - got);
		expect_that(part > 0, "the browser hung up");
		got += (size_t)part;
	}
}

static void
put(const void *p, size_t n)
{
	expect(write(browser.fd, p, n) == (ssize_t)n);
}

/* One frame of text, masked with zeros as a client must. */
static void
send_frame(const char *message)
{
	size_t n = strlen(message);
	unsigned char head[14] = {0x81, n < 126 ? 0x80 | (unsigned char)n : 0x80 | 127};
	size_t used = 2;
	for (int shift = 56; n >= 126 && shift >= 0; shift -= 8)
		head[used++] = (unsigned char)(n >> shift);
	put(head, used + 4);
	put(message, n);
}

static char *
receive_message(void)
{
	char *all = NULL;
	size_t n = 0;
	for (unsigned char head[2] = {0}; !(head[0] & 0x80);) {
		receive(head, 2);
		size_t more = head[1] & 127;
		unsigned char length[8];
		if (more >= 126) {
			size_t bytes = more == 126 ? 2 : 8;
			receive(length, bytes);
			more = 0;
			for (size_t i = 0; i < bytes; i++)
				more = more << 8 | length[i];
		}
		all = realloc(all, n + more + 1);
		receive(all + n, more);
		n += more;
	}
	all[n] = '\0';
	return all;
}

/* ---- DevTools -------------------------------------------------------------------------------- */

static void
note_errors(json_t *message)
{
	const char *method = json_string_value(json_object_get(message, "method"));
	json_t *params = json_object_get(message, "params");
	const char *level =
		json_string_value(json_object_get(json_object_get(params, "entry"), "level"));
	if (!method || (strcmp(method, "Runtime.exceptionThrown") != 0 &&
			!(strcmp(method, "Log.entryAdded") == 0 && strcmp(level, "error") == 0)))
		return;
	browser.errors = text("%s%s\n", browser.errors, json_dumps(params, 0));
}

/* Asks, and waits for the answer; what else is said meanwhile is looked through for errors. */
static json_t *
devtools(const char *method, json_t *params)
{
	json_t *question = json_pack("{s:i, s:s, s:o}", "id", ++browser.last_id, "method", method,
				     "params", params ? params : json_object());
	send_frame(json_dumps(question, JSON_COMPACT));
	for (;;) {
		json_t *message = json_loads(receive_message(), 0, NULL);
		expect_that(message != NULL, "the browser does not speak JSON");
		note_errors(message);
		if (json_integer_value(json_object_get(message, "id")) == browser.last_id) {
			expect_that(!json_object_get(message, "error"), "%s: %s", method,
				    json_dumps(message, 0));
			return json_object_get(message, "result");
		}
	}
}

/* The value of an expression in the page. */
static json_t *
value(const char *expression)
{
	json_t *result = devtools("Runtime.evaluate", json_pack("{s:s, s:b}", "expression",
								expression, "returnByValue", 1));
	expect_that(!json_object_get(result, "exceptionDetails"), "%s: %s", expression,
		    json_dumps(result, 0));
	return json_object_get(json_object_get(result, "result"), "value");
}

static bool
is_true(const char *expression)
{
	return json_is_true(value(expression));
}

static const char *
words(const char *id)
{
	return json_string_value(value(text("document.getElementById('%s').textContent", id)));
}

/* ---- the browser ----------------------------------------------------------------------------- */

static void
end_browser(void)
{
	if (browser.pid > 0) {
		kill(-browser.pid, SIGKILL);
		waitpid(browser.pid, NULL, 0);
	}
}

/* On its first line, when that is there. */
static unsigned
number_in(const char *file)
{
	unsigned n = 0;
	FILE *f = fopen(file, "r");
	if (f && fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* The port is the first line of a file in its profile. */
static unsigned
start_browser(void)
{
	char *profile = text("%s/browser", kit_dir());
	char *file = text("%s/DevToolsActivePort", profile);
	unsigned port = 0;
	browser.errors = text("%s", "");
	browser.pid = fork();
	if (browser.pid == 0) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the scenario fails */
		FILE *quiet = freopen("/dev/null", "w", stderr);
		quiet = freopen("/dev/null", "w", stdout);
		execlp("chromium", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
		       "--disable-dev-shm-usage", "--remote-debugging-port=0",
		       text("--user-data-dir=%s", profile), "about:blank", NULL);
		_exit(quiet ? 127 : 126);
	}
	setpgid(browser.pid, browser.pid);
	atexit(end_browser);
	wait_until(access(file, R_OK) == 0);
	wait_until((port = number_in(file)) > 0);
	return port;
}

static void
open_page(const char *url)
{
	unsigned port = start_browser();
	struct client *c = client_open_to(port);
	client_send(c, text("GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port));
	json_t *pages = json_loads(client_try(c, "GET").body, 0, NULL);
	const char *at = NULL;
	for (size_t i = 0; i < json_array_size(pages) && !at; i++) {
		json_t *page = json_array_get(pages, i);
		if (strcmp(json_string_value(json_object_get(page, "type")), "page") == 0)
			at = json_string_value(json_object_get(page, "webSocketDebuggerUrl"));
	}
	expect_that(at != NULL, "the browser has no page");
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	browser.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	expect(connect(browser.fd, (struct sockaddr *)&sa, sizeof sa) == 0);
	char *hello = text("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\n"
			   "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
			   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
			   strchr(at + 5, '/'), port);
	put(hello, strlen(hello));
	for (char tail[4] = ""; memcmp(tail, "\r\n\r\n", 4) != 0; receive(tail + 3, 1))
		memmove(tail, tail + 1, 3);
	devtools("Runtime.enable", NULL);
	devtools("Log.enable", NULL);
	devtools("Page.enable", NULL);
	devtools("Page.navigate", json_pack("{s:s}", "url", url));
}

static void
set_width(int width, int height)
{
	devtools("Emulation.setDeviceMetricsOverride",
		 json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height,
			   "deviceScaleFactor", 1, "mobile", 0));
}

static void
press(const char *key, int code)
{
	const char *const types[] = {"keyDown", "keyUp"};
	for (int i = 0; i < 2; i++)
		devtools("Input.dispatchKeyEvent",
			 json_pack("{s:s, s:s, s:s, s:i, s:s}", "type", types[i], "key", key,
				   "code", key, "windowsVirtualKeyCode", code, "text",
				   i == 0 && code == 13 ? "\r" : ""));
}

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
	open_page(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(is_true("document.readyState === 'complete' && typeof last === 'object' && "
			   "history.n > 0"));
}

/* All that is written is told apart from what is behind it: 4.5 to 1 (WCAG 2.1, 1.4.3). */
static const char contrast[] =
	"(() => { const lum = c => { const [r, g, b] = c.map(v => { v /= 255; return v <= .03928 ? v "
	"/ 12.92 : Math.pow((v + .055) / 1.055, 2.4) }); return .2126 * r + .7152 * g + .0722 * b };"
	"const parse = s => s.match(/[\\d.]+/g).map(Number);"
	"const behind = e => { for (; e; e = e.parentElement) { const c = "
	"parse(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > .99) return c } "
	"return [255, 255, 255] };"
	"const bad = []; for (const e of document.querySelectorAll('body *')) {"
	"if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || "
	"!e.getClientRects().length || e.closest('script')) continue;"
	"const s = getComputedStyle(e); const f = lum(parse(e.closest('svg') ? s.fill : "
	"s.color).slice(0, 3)), b = lum(behind(e.closest('svg') ? e.closest('.card') : "
	"e).slice(0, 3));"
	"const k = (Math.max(f, b) + .05) / (Math.min(f, b) + .05); if (k < 4.5) bad.push(e.tagName + "
	"' ' + k.toFixed(2) + ' ' + e.textContent.slice(0, 30)) } return bad.join('; ') })()";

static void
expect_contrast(const char *scheme)
{
	devtools("Emulation.setEmulatedMedia", json_pack("{s:[{s:s, s:s}]}", "features", "name",
							 "prefers-color-scheme", "value", scheme));
	const char *bad = json_string_value(value(contrast));
	expect_that(bad && !*bad, "%s: too little contrast: %s", scheme, bad);
}

SCENARIO_IN(90, "the page shows what /stats says, and lines at once")
{
	open_dashboard();
	edge_expect_stat("requests.total", 15);
	wait_until(strstr(words("total"), "15 since the start"));
	wait_until(is_true("fetch('stats').then(a => a.json()).then(s => window.now = s), "
			   "window.now && window.now.requests.total === 15"));
	wait_until(is_true("$('ratio').textContent === share(now.disk.saved_ratio) && "
			   "$('saved').textContent === bytes(now.disk.saved_bytes)"));
	expect(is_true("$('hit').textContent === share(now.requests.hit_ratio)"));
	expect(is_true("$('written').textContent === bytes(now.disk.written_bytes)"));
	expect(is_true("$('baseline').textContent === bytes(now.disk.baseline_bytes)"));
	expect(is_true("[...document.querySelectorAll('#requests tr')].some(r => "
		       "r.cells[0].textContent === 'RAM hits' && r.cells[1].textContent === "
		       "String(now.requests.ram_hits))"));
	expect(is_true("$('who').textContent.includes(now.node.name) && "
		       "$('who').textContent.includes(now.version) && "
		       "$('who').textContent.includes(now.node.listen[0])"));
	wait_until(is_true("history.rows.requests.some(v => v > 0)"));
	expect(is_true("document.querySelectorAll('#charts svg').length >= 8"));
	wait_until(is_true("document.querySelectorAll('#charts .line').length >= 5"));
	expect(is_true("$('banner').dataset.level === 'ok'"));
	expect(strstr(words("state"), "ok since ") != NULL && !*words("reasons"));
	expect(strstr(words("failedall"), "0 of 15 since the start") != NULL);
	/* Of fifteen requests nobody knows what others would have made of them. */
	expect(strstr(words("whatifoff"), "Not known yet") != NULL && !*words("whatif"));
	expect_that(!*browser.errors, "the console says: %s", browser.errors);
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
		set_width(widths[i], 900);
		expect_that(is_true("document.documentElement.scrollWidth <= innerWidth"),
			    "%d pixels wide it scrolls sideways", widths[i]);
	}
	expect_contrast("light");
	expect_contrast("dark");
	for (int i = 0; i < 20 && !is_true("document.activeElement.dataset.step === '10'"); i++)
		press("Tab", 9);
	expect(is_true("document.activeElement.dataset.step === '10'"));
	press("Enter", 13);
	wait_until(is_true("history.step === 10 && history.n > 0"));
	expect(is_true("$('when').textContent === 'The last 2 hours'"));
	for (int i = 0; i < 20 && !is_true("document.activeElement.tagName === 'svg'"); i++)
		press("Tab", 9);
	expect(is_true("document.activeElement.getAttribute('aria-label').length > 20"));
	press("ArrowLeft", 37);
	expect(is_true(
		"document.querySelector('.cursor').getAttribute('visibility') === 'visible'"));
	expect_that(!*browser.errors, "the console says: %s", browser.errors);
}

SCENARIO_IN(90, "a banner says that an origin is out, and that twice does not answer")
{
	needs("chromium");
	edge_yaml("origins:\n  - url: http://127.0.0.1:1\n");
	edge_start();
	for (int i = 0; i < 5; i++)
		get("/x");
	open_page(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(is_true(
		"document.readyState === 'complete' && !!document.querySelector('.dot.out')"));
	wait_until(is_true("$('banner').dataset.level === 'failing'"));
	expect(strstr(words("reasons"),
		      "the only server of origins fails: http://127.0.0.1:1 is failing "
		      "(connect-failed)") != NULL);
	wait_until(strcmp(words("failed"), "100.0%") == 0);
	expect(is_true("$('failedbox').classList.contains('bad')"));
	edge_stop();
	wait_until(strstr(words("banner"), "does not answer") != NULL);
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
	open_page(text("http://127.0.0.1:%u/", edge_admin_port()));
	wait_until(is_true("document.getElementById('banner') !== null"));
	wait_until(strstr(words("reasons"), "1 certificate has expired: a.example") != NULL);
	expect(strstr(words("reasons"), "b.example") != NULL);
	expect(strstr(words("reasons"), "c.example") == NULL);
	expect(is_true("$('banner').dataset.level === 'degraded'"));
	edge_rewrite("no_such_setting: on\n");
	edge_signal(SIGHUP);
	wait_until(strstr(words("reasons"), "the last reload was refused") != NULL);
}

SCENARIO_IN(90, "a banner says that the disk fails, until it works again")
{
	open_dashboard();
	expect_that(!*words("reasons"), "the page warns of %s", words("reasons"));
	limit_files(1);
	get("/new");
	get("/new");
	edge_wait_stat("disk.failing", 1);
	wait_until(strstr(words("reasons"), "of the cache cannot be used") != NULL);
	limit_files(RLIM_INFINITY);
	/* A stored object says that the disk works again. */
	for (int i = 0; edge_stat("disk.failing") > 0; i++) {
		get(text("/new/%d", i));
		get(text("/new/%d", i));
	}
	wait_until(!*words("reasons"));
}
