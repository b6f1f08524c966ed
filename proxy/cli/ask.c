/* ask.c - libcurl, with limits: the answer may come from anything that listens there. */
#include "proxy/cli/ask.h"

#include "proxy/base/mem.h"

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

int
ask_admin(const char *addr, const char *path, const char *form, struct buf *out, char *err,
	  size_t err_bytes)
{
	char why[CURL_ERROR_SIZE] = "";
	long status = 0;
	CURL *curl = curl_easy_init();
	struct buf at = {0};
	const char *file = strncmp(addr, "unix:", 5) == 0 ? addr + 5 : NULL;
	buf_printf(&at, "http://%s%s", file ? "localhost" : addr, path);
	buf_add(&at, "", 1);
	curl_easy_setopt(curl, CURLOPT_URL, at.p);
	if (file)
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, file);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)SECONDS_MOST);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
	const char *token = getenv("TWICE_ADMIN_TOKEN");
	struct curl_slist *fields = NULL;
	if (token && *token) {
		struct buf bearer = {0};
		buf_printf(&bearer, "Authorization: Bearer %s", token);
		buf_add(&bearer, "", 1);
		fields = curl_slist_append(NULL, bearer.p);
		curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
		buf_fini(&bearer);
	}
	if (form)
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, form);
	CURLcode end = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(fields);
	if (end == CURLE_WRITE_ERROR)
		snprintf(err, err_bytes, "the answer of %s is longer than any of twice's", addr);
	else if (end != CURLE_OK)
		snprintf(err, err_bytes,
			 "no answer from %s (%s); start twice there, or name its admin "
			 "address with --admin IP:PORT or --admin unix:PATH",
			 addr, *why ? why : curl_easy_strerror(end));
	else if (status != 200)
		snprintf(err, err_bytes, "%.200s answered %ld: %.*s", at.p, status,
			 (int)(out->n < 200 ? out->n : 200), out->n ? out->p : "");
	buf_fini(&at);
	return end == CURLE_OK && status == 200 ? 0 : -1;
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
