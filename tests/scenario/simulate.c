/* `twice simulate` on logs that are made here: what it prints, and what it refuses with a way out.
 */
#include "tests/kit/kit.h"

enum { ONCE = 60, OFTEN = 20, BODY = 4096 };

/* ONCE URLs that are asked for once, OFTEN three times, and four requests that no cache stores. */
static char *
wonders(void)
{
	char *path = text("%s/access.log", kit_dir());
	FILE *f = fopen(path, "w");
	for (int i = 0; i < 3 * (ONCE + OFTEN); i++) {
		int url = i % (ONCE + OFTEN);
		if (i < ONCE + OFTEN || url < OFTEN)
			fprintf(f,
				"192.0.2.7 - - [22/Nov/2026:05:%02d:%02d +0000] \"GET /%d HTTP/1.1\" "
				"200 %d \"-\" \"-\"\n",
				i / 60, i % 60, url, BODY);
	}
	for (int i = 0; i < 4; i++)
		fprintf(f, "192.0.2.7 - - [22/Nov/2026:06:00:00 +0000] \"%s /0 HTTP/1.1\" %d 1\n",
			i < 2 ? "POST" : "GET", i < 2 ? 200 : 500);
	fprintf(f, "this is no line of a log\n");
	fclose(f);
	return path;
}

static void
expect_says(struct output o, const char *words)
{
	expect_that(strstr(o.out, words), "it does not say \"%s\":\n%s%s", words, o.out, o.err);
}

SCENARIO("the log is described, each policy has a row, and assumptions are said")
{
	struct output o = program(edge_binary(), "simulate", "--disk", "1GiB", wonders());
	expect_int(o.status, 0);
	expect_says(o, "clf, plain, 125 lines");
	expect_says(o, "1 bad lines: 125");
	expect_says(o, "taken: 120 requests over");
	expect_says(o, "for 80 URLs of 328 kB");
	expect_says(o, "asked for once: 75.0% of URLs, 75.0% of bytes");
	expect_says(o, "left out: 2: not a GET; 2: a status other than");
	expect_says(o, "Nothing is suggested from 120 requests: it takes 10000 at least.");
	expect_says(o, "Taken for granted");
	expect_says(o, "sizes are of the bytes sent");
	expect_says(o, "Times are whole seconds");
	expect_says(o, "Lifetimes are not known");
	expect_that(strstr(o.out, "  75.0% "), "the second sighting saves three quarters:\n%s",
		    o.out);
	expect_int((int)strlen(o.err), 0);
}

SCENARIO("policies, sizes and formats can be named")
{
	struct output o =
		program(edge_binary(), "simulate", "--policies", "all,2+filter=exact,bound",
			"--disk", "100%,50%", "--eviction", "lru", "--format", "clf", "--fresh",
			".html=5m,1d", "--threads", "1", wonders());
	expect_int(o.status, 0);
	expect_says(o, "2+filter=exact");
	expect_says(o, "Eviction is plain LRU");
	expect_says(o, "Lifetimes are those of --fresh");
}

SCENARIO("what can be read once only is read once")
{
	struct output o = program(
		"sh", "-c",
		text("cat %s | %s simulate --disk 1GiB /dev/stdin", wonders(), edge_binary()));
	expect_int(o.status, 0);
	expect_says(o, "taken: 120 requests over");
}

/* clang-format off */
static const struct { const char *says, *flag, *value, *wrong; int status; } mistakes[] = {
	{ "a log that is not there", "--disk", "1GiB", "cannot read none.log: No such file", 1 },
	{ "no size", "--disk", "", "--disk needs a value", 2 },
	{ "a list of nothing", "--disk", ",", "\",\" names nothing; write sizes such as 100GiB or 10%", 2 },
	{ "less than the least", "--disk", "1MiB", "the proxy's disk is 8MiB at least: give --disk 8MiB", 1 },
	{ "no policy", "--policies", ",", "names nothing; write policies such as all,2,3", 2 },
	{ "a size that is none", "--disk", "large", "\"large\" is no size of a disk; write", 2 },
	{ "a policy that is none", "--policies", "some", "\"some\" is no policy; write all", 2 },
	{ "a format that is none", "--format", "xml", "there is no format \"xml\"; there are auto, clf", 2 },
	{ "a role that is none", "--field", "colour=x", "roles are: time", 2 },
	{ "an eviction that is none", "--eviction", "fifo", "write twice or lru", 2 },
	{ "a lifetime without unit", "--fresh", "60", "is no lifetime; write 1h", 2 },
	{ "a share that is none", "--packing", ".html=0%", "is no share that packing leaves; write auto, off, or", 2 },
	{ "a flag with a slip of the pen", "--polcies", "all", "did you mean --policies?", 2 },
};
/* clang-format on */

SCENARIO("mistakes are told in one sentence with a way out")
{
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		struct output o = program(edge_binary(), "simulate", mistakes[i].flag,
					  mistakes[i].value, i == 0 ? "none.log" : wonders());
		expect_that(o.status == mistakes[i].status && strstr(o.err, mistakes[i].wrong),
			    "%s: exit %d: %s", mistakes[i].says, o.status, o.err);
	}
	struct output o = program(edge_binary(), "simulate");
	expect_that(o.status == 2 && strstr(o.err, "name at least one log"), "%s", o.err);
}

static char *
put_log(const char *text_of)
{
	char *path = text("%s/some.log", kit_dir());
	FILE *f = fopen(path, "w");
	fputs(text_of, f);
	fclose(f);
	return path;
}

SCENARIO("a log that no format fits is refused with the names that were looked for")
{
	struct output o =
		program(edge_binary(), "simulate",
			put_log("{\"ts\":1,\"req\":{\"full_uri\":\"/a\"},\"status\":200}\n"));
	expect_int(o.status, 1);
	expect_that(strstr(o.err, "no URL and no id of an object is among their names: ts, "
				  "req.full_uri, status. Looked for were request_uri,") &&
			    strstr(o.err, "--field target=req.full_uri"),
		    "%s", o.err);
	o = program(edge_binary(), "simulate", "--field", "target=req.full_uri",
		    text("%s/some.log", kit_dir()));
	expect_int(o.status, 0);
	expect_says(o, "taken: 1 requests");
	o = program(edge_binary(), "simulate", put_log(""));
	expect_that(o.status == 1 && strstr(o.err, "the log is empty"), "%d: %s", o.status, o.err);
}

SCENARIO("a log that is read, but looks like no requests, is warned of before all else")
{
	char *path = text("%s/some.log", kit_dir());
	FILE *f = fopen(path, "w");
	for (int i = 0; i < 200; i++)
		fprintf(f, "{\"time\":%d,\"host\":\"a\",\"url\":\"/%d\",\"size\":%d}\n",
			1795324844 + i, i, 100 + i);
	fclose(f);
	struct output o = program(edge_binary(), "simulate", path);
	expect_int(o.status, 0);
	expect_that(strncmp(o.out, "Warning: No request has a status", 32) == 0, "%s", o.out);
	expect_says(o, "\nWarning: No URL is asked for twice.");
	o = program(edge_binary(), "simulate", "--json", path);
	expect_says(o, "\"warnings\": [\n    \"No request has a status");
}

SCENARIO("told to end while a pipe is open, it says what it has read")
{
	struct output o = program(
		"sh", "-c",
		text("mkfifo %s/pipe; %s simulate --disk 1GiB %s/pipe & p=$!; exec 3>%s/pipe; "
		     "cat %s >&3; kill -INT $p; wait $p",
		     kit_dir(), edge_binary(), kit_dir(), kit_dir(), wonders()));
	expect_int(o.status, 0);
	expect_says(o, "taken: 120 requests over");
	expect_says(o, "stopped before the end");
}

/* Each of 40 URLs three times: pages that come plain, pages in gzip, pictures, and pages of less than 1 KiB. */
static char *
typed(const char *ending, bool has_types)
{
	static const struct {
		const char *type, *coding;
		int bytes;
	} kinds[] = {{"text/html; charset=utf-8", "-", 40000},
		     {"text/html", "gzip", 10000},
		     {"image/png", "-", 40000},
		     {"text/css", "-", 1000}};
	char *path = text("%s/typed.log", kit_dir());
	FILE *f = fopen(path, "w");
	for (int i = 0; i < 120; i++) {
		int kind = i % 4;
		fprintf(f,
			"{\"time\":%d,\"request_uri\":\"/%d%s\",\"status\":200,\"body_bytes_sent\":%d",
			1795324844 + i, i % 40, kind == 2 ? ".png" : ending, kinds[kind].bytes);
		if (has_types)
			fprintf(f,
				",\"sent_http_content_type\":\"%s\",\"sent_http_content_encoding\":\"%s\"",
				kinds[kind].type, kinds[kind].coding);
		fprintf(f, "}\n");
	}
	fclose(f);
	return path;
}

static struct output
simulate(const char *path, const char *packing, const char *how)
{
	struct output o =
		program(edge_binary(), "simulate", "--disk", "64MiB", "--memory", "8MiB",
			"--policies", "all,2,2+packing=off", "--packing", packing, how, path);
	expect_int(o.status, 0);
	return o;
}

SCENARIO("text that comes plain is written packed, by what the log says of types and codings")
{
	struct output o = simulate(typed("", true), "auto", "--json");
	expect_says(o, "\"packable_bytes\": 400000.0,\n    \"packed_bytes\": 120000.0");
	const char *all = strstr(o.out, "\"packing_saved_bytes\": 0.0"),
		   *two = strstr(o.out, "\"packing_saved_bytes\": 280000.0");
	expect_that(all && two && all < two, "all packs nothing, and 2 saves it:\n%s", o.out);
	expect_that(strstr(two + 1, "\"packing_saved_bytes\": 0.0"), "nor does +packing=off");
	o = simulate(typed("", true), "auto", "--threads=1");
	expect_says(o,
		    "text that is packed: 44.0% of bytes, by types; taken to become 30% of that");
	expect_says(o, "Packing: 2 writes");
	expect_that(!strstr(o.out, "comes without a coding"), "the log says codings:\n%s", o.out);
}

SCENARIO("where no type is known the ends of paths tell it, and shares can be named")
{
	struct output o = simulate(typed(".html", false), ".html=50%,10%", "--json");
	expect_says(o, "\"packable_bytes\": 500000.0,\n    \"packed_bytes\": 250000.0");
	o = simulate(typed(".html", false), "auto", "--threads=1");
	expect_says(o, "by the ends of paths; taken to become 30% of that");
	expect_says(o,
		    "Text comes without a coding (Content-Encoding), for the log does not say it");
	o = simulate(typed(".html", false), "off", "--threads=1");
	expect_says(o, "Nothing is packed: --packing off");
	expect_that(!strstr(o.out, "text that is packed"), "%s", o.out);
	o = simulate(typed("", false), "auto", "--threads=1");
	expect_says(o, "Of 75% of the requests nothing tells the type");
}
