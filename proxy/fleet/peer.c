/* peer.c - fetches on the fleet's own event loop. */
#include "proxy/fleet/peer.h"

#include "proxy/base/address.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/base/network.h"
#include "proxy/fleet/hop.h"
#include "proxy/origin/fetch.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct peers {
	struct peers_options o;
	struct fetcher *fetcher;
	struct peer *first;
};

struct peer {
	struct peers *of;
	struct sibling *sibling;
	struct origin *origin; /* NULL: its address cannot be used */
	bool refuses;
	struct peer *next;
};

/* ---- one question -------------------------------------------------------------------------- */

/* A connection that failed is tried once more, for no more than a moment: libcurl does not say why. */
static bool
is_refused(const struct peer *p)
{
	enum { MOMENT_MS = 20 };
	struct address a;
	int error = 0;
	socklen_t bytes = sizeof error;
	if (address_parse(p->sibling->m.address, &a))
		return false;
	int fd = socket(a.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	int r = connect(fd, (struct sockaddr *)&a.sa, a.bytes);
	bool yes = r && errno == ECONNREFUSED;
	struct pollfd look = {.fd = fd, .events = POLLOUT};
	if (r && errno == EINPROGRESS && poll(&look, 1, MOMENT_MS) == 1)
		yes = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 &&
		      error == ECONNREFUSED;
	close(fd);
	return yes;
}

static void
on_head(void *ctx, const struct response *rs)
{
	struct peer_question *q = ctx;
	unsigned at = 0;
	const struct field *f = fields_next_named(&rs->fields, STR(HOP_FIELD), &at);
	q->status = rs->status;
	if (f && f->value.n <= HOP_FIELD_MOST)
		buf_add_str(&q->hop, f->value);
}

/* Of more than there may be, one byte more is kept. */
static bool
on_body(void *ctx, const char *p, size_t n)
{
	struct peer_question *q = ctx;
	size_t room = PEER_CONTENT_MOST + 1 - q->content.n;
	buf_add(&q->content, p, n < room ? n : room);
	return true;
}

static ptrdiff_t
on_send(void *ctx, char *p, size_t most)
{
	struct peer_question *q = ctx;
	size_t n = q->body.n - q->sent;
	n = n < most ? n : most;
	memcpy(p, q->body.p + q->sent, n);
	q->sent += n;
	return (ptrdiff_t)n;
}

static struct str
method_of_question(const struct peer_question *q)
{
	return q->body.n ? STR("POST") : STR("GET");
}

/* NULL: it is right. */
static const char *
fault_of(const struct peer_question *q, const char *target, const struct fetch_result *r)
{
	struct hop h;
	const struct peers *of = q->of->of;
	struct hop_subject about = {.to = *of->o.self,
				    .method = method_of_question(q),
				    .target = str_of(target),
				    .asked = {q->mac, sizeof q->mac},
				    .content = buf_str(&q->content)};
	if (r->end != FETCH_OK)
		return r->word;
	if (q->status == 403)
		return "refused: is its secret, or its clock, another one?";
	if (q->status != 200 && q->status != 503)
		return "it is no sibling";
	if (q->content.n > PEER_CONTENT_MOST || hop_parse(buf_str(&q->hop), &h) ||
	    !hop_is_signed(&h, of->o.secret, &about, now_s()))
		return "its answer is not signed with this secret";
	if (h.from != q->of->sibling->m.id)
		return "another node answers there";
	return q->status == 200 ? NULL : "it cannot do so now";
}

static void
on_done(void *ctx, const struct fetch_result *r)
{
	struct peer_question *q = ctx;
	q->fetch = NULL;
	const char *why = fault_of(q, q->target, r);
	struct str content = buf_str(&q->content);
	q->of->refuses = r->end == FETCH_CONNECT && is_refused(q->of);
	q->on_answer(q->ctx, why ? NULL : &content, why);
}

static void
add_field(struct peer_question *q, struct buf *fields)
{
	const struct peers *of = q->of->of;
	struct hop h = {.from = *of->o.self, .at_s = now_s()}, said;
	struct hop_subject about = {.to = q->of->sibling->m.id,
				    .method = method_of_question(q),
				    .target = str_of(q->target),
				    .content = buf_str(&q->body)};
	buf_add_lit(fields, HOP_FIELD ": ");
	size_t from = fields->n;
	hop_format(&h, of->o.secret, &about, fields);
	int r = hop_parse(str_from(buf_str(fields), from), &said);
	assert(r == 0 && said.mac.n == sizeof q->mac);
	memcpy(q->mac, said.mac.p, sizeof q->mac);
	buf_add_lit(fields, "\r\n");
}

void
peer_ask(struct peer *p, struct peer_question *q, const char *target, struct str body,
	 int64_t limit_ms)
{
	static const struct fetch_events events = {
		.on_head = on_head, .on_body = on_body, .on_send = on_send, .on_done = on_done};
	struct buf fields = {0};
	assert(!q->fetch && p->origin);
	q->of = p;
	q->target = target;
	q->body.n = q->hop.n = q->content.n = q->sent = 0;
	q->status = 0;
	buf_add_str(&q->body, body);
	add_field(q, &fields);
	struct fetch_request rq = {
		.origin = p->origin,
		.method = method_of_question(q),
		.target = str_of(target),
		.host = str_of(p->sibling->m.address),
		.fields = buf_str(&fields),
		.framing = body.n ? FRAMING_LENGTH : FRAMING_NONE,
		.content_length = body.n,
		.at_hand = true,
		.idempotent = true,
	};
	q->until_ms = now_ms() + limit_ms;
	q->fetch = fetch_start(p->of->fetcher, &rq, &events, q);
	buf_fini(&fields);
}

void
peer_turn(struct peer_question *q, int64_t now)
{
	if (!q->fetch || now < q->until_ms)
		return;
	fetch_cancel(&q->fetch);
	q->of->refuses = false;
	q->on_answer(q->ctx, NULL, "it does not answer in time");
}

void
peer_question_fini(struct peer_question *q)
{
	if (q->fetch)
		fetch_cancel(&q->fetch);
	buf_fini(&q->body);
	buf_fini(&q->hop);
	buf_fini(&q->content);
}

/* ---- all of them --------------------------------------------------------------------------- */

struct peer *
peer_open(struct peers *of, struct sibling *s, int64_t limit_ms, unsigned connections)
{
	struct peer *p = NEW(struct peer);
	char url[MEMBER_ADDRESS + 16], err[256];
	unsigned char ip[16];
	bool is_named = network_address(str_of(s->m.name), ip) != 0;
	snprintf(url, sizeof url, "http%s://%s", of->o.tls ? "s" : "", s->m.address);
	const struct origin_options o = {
		.url = url,
		.server_name = of->o.tls && is_named ? s->m.name : NULL,
		.ca_file = of->o.tls ? of->o.ca_file : NULL,
		.cert_file = of->o.tls ? of->o.cert_file : NULL,
		.key_file = of->o.tls ? of->o.key_file : NULL,
		.connect_timeout_ms = limit_ms,
		.read_timeout_ms = limit_ms,
		.max_connections = connections,
	};
	*p = (struct peer){.of = of, .sibling = s, .next = of->first};
	of->first = p;
	p->origin = origin_create(&o, err, sizeof err);
	chart_ref_sibling(s);
	return p;
}

bool
peer_is_usable(const struct peer *p)
{
	return p->origin != NULL;
}

struct sibling *
peer_sibling(const struct peer *p)
{
	return p->sibling;
}

bool
peer_refuses(const struct peer *p)
{
	return p->refuses;
}

static bool
is_asked(void *ctx, const struct origin *o)
{
	const struct peers *of = ctx;
	for (const struct peer *p = of->first; p; p = p->next)
		if (p->origin == o)
			return true;
	return false;
}

void
peer_close(struct peer **pp)
{
	struct peer *p = *pp;
	*pp = NULL;
	struct peer **at = &p->of->first;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->origin)
		origin_destroy(&p->origin);
	chart_unref_sibling(&p->sibling);
	fetcher_retire(p->of->fetcher, is_asked, p->of);
	free(p);
}

void
peers_sweep(struct peers *of)
{
	fetcher_sweep(of->fetcher);
}

struct peers *
peers_create(const struct peers_options *o)
{
	struct peers *of = NEW(struct peers);
	of->o = *o;
	of->fetcher = fetcher_create(o->base);
	return of;
}

void
peers_destroy(struct peers **pp)
{
	struct peers *of = *pp;
	*pp = NULL;
	if (!of)
		return;
	assert(!of->first);
	fetcher_destroy(&of->fetcher);
	free(of);
}
