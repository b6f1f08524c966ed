/* test_h2_memory.c - two sessions of libnghttp2 that talk to each other; the server's lies in pages of its own, and
 * rests between any two requests.
 * rooms: wire http base
 */
#include "proxy/base/mem.h"
#include "proxy/wire/h2_memory.h"

#include "tests/kit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SESSIONS = 200, REQUESTS = 6, PAGE = 4096 };

static struct side {
	struct h2_memory memory;
	nghttp2_session *server, *client;
	unsigned heads;
} sides[SESSIONS];

static nghttp2_nv
line(const char *name, const char *value)
{
	return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
			    strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static int
on_frame(nghttp2_session *ng, const nghttp2_frame *f, void *ctx)
{
	struct side *s = ctx;
	if (f->hd.type != NGHTTP2_HEADERS)
		return 0;
	s->heads++;
	const nghttp2_nv lines[] = {line(":status", "200"), line("x", "1")};
	return ng == s->server ? nghttp2_submit_response(ng, f->hd.stream_id, lines, 2, NULL) : 0;
}

static void
carry(nghttp2_session *from, nghttp2_session *to)
{
	const uint8_t *p;
	for (ssize_t n; (n = nghttp2_session_mem_send(from, &p)) > 0;)
		ck_assert_int_eq(nghttp2_session_mem_recv(to, p, (size_t)n), n);
}

static void
talk(struct side *s)
{
	while (nghttp2_session_want_write(s->client) || nghttp2_session_want_write(s->server)) {
		carry(s->client, s->server);
		carry(s->server, s->client);
	}
}

static void
begin(struct side *s, struct h2_pages *pages)
{
	nghttp2_session_callbacks *cb;
	nghttp2_option *option;
	ck_assert_int_eq(nghttp2_session_callbacks_new(&cb) | nghttp2_option_new(&option), 0);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_option_set_no_closed_streams(option, 1);
	nghttp2_mem mem = h2_memory_begin(&s->memory, pages);
	ck_assert_int_eq(nghttp2_session_server_new3(&s->server, cb, s, option, &mem), 0);
	h2_memory_made(&s->memory);
	ck_assert_int_eq(nghttp2_session_client_new(&s->client, cb, s), 0);
	nghttp2_submit_settings(s->server, NGHTTP2_FLAG_NONE, NULL, 0);
	nghttp2_submit_settings(s->client, NGHTTP2_FLAG_NONE, NULL, 0);
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(option);
	s->heads = 0;
}

static void
end(struct side *s)
{
	nghttp2_session_del(s->server);
	h2_memory_end(&s->memory);
	nghttp2_session_del(s->client);
}

/* A head of about so many bytes: more than a frame, and it goes by several. */
static void
ask(struct side *s, size_t bytes)
{
	char *text = mem_zalloc(bytes + 1);
	memset(text, '~', bytes);
	const nghttp2_nv lines[] = {line(":method", "GET"), line(":scheme", "http"),
				    line(":authority", "h"), line(":path", "/"), line("x", text)};
	ck_assert_int_gt(nghttp2_submit_request(s->client, NULL, lines, 5, NULL, NULL), 0);
	free(text);
}

/* Pages of a session's slot that are in memory. */
static unsigned
pages_in(const struct h2_memory *m)
{
	unsigned char in[6];
	unsigned n = 0;
	ck_assert_int_eq(mincore(m->slot, sizeof in * PAGE, in), 0);
	for (unsigned i = 0; i < sizeof in; i++)
		n += in[i] & 1;
	return n;
}

START_TEST(a_session_that_rested_goes_on)
{
	struct h2_pages *pages = h2_pages_create();
	for (unsigned i = 0; i < SESSIONS; i++)
		begin(&sides[i], pages);
	for (unsigned r = 0; r < REQUESTS; r++)
		for (unsigned i = 0; i < SESSIONS; i++) {
			ask(&sides[i], r % 2 ? 20000 : 20);
			talk(&sides[i]);
			ck_assert_uint_eq(sides[i].heads, 2 * (r + 1));
			ck_assert_uint_gt(pages_in(&sides[i].memory), 0);
			h2_memory_rest(&sides[i].memory);
			ck_assert_uint_eq(pages_in(&sides[i].memory), 0);
		}
	for (unsigned i = 0; i < SESSIONS; i++)
		end(&sides[i]);
	h2_pages_destroy(&pages);
	ck_assert_ptr_null(pages);
}
END_TEST

START_TEST(a_slot_is_used_again)
{
	struct h2_pages *pages = h2_pages_create();
	begin(&sides[0], pages);
	const char *slot = sides[0].memory.slot;
	end(&sides[0]);
	begin(&sides[1], pages);
	ck_assert_ptr_eq(sides[1].memory.slot, slot);
	ask(&sides[1], 20);
	talk(&sides[1]);
	ck_assert_uint_eq(sides[1].heads, 2);
	end(&sides[1]);
	h2_pages_destroy(&pages);
}
END_TEST

/* A stream that is open keeps an entry in the table. */
START_TEST(a_table_with_entries_stays)
{
	struct h2_pages *pages = h2_pages_create();
	begin(&sides[0], pages);
	talk(&sides[0]);
	const nghttp2_nv lines[] = {line(":method", "POST"), line(":scheme", "http"),
				    line(":authority", "h"), line(":path", "/")};
	int32_t id = nghttp2_submit_headers(sides[0].client, NGHTTP2_FLAG_NONE, -1, NULL, lines, 4,
					    NULL);
	carry(sides[0].client, sides[0].server);
	h2_memory_rest(&sides[0].memory);
	ck_assert_uint_ge(pages_in(&sides[0].memory), 1);
	nghttp2_submit_rst_stream(sides[0].client, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
	talk(&sides[0]);
	sides[0].heads = 0;
	ask(&sides[0], 20);
	talk(&sides[0]);
	ck_assert_uint_eq(sides[0].heads, 2);
	end(&sides[0]);
	h2_pages_destroy(&pages);
}
END_TEST

UNIT("h2_memory", TEST(a_session_that_rested_goes_on), TEST(a_slot_is_used_again),
     TEST(a_table_with_entries_stays))
