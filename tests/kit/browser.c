/* browser.c - Chromium by its DevTools protocol: JSON messages in WebSocket frames (RFC 6455). */
#include "tests/kit/browser.h"

#include "tests/kit/kit.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool
browser_is(const char *expression)
{
	return json_is_true(value(expression));
}

const char *
browser_words(const char *id)
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

void
browser_open(const char *url)
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

void
browser_set_width(int width, int height)
{
	devtools("Emulation.setDeviceMetricsOverride",
		 json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", height,
			   "deviceScaleFactor", 1, "mobile", 0));
}

void
browser_press(const char *key, int code)
{
	const char *const types[] = {"keyDown", "keyUp"};
	for (int i = 0; i < 2; i++)
		devtools("Input.dispatchKeyEvent",
			 json_pack("{s:s, s:s, s:s, s:i, s:s}", "type", types[i], "key", key,
				   "code", key, "windowsVirtualKeyCode", code, "text",
				   i == 0 && code == 13 ? "\r" : ""));
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

void
browser_expect_contrast(const char *scheme)
{
	devtools("Emulation.setEmulatedMedia", json_pack("{s:[{s:s, s:s}]}", "features", "name",
							 "prefers-color-scheme", "value", scheme));
	const char *bad = json_string_value(value(contrast));
	expect_that(bad && !*bad, "%s: too little contrast: %s", scheme, bad);
}

void
browser_expect_no_errors(void)
{
	expect_that(!*browser.errors, "the console says: %s", browser.errors);
}
