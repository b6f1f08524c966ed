/* Programs that people use, as they are: by TLS, HTTP/2, Unix sockets. Each is skipped where it is not
 * installed. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

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
	expect(memcmp(p, pattern(3, BYTES), BYTES) == 0);
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

SCENARIO("a client that falls back to an older version than both know is refused (RFC 7507)")
{
	needs("openssl");
	start("");
	struct output o = s_client("-tls1_2", "-fallback_scsv", "-quiet");
	expect_that(strstr(o.err, "inappropriate fallback"), "fallback: %s", o.err);
	expect(is_refused(s_client("-tls1_2", "-fallback_scsv", "-status")));
}

SCENARIO("tls.min_version: 1.3 refuses 1.2")
{
	needs("openssl");
	start("  min_version: \"1.3\"\n");
	expect(is_refused(s_client("-tls1_2", "-cipher", "ALL@SECLEVEL=0")));
	expect(!is_refused(s_client("-tls1_3", "-status", "-showcerts")));
}
