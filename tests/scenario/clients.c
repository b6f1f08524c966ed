/* Programs that people use, as they are: by TLS, HTTP/2, Unix sockets. Each is skipped where it is not
 * installed. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"
#include "tests/kit/uncoded.h"

#include <unistd.h>

enum { BYTES = 300000 };

static const char *
in_dir(const char *name)
{
	return text("%s/%s", kit_dir(), name);
}

static void
start(const char *tls)
{
	cert_write(in_dir("a.pem"), .names = "localhost");
	origin_says("/x", .fields = "Cache-Control: max-age=600\r\n", .body = "hello");
	origin_says("/big", .fields = "Cache-Control: max-age=600\r\n", .pattern_bytes = BYTES,
		    .seed = 3, .ranges = true, .etag = "\"1\"");
	edge_yaml(text("listen: [ \"https://127.0.0.1:0\", \"h2c://127.0.0.1:0\" ]\n"
		       "tls:\n  certificates: [ %%D/a.pem ]\n%s",
		       tls));
	edge_start();
}

static const char *
url_of(const char *scheme, unsigned port, const char *path)
{
	return text("%s://localhost:%u%s", scheme, port, path);
}

static char *
contents(const char *name, size_t *n)
{
	FILE *f = fopen(in_dir(name), "r");
	char *p = malloc(BYTES + 1);
	expect_that(f && p, "%s was not made", name);
	*n = f && p ? fread(p, 1, BYTES + 1, f) : 0;
	if (f)
		fclose(f);
	return p;
}

static void
expect_whole(const char *name)
{
	size_t n;
	char *p = contents(name, &n);
	expect_int((long long)n, BYTES);
	expect(is_pattern(p, 3, 0, BYTES));
}

/* ---- clients ------------------------------------------------------------------------------- */

SCENARIO("curl, by HTTP/2 and HTTP/1.1, whole and in two parts")
{
	needs("curl");
	start("");
	const char *big = url_of("https", edge_port(), "/big");
	static const char *const versions[] = {"--http1.1", "--http2"};
	for (int i = 0; i < 2; i++) {
		const char *ca = in_dir("a.pem"), *to = in_dir("out");
		unlink(to);
		struct output first = program("curl", "-sS", "--fail", versions[i], "--cacert", ca,
					      "-r", "0-99999", "-o", to, big);
		expect_that(first.status == 0, "first part: %s", first.err);
		struct output rest = program("curl", "-sS", "--fail", versions[i], "--cacert", ca,
					     "-C", "-", "-o", to, big);
		expect_that(rest.status == 0, "rest: %s", rest.err);
		expect_whole("out");
	}
	edge_expect_stat("tls.h2", 2);
}

SCENARIO("wget")
{
	needs("wget");
	start("");
	struct output o = program("wget", "-q", text("--ca-certificate=%s", in_dir("a.pem")), "-O",
				  in_dir("out"), url_of("https", edge_port(), "/big"));
	expect_that(o.status == 0, "wget: %s", o.err);
	expect_whole("out");
}

SCENARIO("aria2c, by four connections at once")
{
	needs("aria2c");
	start("");
	struct output o = program("aria2c", "-q", "--no-conf", "-x4", "-s4", "-k", "64K",
				  "--min-split-size=65536", "--file-allocation=none",
				  text("--ca-certificate=%s", in_dir("a.pem")), "-d", kit_dir(),
				  "-o", "out", url_of("https", edge_port(), "/big"));
	if (o.status == 28) /* of versions that know no split so small */
		o = program("aria2c", "-q", "--no-conf", "-x4", "-s4",
			    text("--ca-certificate=%s", in_dir("a.pem")), "-d", kit_dir(), "-o",
			    "out", url_of("https", edge_port(), "/big"));
	expect_that(o.status == 0, "aria2c: %d %s %s", o.status, o.out, o.err);
	expect_whole("out");
}

SCENARIO("nghttp, by TLS and with prior knowledge, many requests on a connection")
{
	needs("nghttp");
	start("");
	struct output tls = program("nghttp", "--no-verify-peer", "-m", "50",
				    url_of("https", edge_port(), "/x"));
	expect_that(tls.status == 0 && strstr(tls.out, "hello"), "nghttp: %s %s", tls.out, tls.err);
	struct output plain = program("nghttp", "-y", url_of("http", edge_h2_port(), "/x"));
	expect_that(plain.status == 0 && strstr(plain.out, "hello"), "nghttp: %s %s", plain.out,
		    plain.err);
	edge_expect_stat("http2.requests", 51);
}

SCENARIO("h2load: all requests succeed, over TLS and without")
{
	needs("h2load");
	start("");
	const char *urls[] = {url_of("https", edge_port(), "/big"),
			      url_of("http", edge_h2_port(), "/x")};
	for (int i = 0; i < 2; i++) {
		struct output o = program("h2load", "-n200", "-c4", "-m10", urls[i]);
		expect_that(strstr(o.out, "200 succeeded, 0 failed, 0 errored"), "h2load: %s %s",
			    o.out, o.err);
	}
	edge_expect_stat("http2.ended_resets", 0);
	edge_expect_stat("http2.ended_frames", 0);
}

/* Debian's, which has the packages; another may come first on PATH. */
static struct output
python(const char *script, const char *first, const char *second, const char *third)
{
	if (access("/usr/bin/python3", X_OK))
		skip("there is no /usr/bin/python3");
	return program("/usr/bin/python3", "-c", script, first, second, third);
}

static const char httpx_script[] =
	"import sys\n"
	"try:\n"
	"    import asyncio, httpx, h2\n"
	"except ImportError as e:\n"
	"    print(e); sys.exit(77)\n"
	"async def main():\n"
	"    async with httpx.AsyncClient(http2=True, verify=sys.argv[2]) as c:\n"
	"        url = sys.argv[1]\n"
	"        got = await asyncio.gather(*[c.get(url + 'big') for _ in range(50)])\n"
	"        assert all(r.status_code == 200 and r.http_version == 'HTTP/2' and\n"
	"                   r.content == got[0].content for r in got)\n"
	"        async def body():\n"
	"            for _ in range(20):\n"
	"                yield b'x' * 10000\n"
	"        r = await c.post(url + 'up', content=body())\n"
	"        assert r.status_code == 200 and r.text == 'taken', r\n"
	"        print(len(got[0].content))\n"
	"asyncio.run(main())\n";

SCENARIO("httpx: fifty requests at once by HTTP/2, and an upload that is answered")
{
	origin_says("/up", .body = "taken");
	start("");
	struct output o =
		python(httpx_script, url_of("https", edge_port(), "/"), in_dir("a.pem"), NULL);
	if (o.status == 77)
		skip("%s", o.out);
	expect_that(o.status == 0 && atoi(o.out) == BYTES, "httpx: %s %s", o.out, o.err);
	edge_expect_stat("tls.h2", 1);
	edge_expect_stat("http2.requests", 51);
}

static const char grpc_script[] =
	"import socket, ssl, sys, threading\n"
	"try:\n"
	"    import h2.connection, h2.events, h2.config\n"
	"except ImportError as e:\n"
	"    print(e); sys.exit(77)\n"
	"proxy, at, rounds = (int(a) for a in sys.argv[1:4])\n"
	"\n"
	"def serve(c):\n"
	"    f = c.makefile('rb')\n"
	"    while f.readline() not in (b'\\r\\n', b''):\n"
	"        pass\n"
	"    c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Type: application/grpc\\r\\n'\n"
	"              b'Transfer-Encoding: chunked\\r\\n\\r\\n')\n"
	"    while (n := int(f.readline() or b'0', 16)):\n"
	"        c.sendall(b'%x\\r\\n%s\\r\\n' % (n, f.read(n)))\n"
	"        f.readline()\n"
	"    c.sendall(b'0\\r\\ngrpc-status: 0\\r\\ngrpc-message: done\\r\\n\\r\\n')\n"
	"    c.close()\n"
	"\n"
	"def origin(s):\n"
	"    while True:\n"
	"        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()\n"
	"\n"
	"threading.Thread(target=origin, args=(socket.create_server(('127.0.0.1', at)),), "
	"daemon=True).start()\n"
	"ctx = ssl._create_unverified_context()\n"
	"ctx.set_alpn_protocols(['h2'])\n"
	"s = ctx.wrap_socket(socket.create_connection(('127.0.0.1', proxy)), server_hostname='localhost')\n"
	"c = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding='utf-8'))\n"
	"seen, ends, status = {}, {}, {}\n"
	"\n"
	"def until(cond):\n"
	"    while not cond():\n"
	"        s.sendall(c.data_to_send())\n"
	"        d = s.recv(65536)\n"
	"        if not d:\n"
	"            sys.exit('closed')\n"
	"        for e in c.receive_data(d):\n"
	"            if isinstance(e, h2.events.ResponseReceived):\n"
	"                status[e.stream_id] = dict(e.headers)[':status']\n"
	"            if isinstance(e, h2.events.DataReceived):\n"
	"                seen[e.stream_id] = seen.get(e.stream_id, b'') + e.data\n"
	"                c.acknowledge_received_data(e.flow_controlled_length, e.stream_id)\n"
	"            if isinstance(e, h2.events.TrailersReceived):\n"
	"                ends[e.stream_id] = dict(e.headers)\n"
	"            if isinstance(e, (h2.events.StreamReset, h2.events.ConnectionTerminated)):\n"
	"                sys.exit(repr(e))\n"
	"\n"
	"c.initiate_connection()\n"
	"calls = [1, 3, 5]\n"
	"for i in calls:\n"
	"    c.send_headers(i, [(':method', 'POST'), (':scheme', 'https'), (':authority', 'localhost'),\n"
	"                       (':path', '/pkg.Service/Chat'), ('te', 'trailers'),\n"
	"                       ('content-type', 'application/grpc')])\n"
	"want = b''\n"
	"for k in range(rounds):\n"
	"    m = b'\\0\\0\\0\\0\\5m%04d' % k\n"
	"    want += m\n"
	"    for i in calls:\n"
	"        c.send_data(i, m)\n"
	"    until(lambda: all(seen.get(i) == want for i in calls))\n"
	"for i in calls:\n"
	"    c.end_stream(i)\n"
	"until(lambda: len(ends) == 3)\n"
	"assert all(status[i] == '200' and ends[i]['grpc-status'] == '0' for i in calls), (status, ends)\n"
	"print('done')\n";

SCENARIO("calls in the manner of gRPC: each message is answered before the next, then trailers")
{
	unsigned at = edge_reserve_port();
	cert_write(in_dir("a.pem"), .names = "localhost");
	edge_yaml(text("listen: [ \"https://127.0.0.1:0\" ]\n"
		       "origins: [ { url: \"http://127.0.0.1:%u\" } ]\n"
		       "tls: { certificates: [ %%D/a.pem ] }\n"
		       "routes: [ { path: /pkg.Service/, stream: on } ]\n",
		       at));
	edge_start();
	struct output o = python(grpc_script, text("%u", edge_port()), text("%u", at), "200");
	if (o.status == 77)
		skip("%s", o.out);
	expect_that(o.status == 0 && strstr(o.out, "done"), "h2: %s %s", o.out, o.err);
	edge_expect_stat("connections.too_slow", 0);
	edge_expect_stat("http2.ended_frames", 0);
}

static struct output
chromium(int profile, const char *url)
{
	return program("chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
		       "--disable-dev-shm-usage", "--ignore-certificate-errors",
		       "--disable-background-networking", "--disable-component-update",
		       "--no-first-run", text("--user-data-dir=%s/chromium%d", kit_dir(), profile),
		       "--dump-dom", url);
}

/* It counts its images when all are there. */
static void
say_page(int images)
{
	origin_says(
		"/page", .fields = "Content-Type: text/html\r\nCache-Control: max-age=600\r\n",
		.body = text("<!doctype html><title>x</title><body onload=\"var n = 0;"
			     "for (var i of document.images) n += i.naturalWidth == 8;"
			     "document.title = 'shows ' + n\"><script>for (var i = 0; i < %d; i++)"
			     "document.write('<img src=/i/' + i + '>')</script></body>",
			     images));
	for (int i = 0; i < images; i++)
		origin_says(
			text("/i/%d", i),
			.fields = "Content-Type: image/svg+xml\r\nCache-Control: max-age=600\r\n",
			.body = "<svg xmlns='http://www.w3.org/2000/svg' width='8' height='8'/>");
}

SCENARIO_IN(120, "Chromium: a page with many images by HTTP/2, from the origin and from the cache")
{
	enum { IMAGES = 120 };
	needs("chromium");
	say_page(IMAGES);
	start("");
	for (int i = 0; i < 2; i++) {
		struct output o = chromium(i, url_of("https", edge_port(), "/page"));
		expect_that(strstr(o.out, text("<title>shows %d</title>", IMAGES)),
			    "chromium: %.2000s %.2000s", o.out, o.err);
	}
	edge_wait_stat("http2.requests", 2 * (IMAGES + 1));
	expect(edge_stat("tls.h2") >= 2);
	edge_wait_stat("requests.hits", IMAGES + 1);
	edge_expect_stat("http2.ended_resets", 0);
	edge_expect_stat("http2.ended_frames", 0);
}

/* ---- a page that lies here packed ----------------------------------------------------------- */

/* The bytes that came by the wire; what curl made of them is in "out". */
static long long
curl(const char *how, const char *url)
{
	unlink(in_dir("out"));
	struct output o = program("curl", "-sS", "--fail", "--cacert", in_dir("a.pem"), how, "-w",
				  "%{size_download}", "-o", in_dir("out"), url);
	expect_that(o.status == 0, "curl %s: %s", how, o.err);
	return atoll(o.out);
}

static void
wget(const char *how, const char *url)
{
	unlink(in_dir("out"));
	struct output o = program("wget", "-q", text("--ca-certificate=%s", in_dir("a.pem")), how,
				  "-O", in_dir("out"), url);
	expect_that(o.status == 0, "wget %s: %s", how, o.err);
}

static void
expect_page(const char *p, size_t bytes)
{
	size_t n;
	char *out = contents("out", &n);
	expect_int((long long)n, (long long)bytes);
	expect(memcmp(out, p, bytes) == 0);
	free(out);
}

SCENARIO_IN(120, "curl, wget and Chromium read a page that lies here packed, each in its way")
{
	needs("curl");
	needs("wget");
	needs("chromium");
	const char *page =
		text("<!doctype html><title>x</title><body onload=\"document.title = 'shows ' + "
		     "document.querySelectorAll('li').length\">%s",
		     uncoded_page(40000));
	int items = 0;
	for (const char *at = page; (at = strstr(at, "<li ")); at++)
		items++;
	origin_says("/p", .fields = "Content-Type: text/html\r\nCache-Control: max-age=600\r\n",
		    .body = page, .etag = "\"p\"");
	start("");
	const char *url = url_of("https", edge_port(), "/p");
	long long all = (long long)strlen(page);
	curl("--http2", url);
	wait_until(curl("--compressed", url) < all / 3);
	expect_page(page, (size_t)all);
	expect_int(curl("--http1.1", url), all);
	expect_page(page, (size_t)all);
	static const char *const ways[] = {"--compression=none", "--compression=auto"};
	for (int i = 0; i < 2; i++) {
		wget(ways[i], url);
		expect_page(page, (size_t)all);
	}
	struct output o = chromium(0, url);
	expect_that(strstr(o.out, text("<title>shows %d</title>", items)),
		    "chromium: %.2000s %.2000s", o.out, o.err);
	expect_int((long long)edge_stat("packing.packed"), 1);
	origin_expect_requests_for("/p", 1);
}

/* ---- TLS, in the manner of testssl.sh ------------------------------------------------------- */

static struct output
s_client(const char *a, const char *b, const char *c)
{
	return program("openssl", "s_client", "-connect", text("127.0.0.1:%u", edge_port()), a, b,
		       c);
}

static bool
is_refused(struct output o)
{
	return strstr(o.out, "Cipher is (NONE)") != NULL;
}

/* The client's own library has none of them: it did not ask. */
static bool
is_unknown(struct output o)
{
	return strstr(o.err, "no cipher match") != NULL;
}

SCENARIO("what testssl.sh asks for: old versions, weak ciphers and compression are refused")
{
	needs("openssl");
	start("");
	static const char *const weak[] = {
		"aNULL:eNULL@SECLEVEL=0", "RC4:3DES:SEED:IDEA:CAMELLIA@SECLEVEL=0",
		"kRSA@SECLEVEL=0",	  "PSK:SRP@SECLEVEL=0",
		"kDHE:aDSS@SECLEVEL=0",	  "SHA1:SHA256@SECLEVEL=0", /* as MAC: CBC */
	};
	for (size_t i = 0; i < sizeof weak / sizeof *weak; i++) {
		struct output o = s_client("-tls1_2", "-cipher", weak[i]);
		expect_that(is_refused(o) || is_unknown(o), "offered: %s", weak[i]);
	}
	expect(!is_refused(s_client("-tls1_2", "-cipher", "ECDHE+AESGCM")));
	static const char *const old[] = {"-tls1", "-tls1_1"};
	for (size_t i = 0; i < sizeof old / sizeof *old; i++)
		expect_that(is_refused(s_client(old[i], "-cipher", "ALL@SECLEVEL=0")), "spoken: %s",
			    old[i]);
	struct output o = s_client("-tls1_2", "-comp", "-status");
	expect_that(strstr(o.out, "Compression: NONE"), "compression: %s", o.out);
	expect_that(strstr(o.out, "Secure Renegotiation IS supported"), "RFC 5746: %s", o.out);
	expect_that(strstr(o.out, "Extended master secret: yes"), "RFC 7627: %s", o.out);
	expect_that(!strstr(o.out, "heartbeat"), "heartbeats: %s", o.out);
	expect_that(strstr(o.out, "TLS session ticket:"), "ticket: %s", o.out);
	/* No worker keeps sessions: without a ticket nothing can be resumed. */
	struct output id = s_client("-tls1_2", "-no_ticket", "-status");
	expect_that(strstr(id.out, "Session-ID: \n"), "session ID: %s", id.out);
}

/* Debian's package testssl.sh; its own openssl would be another one. */
SCENARIO_IN(240, "testssl.sh itself finds nothing that is not well (TWICE_LONG)")
{
	if (!kit_long())
		skip("TWICE_LONG=1 runs it: it takes a minute or two");
	needs("testssl");
	start("");
	struct output o = program("testssl", "--openssl=/usr/bin/openssl", "--quiet", "--color",
				  "0", "--warnings", "off", "-p", "-s", "-f", "-P", "-U",
				  text("127.0.0.1:%u", edge_port()));
	static const char *const well[] = {
		"TLS 1.1    not offered",	    "TLS 1.3    offered (OK)",
		"Strong encryption (AEAD ciphers)", "Has server cipher order?     yes (OK)",
		"Secure Renegotiation (RFC 5746)",  "LUCKY13 (CVE-2013-0169)",
	};
	for (size_t i = 0; i < sizeof well / sizeof *well; i++)
		expect_that(strstr(o.out, well[i]), "\"%s\" is missing: %s", well[i], o.out);
	expect_that(!strstr(o.out, "NOT ok") && !strstr(o.out, "VULNERABLE"), "%s", o.out);
}

SCENARIO("a client that falls back to an older version than both know is refused (RFC 7507)")
{
	needs("openssl");
	start("");
	struct output o = s_client("-tls1_2", "-fallback_scsv", "-quiet");
	expect_that(strstr(o.err, "inappropriate fallback"), "fallback: %s", o.err);
	expect(is_refused(s_client("-tls1_2", "-fallback_scsv", "-status")));
}

SCENARIO("no ticket invites to early data, and what is sent early is no request (RFC 8470)")
{
	needs("openssl");
	start("");
	const char *port = text("127.0.0.1:%u", edge_port());
	struct output first = program(
		"sh", "-c",
		text("printf 'GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' | "
		     "openssl s_client -tls1_3 -connect %s -sess_out %s -ign_eof",
		     port, in_dir("session")));
	expect_that(strstr(first.out, "Max Early Data: 0") && strstr(first.out, "hello"), "%s",
		    first.out);
	FILE *f = fopen(in_dir("early"), "w");
	expect(f && fputs("GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n", f) > 0 && fclose(f) == 0);
	struct output o = program("openssl", "s_client", "-tls1_3", "-connect", port, "-sess_in",
				  in_dir("session"), "-early_data", in_dir("early"));
	expect_that(strstr(o.out, "Reused, TLSv1.3") && strstr(o.out, "Early data was not sent"),
		    "%s", o.out);
	origin_expect_requests(1);
}

SCENARIO("tls.min_version: 1.3 refuses 1.2")
{
	needs("openssl");
	start("  min_version: \"1.3\"\n");
	expect(is_refused(s_client("-tls1_2", "-cipher", "ALL@SECLEVEL=0")));
	expect(!is_refused(s_client("-tls1_3", "-status", "-showcerts")));
}
