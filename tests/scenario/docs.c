/* README.md and the pages of docs/ are what a stranger types: each snippet is run here, in the order of its page.
 *
 * A fence says behind its language how: tests/README.md, "Pages", has the words. Addresses, names and folders
 * become those of the scenario in tests/kit/example.c, and the ports of a running proxy in `ported` below.
 */
#include "tests/kit/example.h"
#include "tests/kit/kit.h"
#include "tests/kit/tls.h"

#include <ctype.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

struct fence {
	const char *page;
	int line;
	char *language, *mark; /* "" where there is none */
	char *words;
};

enum { MOST_FENCES = 64, MOST_LINES = 256 };

static struct {
	bool runs; /* a proxy */
	char *of;  /* the path of its configuration, as the page names it; NULL: flags alone */

} now;

/* ---- reading --------------------------------------------------------------------------------- */

static bool
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool
is_not_run(const struct fence *f)
{
	return begins(f->mark, "not-run: ");
}

static char *
trimmed(const char *s)
{
	s += strspn(s, " ");
	char *copy = text("%s", s), *end = copy + strlen(copy);
	while (end > copy && end[-1] == ' ')
		*--end = '\0';
	return copy;
}

/* Cuts a copy of the words into lines. */
static int
lines_of(const char *words, char *lines[], int most)
{
	int n = 0;
	for (char *p = text("%s", words), *next; p && *p; p = next) {
		next = strchr(p, '\n');
		if (next)
			*next++ = '\0';
		expect_that(n < most, "more than %d lines", most);
		lines[n++] = p;
	}
	return n;
}

/* The fences of a page. A snippet that is only indented would be missed here, and is an error. */
static int
fences_of(const char *page, struct fence *fences)
{
	static char *lines[2048];
	int n = 0, count = lines_of(example_read(page), lines, 2048);
	struct fence *open = NULL;
	for (int i = 0; i < count; i++) {
		if (begins(lines[i], "```") && !open) {
			char *info = trimmed(lines[i] + 3);
			size_t end = strcspn(info, " ");
			expect_that(n < MOST_FENCES, "%s has more than %d fences", page,
				    MOST_FENCES);
			fences[n] = (struct fence){page, i + 1, text("%.*s", (int)end, info),
						   trimmed(info + end), text("%s", "")};
			open = &fences[n++];
		} else if (begins(lines[i], "```")) {
			open = NULL;
		} else if (open) {
			open->words = text("%s%s\n", open->words, lines[i]);
		} else {
			expect_that(!begins(lines[i], "    ") && !begins(lines[i], "\t") &&
					    !begins(trimmed(lines[i]), "```"),
				    "%s:%d: a snippet needs a fence in column 0", page, i + 1);
		}
	}
	expect_that(!open, "%s: a fence is not closed", page);
	return n;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* A page's path below the scenario's folder. */
static char *
below(const char *path)
{
	char *with = example_command(path);
	return begins(with, "%D") ? text("%s%s", kit_dir(), with + 2) : with;
}

static bool
has_line(const char *words, const char *with)
{
	return begins(words, with) || strstr(words, text("\n%s", with));
}

static char *
replaced(const char *s, const char *what, const char *by)
{
	char *out = text("%s", "");
	for (const char *at; (at = strstr(s, what)); s = at + strlen(what))
		out = text("%s%.*s%s", out, (int)(at - s), s, by);
	return text("%s%s", out, s);
}

/* The scripted origin stands for origins where a snippet shows none, as docs/configuration.md says, and a
 * folder of the scenario for that of the cache. */
static char *
completed(const char *yaml)
{
	static const char dir[] = "dir: %D/cache";
	char *in = text("\n%s", example_settings(yaml));
	if (!has_line(yaml, "origins:"))
		in = text("%sorigins: [ \"%%O\" ]\n", in);
	if (!has_line(yaml, "cache:"))
		in = text("%scache: { %s }\n", in, dir);
	else if (strstr(in, "\ncache: {") && !strstr(in, " dir:"))
		in = replaced(in, "\ncache: {", text("\ncache: { %s,", dir));
	else if (!strstr(in, " dir:"))
		in = replaced(in, "\ncache:\n", text("\ncache:\n  %s\n", dir));
	return in + 1;
}

static char *
filled(const char *s)
{
	char *out = text("%s", "");
	for (const char *at; (at = strchr(s, '%')); s = at + 2) {
		const char *by = at[1] == 'O' ? origin_url() : at[1] == 'D' ? kit_dir() : NULL;
		out = by ? text("%s%.*s%s", out, (int)(at - s), s, by)
			 : text("%s%.*s", out, (int)(at + 2 - s), s);
		if (!at[1])
			return out;
	}
	return text("%s%s", out, s);
}

/* The kit counts the quotes of a line to know how many listeners there will be. */
static char *
without_comments(const char *yaml)
{
	char *copy = text("%s", yaml), *to = copy;
	for (const char *p = yaml; *p; p++) {
		if (*p == '#' && (p == yaml || isspace((unsigned char)p[-1])))
			p += strcspn(p, "\n");
		*to++ = *p;
	}
	*to = '\0';
	return copy;
}

static void
write_words(const char *path, const char *words)
{
	FILE *f = fopen(path, "w");
	expect_that(f && fputs(words, f) >= 0 && fclose(f) == 0, "cannot write %s", path);
}

/* "yaml", "yaml PATH": check takes it; "yaml wrong PATH": check refuses it. */
static void
take_yaml(const struct fence *f)
{
	bool wrong = begins(f->mark, "wrong ");
	const char *path = trimmed(f->mark + (wrong ? strlen("wrong ") : 0));
	expect_that(!*path || begins(path, "/etc/"), "%s:%d: what is \"%s\"?", f->page, f->line,
		    f->mark);
	expect_that(!*path || begins(f->words, text("# %s\n", path)),
		    "%s:%d: its reader does not see that this is %s: begin with # %s", f->page,
		    f->line, path, path);
	char *file = *path ? below(path) : text("%s/snippet.yaml", kit_dir());
	write_words(file, filled(wrong ? example_settings(f->words) : completed(f->words)));
	struct output o = program(edge_binary(), "check", "-c", file);
	expect_that((o.status == 0) == !wrong, "%s:%d: twice check ends with %d\n%s", f->page,
		    f->line, o.status, o.err);
	if (now.runs && now.of && strcmp(now.of, path) == 0)
		edge_rewrite(without_comments(completed(f->words)));
}

/* ---- commands -------------------------------------------------------------------------------- */

/* The ports of the pages as those of the running proxy. */
static char *
ported(const char *line)
{
	char *s = filled(example_command(line));
	if (!now.runs)
		return s;
	s = replaced(s, "127.0.0.1:8080", text("127.0.0.1:%u", edge_port()));
	s = replaced(s, "127.0.0.1:8082", text("127.0.0.1:%u", edge_h2_port()));
	s = replaced(s, "localhost:8443", text("localhost:%u", edge_port()));
	return replaced(s, "127.0.0.1:9180", text("127.0.0.1:%u", edge_admin_port()));
}

/* `twice` on the PATH of the commands: it finds the admin server where that is. */
static void
write_wrapper(void)
{
	char *path = text("%s/bin/twice", kit_dir());
	mkdir(text("%s/bin", kit_dir()), 0755);
	write_words(
		path,
		text("#!/bin/sh\n"
		     "case $1 in stats|top|explain|purge|reload|upgrade)\n"
		     "case \"$*\" in *--admin*) ;; *) set -- \"$@\" --admin 127.0.0.1:%u ;; esac ;;\n"
		     "esac\nexec '%s' \"$@\"\n",
		     now.runs ? edge_admin_port() : 1, edge_binary()));
	expect(chmod(path, 0755) == 0);
}

static struct output
shell(const char *script)
{
	write_wrapper();
	return program(
		"sh", "-ec",
		text("exec 2>&1\ntop=$PWD\nPATH=%s/bin:$PATH\ncd %s\nln -sfn $top/config config\n%s",
		     kit_dir(), kit_dir(), script));
}

static void
stop(void)
{
	if (now.runs)
		edge_stop();
	now.runs = false;
}

/* "twice run FLAGS": in place of the one that runs. */
static void
run_proxy(const char *line)
{
	const char *flags[EDGE_FLAGS] = {""};
	int n = 1;
	char *save, *words = filled(example_command(line + strlen("twice run ")));
	words[strcspn(words, "#")] = '\0';
	stop();
	now.of = NULL;
	edge_yaml("");
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		if (strcmp(w, "-c") != 0) {
			expect(n < EDGE_FLAGS - 1);
			flags[n++] = w;
			continue;
		}
		w = strtok_r(NULL, " ", &save);
		expect_that(w && begins(w, kit_dir()), "-c names no file of the page");
		now.of = text("%s", w + strlen(kit_dir()));
		edge_yaml(without_comments(example_read(w)));
	}
	edge_start_flags(flags);
	now.runs = true;
}

/* "sh", "sh stopped" without a proxy, "sh running" with one: each command ends well. */
static void
take_sh(const struct fence *f)
{
	char *lines[MOST_LINES], *script = text("%s", "");
	int n = lines_of(f->words, lines, MOST_LINES);
	expect_that(!*f->mark || strcmp(f->mark, "stopped") == 0 || strcmp(f->mark, "running") == 0,
		    "%s:%d: what is \"%s\"?", f->page, f->line, f->mark);
	if (strcmp(f->mark, "stopped") == 0)
		stop();
	else if (*f->mark && !now.runs)
		run_proxy("twice run -c /etc/twice.yaml");
	for (int i = 0; i <= n; i++) {
		bool runs = i < n && begins(lines[i], "twice run ");
		if (i < n && !runs) {
			script = text("%s%s\n", script, lines[i]);
			continue;
		}
		struct output o = shell(ported(script));
		expect_that(o.status == 0, "%s:%d: exit code %d of\n%s%s", f->page, f->line,
			    o.status, ported(script), o.out);
		script = text("%s", "");
		if (runs)
			run_proxy(lines[i]);
	}
}

/* A line as it is compared: the scenario's folder is left out, a number is a #, and blanks at the end go. */
static char *
compared(const char *line)
{
	char *in = replaced(line, kit_dir(), ""), *out = text("%s", in), *to = out;
	for (const char *p = in; *p; p++) {
		bool is_digit = isdigit((unsigned char)*p);
		if (!is_digit && *p != '\r')
			*to++ = *p;
		else if (is_digit && (to == out || to[-1] != '#'))
			*to++ = '#';
	}
	*to = '\0';
	while (to > out && to[-1] == ' ')
		*--to = '\0';
	return out;
}

/* All that a command printed is what the page shows; "..." stands for any lines. */
static void
expect_printed(const struct fence *f, const char *command, char *const shown[], int n,
	       const char *printed)
{
	char *lines[MOST_LINES];
	int count = lines_of(printed, lines, MOST_LINES), at = 0;
	bool any = false;
	for (int i = 0; i < n; i++) {
		if (strcmp(shown[i], "...") == 0) {
			any = true;
			continue;
		}
		const char *want = compared(shown[i]);
		while (any && at < count && strcmp(compared(lines[at]), want) != 0)
			at++;
		expect_that(at < count && strcmp(compared(lines[at]), want) == 0,
			    "%s:%d: `%s` does not print\n  %s\nbut\n%s", f->page, f->line, command,
			    shown[i], printed);
		any = false;
		at++;
	}
	expect_that(any || at == count, "%s:%d: `%s` prints more:\n%s", f->page, f->line, command,
		    printed);
}

/* "console", "console exit=N": lines that begin with "$ " are commands, and what they print follows. */
static void
take_console(const struct fence *f)
{
	char *lines[MOST_LINES];
	int n = lines_of(f->words, lines, MOST_LINES);
	int status = begins(f->mark, "exit=") ? atoi(f->mark + strlen("exit=")) : 0;
	expect_that(!*f->mark || status, "%s:%d: what is \"%s\"?", f->page, f->line, f->mark);
	expect_that(n && begins(lines[0], "$ "), "%s:%d: no command", f->page, f->line);
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && !begins(lines[end], "$ ");)
			end++;
		struct output o = shell(ported(lines[i] + 2));
		expect_that(o.status == status, "%s:%d: exit code %d of %s\n%s", f->page, f->line,
			    o.status, lines[i], o.out);
		expect_printed(f, lines[i] + 2, lines + i + 1, end - i - 1, o.out);
	}
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void
run_page(const char *page)
{
	static struct fence fences[MOST_FENCES];
	by_http_only();
	by_h1_only();
	origin_says("*", .fields = "Cache-Control: max-age=60\r\nSurrogate-Key: news\r\n",
		    .body = "hello");
	example_places();
	write_words(below("/etc/twice.yaml"),
		    filled(example_settings(example_read("packaging/twice.yaml"))));
	int n = fences_of(page, fences);
	for (int i = 0; i < n; i++) {
		const struct fence *f = &fences[i];
		if (is_not_run(f))
			continue;
		if (strcmp(f->language, "yaml") == 0)
			take_yaml(f);
		else if (strcmp(f->language, "sh") == 0)
			take_sh(f);
		else if (strcmp(f->language, "console") == 0)
			take_console(f);
		else
			fail("%s:%d: a fence in \"%s\" is run by nobody: write not-run: and why",
			     page, f->line, f->language);
	}
	stop();
}

static const char *pages[64];
static int page_count;

#define PAGE(path)	    PAGE_AT(path, __LINE__)
#define PAGE_AT(path, line) PAGE_AT2(path, line)
#define PAGE_AT2(path, line)                                         \
	__attribute__((constructor)) static void page_##line(void)   \
	{                                                            \
		pages[page_count++] = path;                          \
	}                                                            \
	SCENARIO_IN(120, "the snippets of " path " do what it says") \
	{                                                            \
		run_page(path);                                      \
	}
/* clang-format off */
PAGE("README.md")
PAGE("docs/getting-started.md")
PAGE("docs/configuration.md")
PAGE("docs/origins.md")
PAGE("docs/purging.md")
PAGE("docs/tls.md")
PAGE("docs/http2.md")
PAGE("docs/operate.md")
PAGE("docs/fleet.md")
PAGE("docs/metrics.md")
PAGE("docs/simulate.md")
PAGE("docs/how-it-works.md")
PAGE("docs/measured.md")
PAGE("docs/rfcs.md")
PAGE("docs/limits.md")
PAGE("docs/from-nginx.md")
PAGE("docs/from-varnish.md")
PAGE("docs/faq.md")
/* clang-format on */

static bool
is_known(const char *path)
{
	for (int i = 0; i < page_count; i++)
		if (strcmp(pages[i], path) == 0)
			return true;
	return false;
}

SCENARIO("every page is run here, and of five snippets at most one is not")
{
	static struct fence fences[MOST_FENCES];
	DIR *d = opendir("docs");
	int all = 0, not_run = 0;
	for (struct dirent *e; d && (e = readdir(d));)
		if (strstr(e->d_name, ".md"))
			expect_that(is_known(text("docs/%s", e->d_name)),
				    "docs/%s is run by nobody", e->d_name);
	for (int i = 0; i < page_count; i++) {
		int n = fences_of(pages[i], fences);
		for (int k = 0; k < n; k++) {
			expect_that(*fences[k].language, "%s:%d: a fence without a language",
				    pages[i], fences[k].line);
			if (begins(fences[k].mark, "not-run"))
				expect_that(is_not_run(&fences[k]) && fences[k].mark[9],
					    "%s:%d: not run, and nobody says why", pages[i],
					    fences[k].line);
			all++;
			not_run += is_not_run(&fences[k]);
		}
	}
	note("%d snippets, %d of them not run", all, not_run);
	expect_that(not_run * 5 <= all, "%d of %d snippets are not run", not_run, all);
}
