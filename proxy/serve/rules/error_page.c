/* error_page.c - three ways to say the same. */
#include "proxy/serve/rules/error_page.h"

#include "proxy/http/negotiate.h"

/* A hint says what a person can do. */
static const struct said {
	int status;
	const char *title, *hint;
} all_said[] = {
	/* clang-format off */
	{400, "Bad Request",                     "The request was not understood."},
	{403, "Forbidden",                       "This is not allowed."},
	{404, "Not Found",                       "There is nothing here."},
	{405, "Method Not Allowed",              "This cannot be done here."},
	{408, "Request Timeout",                 "The request took too long to arrive."},
	{411, "Length Required",                 "The site has to be told its length before it is sent."},
	{413, "Content Too Large",               "The body of the request is too large."},
	{414, "URI Too Long",                    "The address is too long."},
	{417, "Expectation Failed",              "The request expects something that is not offered here."},
	{421, "Misdirected Request",             "This request belongs elsewhere. Please reload the page."},
	{429, "Too Many Requests",               "There were too many requests. Please try again later."},
	{431, "Request Header Fields Too Large", "The head of the request is too large. Clearing the cookies of this site may help."},
	{501, "Not Implemented",                 "This cannot be done here."},
	{502, "Bad Gateway",                     "The site did not answer as it should. Please try again in a moment."},
	{503, "Service Unavailable",             "The site is busy. Please try again in a moment."},
	{504, "Gateway Timeout",                 "The site did not answer in time. Please try again in a moment."},
	{505, "HTTP Version Not Supported",      "The request was not understood."},
	{508, "Loop Detected",                   "The request came back to where it had been before."},
	/* clang-format on */
};

static const struct said *
said_of(int status)
{
	static const struct said unknown = {0, "Error", "The request could not be answered."};
	for (size_t i = 0; i < sizeof all_said / sizeof *all_said; i++)
		if (all_said[i].status == status)
			return &all_said[i];
	return &unknown;
}

static void
add_text(const struct error_page *p, const struct said *s, struct buf *out)
{
	buf_printf(out, "%d %s: %s\n", p->status, s->title, p->word);
	if (p->rule)
		buf_printf(out, "%s\n", p->rule);
	buf_printf(out, "request id: %.*s\n", STR_ARG(p->id));
}

static void
add_html(const struct error_page *p, const struct said *s, struct buf *out)
{
	buf_printf(out,
		   "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		   "<meta name=\"viewport\" content=\"width=device-width\">\n"
		   "<meta name=\"robots\" content=\"noindex\">\n<title>%d %s</title>\n</head>\n"
		   "<body>\n<h1>%d %s</h1>\n<p>%s</p>\n",
		   p->status, s->title, p->status, s->title, s->hint);
	buf_printf(out, "<p><small>%s, request <code>%.*s</code></small></p>\n</body>\n</html>\n",
		   p->word, STR_ARG(p->id));
}

/* RFC 9457 3: about:blank says that the title is the status's own (4.2.1). */
static void
add_json(const struct error_page *p, const struct said *s, struct buf *out)
{
	buf_printf(out,
		   "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":\"%s\","
		   "\"reason\":\"%s\",\"request_id\":\"%.*s\"}\n",
		   s->title, p->status, p->rule ? p->rule : s->hint, p->word, STR_ARG(p->id));
}

/* In the order of our liking, where a client likes them alike. */
enum { TEXT, HTML, PROBLEM, JSON, FORMS };
static const struct str types[FORMS] = {STR_INIT("text/plain"), STR_INIT("text/html"),
					STR_INIT("application/problem+json"),
					STR_INIT("application/json")};
static void (*const add_form[FORMS])(const struct error_page *, const struct said *,
				     struct buf *) = {add_text, add_html, add_json, add_json};

struct str
error_page_add(const struct error_page *p, struct str accept, struct buf *out)
{
	int form = negotiate_choose(accept, types, FORMS);
	form = form < 0 ? TEXT : form;
	add_form[form](p, said_of(p->status), out);
	return form == HTML ? STR("text/html; charset=utf-8") : types[form];
}
