/* tls.kernel: auto, where the kernel has TLS and where it has none. tests/kernel_tls.sh runs this, and
 * other scenarios, in a virtual machine with a kernel that has it. */
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { BYTES = 3500000 };

/* A large body on disk, of which nothing is in memory. */
static void
start(const char *more)
{
	const char *cert = text("%s/a.pem", kit_dir());
	cert_write(cert, .names = "a.example");
	origin_says("/big", .fields = FRESH, .etag = "\"1\"", .pattern_bytes = BYTES, .seed = 2);
	origin_says("/x", .fields = FRESH, .body = "hello");
	origin_says("/cut", .pattern_bytes = BYTES, .seed = 3, .cut = true, .cut_at = BYTES / 2);
	edge_yaml(text("listen: [ \"https://127.0.0.1:0\" ]\nadmission:\n  sightings: 1\n"
		       "tls:\n  certificates: [ %s ]\n  kernel: auto\n%s",
		       cert, more));
	edge_start("--memory", "1MiB", "--disk", "256MiB");
}

/* Also what a later scenario has to know first. */
static bool
is_there(void)
{
	return edge_said("tls.kernel: the kernel encrypts what is sent");
}

static void
start_in_kernel(const char *more)
{
	start(more);
	if (!is_there()) {
		expect(edge_said("tls.kernel: OpenSSL encrypts what is sent: "));
		skip("this kernel has no TLS");
	}
}

static struct client *
open_client(bool only_1_2)
{
	struct client *c =
		client_open_tls(.name = "a.example", .alpn = "http/1.1", .only_1_2 = only_1_2);
	expect(client_is_in(c));
	return c;
}

static struct answer
ask_by(struct client *c, const char *target)
{
	client_send(c, text("GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n", target));
	return client_read(c, "GET");
}

static void
expect_big(struct answer a)
{
	expect_status(a, 200);
	expect_int((long long)a.body_bytes, BYTES);
	expect(is_pattern(a.body, 2, 0, BYTES));
}

/* The bytes of /big. */
static const char *
whole_file(void)
{
	const char *path = text("%s/whole", kit_dir());
	FILE *f = fopen(path, "w");
	expect(f && fwrite(pattern(2, BYTES), 1, BYTES, f) == BYTES && fclose(f) == 0);
	return path;
}

SCENARIO("auto: where the kernel has no TLS the log says so, and OpenSSL encrypts as ever")
{
	start("");
	if (is_there())
		skip("this kernel has TLS");
	expect(edge_said("tls.kernel: OpenSSL encrypts what is sent: "));
	for (int only_1_2 = 0; only_1_2 < 2; only_1_2++)
		expect_answer(ask_by(open_client(only_1_2), "/x"), 200, "hello");
	expect_big(ask_by(open_client(false), "/big"));
	edge_expect_stat("tls.handshakes", 3);
	edge_expect_stat("tls.kernel", 0);
	edge_expect_stat("bytes.from_files", 0);
}

SCENARIO("off: the kernel is not asked")
{
	cert_write(text("%s/a.pem", kit_dir()), .names = "a.example");
	origin_says("/x", .body = "hello");
	edge_yaml("listen: [ \"https://127.0.0.1:0\" ]\ntls:\n  certificates: [ %D/a.pem ]\n");
	edge_start();
	expect_answer(ask_by(open_client(false), "/x"), 200, "hello");
	expect(!edge_said("tls.kernel"));
	edge_expect_stat("tls.kernel", 0);
}

SCENARIO("a large body goes from its file, by both versions")
{
	start_in_kernel("");
	expect_big(ask_by(open_client(false), "/big"));
	edge_stop();
	edge_restart();
	expect_big(ask_by(open_client(false), "/big")); /* read, and checked */
	edge_expect_stat("bytes.from_files", 0);
	for (int only_1_2 = 0; only_1_2 < 2; only_1_2++) {
		double before = edge_stat("bytes.from_files");
		struct client *c = open_client(only_1_2);
		expect_answer(ask_by(c, "/x"), 200, "hello");
		wait_until((expect_big(ask_by(c, "/big")),
			    edge_stat("bytes.from_files") >= before + BYTES / 2));
		expect_answer(ask_by(c, "/x"), 200, "hello");
	}
	edge_expect_stat("tls.kernel", 3);
}

SCENARIO("frames of HTTP/2 are encrypted by it too, and uploads are read as ever")
{
	needs("curl");
	origin_says("/up", .body = "taken");
	start_in_kernel("");
	const char *url = text("https://127.0.0.1:%u", edge_port());
	const char *to = text("%s/out", kit_dir()), *up = text("@%s", to);
	for (int i = 0; i < 2; i++) {
		struct output o = program("curl", "-sSk", "--http2", "--fail", "-o", to, "-w",
					  "%{http_version} %{size_download}", text("%s/big", url));
		expect_that(o.status == 0, "%s", o.err);
		expect_text(o.out, text("2 %d", BYTES));
		struct output same = program("cmp", to, whole_file());
		expect_that(same.status == 0, "%s%s", same.out, same.err);
	}
	expect_text(program("curl", "-sSk", "--http2", "--data-binary", up, text("%s/up", url)).out,
		    "taken");
	edge_expect_stat("tls.kernel", 3);
	edge_expect_stat("tls.h2", 3);
}

SCENARIO("the end of what is whole is told, that of what was cut is not")
{
	start_in_kernel("");
	struct client *c = open_client(false);
	client_send(c, "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
	expect_answer(client_read(c, "GET"), 200, "hello");
	expect(client_closed(c) && client_was_told(c));
	struct client *d = open_client(false);
	client_send(d, "GET /cut HTTP/1.0\r\nHost: a.example\r\n\r\n");
	expect(client_try(d, "GET").fault);
	size_t extra;
	client_try_closed(d, KIT_FOREVER, &extra);
	expect(!client_was_told(d));
}

SCENARIO("a client that renews keys is ended, and is sent nothing that it cannot read")
{
	start_in_kernel("");
	struct client *c = open_client(false);
	expect_answer(ask_by(c, "/x"), 200, "hello");
	client_renew_keys(c);
	client_send(c, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n");
	expect_int(client_try(c, "GET").status, 0);
	expect_answer(ask_by(open_client(false), "/x"), 200, "hello");
}
