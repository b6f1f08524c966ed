/* ask.c - libcurl, with limits: the answer may come from anything that listens there. */
#include "proxy/cli/ask.h"

#include "proxy/base/mem.h"
#include "proxy/cli/cli.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 10,000 purges are told of, each with its URL. */
enum { ANSWER_BYTES_MOST = 16 << 20, SECONDS_MOST = 10 };

static size_t
on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct buf *out = ctx;
	if (out->n + size * n > ANSWER_BYTES_MOST)
		return 0; /* ends the transfer */
	buf_add(out, p, size * n);
	return size * n;
}

const char ask_admin_default[] = ASK_ADMIN_DEFAULT;

struct question {
	const char *addr, *path;
	const char *form;  /* NULL: GET */
	const char *token; /* NULL: none is sent */
	struct buf *out;
	long status;
	char why[CURL_ERROR_SIZE];
};

static const char unix_scheme[] = "unix:", http_scheme[] = "http://";

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* "http://127.0.0.1:9180/", as browsers show it, is the same address. */
static void
print_url(const struct question *q, struct buf *out)
{
	bool is_url = begins(q->addr, http_scheme);
	const char *host = begins(q->addr, unix_scheme) ? "localhost"
			   : is_url			? q->addr + strlen(http_scheme)
							: q->addr;
	size_t n = strlen(host);
	if (is_url && n && host[n - 1] == '/')
		n--;
	buf_printf(out, "http://%.*s%s", (int)n, host, q->path);
	buf_add(out, "", 1);
}

static struct curl_slist *
bearer_of(const char *token)
{
	struct buf b = {0};
	buf_printf(&b, "Authorization: Bearer %s", token);
	buf_add(&b, "", 1);
	struct curl_slist *fields = curl_slist_append(NULL, b.p);
	buf_fini(&b);
	return fields;
}

static CURLcode
perform(struct question *q)
{
	CURL *curl = curl_easy_init();
	struct buf url = {0};
	struct curl_slist *fields = q->token && *q->token ? bearer_of(q->token) : NULL;
	print_url(q, &url);
	curl_easy_setopt(curl, CURLOPT_URL, url.p);
	if (begins(q->addr, unix_scheme))
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, q->addr + strlen(unix_scheme));
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)SECONDS_MOST);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, q->why);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, q->out);
	if (fields)
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
	if (q->form)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, q->form);
	q->why[0] = '\0';
	q->status = 0;
	CURLcode end = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &q->status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(fields);
	buf_fini(&url);
	return end;
}

/* Another program may listen at the default of before: it is told no token and no order. */
static bool
is_twice(const char *addr)
{
	static const char *const words[] = {"ok\n", "degraded:", "failing:", "draining\n"};
	struct buf out = {0};
	struct question q = {.addr = addr, .path = "/healthz", .out = &out};
	bool is = false;
	if (perform(&q) == CURLE_OK)
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			is |= str_starts(buf_str(&out), str_of(words[i]));
	buf_fini(&out);
	return is;
}

/* The admin server speaks HTTP, at an address. */
static bool
is_no_address(const char *addr)
{
	return !*addr || (strstr(addr, "://") && !begins(addr, http_scheme));
}

static enum asked
read_answer(const struct question *q, CURLcode end, char *err, size_t err_bytes)
{
	struct buf url = {0};
	struct str said = buf_str(q->out);
	while (said.n && said.p[said.n - 1] == '\n')
		said.n--;
	print_url(q, &url);
	if (end == CURLE_WRITE_ERROR)
		snprintf(err, err_bytes, "the answer of %s is longer than any of twice's", q->addr);
	else if (end == CURLE_URL_MALFORMAT)
		snprintf(err, err_bytes,
			 "--admin: \"%.100s\" is no address; write IP:PORT, http://IP:PORT or "
			 "unix:PATH",
			 q->addr);
	else if (end != CURLE_OK)
		snprintf(err, err_bytes,
			 "no answer from %s (%s); start twice there, or name its admin "
			 "address with --admin IP:PORT or --admin unix:PATH",
			 q->addr, *q->why ? q->why : curl_easy_strerror(end));
	else if (q->status == 400) /* it says what is wrong */
		snprintf(err, err_bytes, "%.*s", (int)(said.n < 400 ? said.n : 400), said.p);
	else if (q->status != 200 && q->status != 202)
		snprintf(err, err_bytes, "%.200s answered %ld: %.*s", url.p, q->status,
			 (int)(q->out->n < 200 ? q->out->n : 200), q->out->n ? q->out->p : "");
	buf_fini(&url);
	return end == CURLE_URL_MALFORMAT	      ? ASK_MALFORMED
	       : end != CURLE_OK		      ? ASK_FAILED
	       : q->status == 400 || q->status == 422 ? ASK_MALFORMED
	       : q->status != 200 && q->status != 202 ? ASK_FAILED
						      : ASK_FINE;
}

enum asked
ask_admin(const char *addr, const char *path, const char *form, struct buf *out, char *err,
	  size_t err_bytes)
{
	struct question q = {.addr = addr,
			     .path = path,
			     .form = form,
			     .token = getenv("TWICE_ADMIN_TOKEN"),
			     .out = out};
	CURLcode end = is_no_address(addr) ? CURLE_URL_MALFORMAT : perform(&q);
	if (end == CURLE_COULDNT_CONNECT && addr == ask_admin_default &&
	    is_twice(ASK_ADMIN_BEFORE)) {
		q.addr = ASK_ADMIN_BEFORE;
		end = perform(&q);
	}
	return read_answer(&q, end, err, err_bytes);
}

int
ask_exit_code(enum asked a)
{
	return a == ASK_FINE ? CLI_FINE : a == ASK_MALFORMED ? CLI_USAGE : CLI_FAILED;
}

json_t *
ask_object(const char *addr, const struct buf *answer, const char *member, char *err,
	   size_t err_bytes)
{
	json_t *json = json_loadb(answer->n ? answer->p : "", answer->n, 0, NULL);
	if (json_object_get(json, member))
		return json;
	snprintf(err, err_bytes, "the server at %s is not twice's admin server", addr);
	json_decref(json);
	return NULL;
}

char *
ask_form(const char *name, const char *value)
{
	struct buf form = {0};
	char *escaped = curl_easy_escape(NULL, value, 0);
	buf_printf(&form, "%s=%s", name, escaped ? escaped : "");
	curl_free(escaped);
	char *z = mem_strndup(form.p, form.n);
	buf_fini(&form);
	return z;
}
