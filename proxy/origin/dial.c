/* dial.c - a libcurl multi handle on the event loop, for as long as it takes to connect. */
#define CURL_DISABLE_DEPRECATION /* curl_multi_socket_all: see on_nudge */
#include "proxy/origin/dial.h"

#include "proxy/base/buf.h"
#include "proxy/base/clock.h"
#include "proxy/base/mem.h"
#include "proxy/base/network.h"
#include "proxy/base/process.h"
#include "proxy/origin/origin_inside.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPARES_MOST = 4 };

struct dial {
	struct dials *of;
	struct dial *next; /* while it is a spare one */
	CURLM *multi;
	CURL *easy;
	struct event *timer;
	dial_done_fn *done;
	void *ctx;
	int given; /* the socket that was handed out and is not to be closed here; -1: none */
	bool farewell;
	bool nowhere;			  /* there is no address to try */
	int lacking;			  /* why this machine had no socket to give (errno); or 0 */
	SSL *ssl;			  /* libcurl's */
	int alert;			  /* the fatal one that came; 0: none */
	struct ip order[ADDRESSES_TRIED]; /* in which addresses are tried */
	unsigned order_n;
	int64_t begun_ms;
	struct event *nudge;	     /* while there are several */
	struct curl_slist *resolved; /* the same in libcurl's words */
	struct ip peer;
	char error[CURL_ERROR_SIZE];
};

/* -- addresses --------------------------------------------------------------------------------- */

/* "name:port:192.0.2.1,[2001:db8::1]". */
static void
say_order(struct dial *d)
{
	char text[ADDRESS_HOST_BYTES];
	struct buf b = {0};
	buf_printf(&b, "%s:%s:", d->of->origin->name, d->of->origin->port);
	for (unsigned i = 0; i < d->order_n; i++) {
		addresses_print(&d->order[i], text);
		buf_printf(&b, strchr(text, ':') ? "%s[%s]" : "%s%s", i ? "," : "", text);
	}
	buf_add(&b, "", 1);
	d->resolved = curl_slist_append(NULL, b.p);
	buf_fini(&b);
}

/* fd: the open connection, or -1. */
static void
tell_addresses(struct dial *d, int fd)
{
	struct sockaddr_storage sa;
	socklen_t bytes = sizeof sa;
	unsigned i = d->order_n;
	if (fd >= 0 && getpeername(fd, (struct sockaddr *)&sa, &bytes) == 0) {
		network_of_socket((struct sockaddr *)&sa, d->peer.bytes);
		for (i = 0; i < d->order_n; i++)
			if (memcmp(&d->order[i], &d->peer, sizeof d->peer) == 0)
				break;
	}
	addresses_tell(d->of->origin->addresses, d->order, d->order_n, i, now_ms());
	d->order_n = 0;
}

const struct ip *
dial_peer(const struct dial *d)
{
	return &d->peer;
}

/* A lack of ports to connect from cannot be told here from an address that no port would reach. */
static curl_socket_t
on_curl_open(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct dial *d = arg;
	(void)purpose;
	int fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
	bool lacks = fd < 0 &&
		     (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
	if (fd >= process_files_for_peers()) {
		close(fd);
		fd = -1;
		lacks = true;
		errno = EMFILE;
	}
	if (lacks)
		d->lacking = errno;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* -- the event loop ---------------------------------------------------------------------------- */

/* The last thing done by whoever calls it: d may be gone afterwards. */
static void
look_for_end(struct dial *d)
{
	int left;
	CURLMsg *m = curl_multi_info_read(d->multi, &left);
	if (!m)
		return;
	CURLcode code = m->data.result;
	curl_socket_t open = CURL_SOCKET_BAD;
	int lacks = code == CURLE_COULDNT_CONNECT ? d->lacking : 0;
	if (code == CURLE_OK)
		curl_easy_getinfo(d->easy, CURLINFO_ACTIVESOCKET, &open);
	if (d->order_n && !lacks)
		tell_addresses(d, open);
	if (d->nudge)
		event_del(d->nudge);
	if (!d->of->origin->tls)
		d->given = open;
	if (lacks)
		d->done(d->ctx, CURLE_INTERFACE_FAILED, -1, strerror(lacks));
	else
		d->done(d->ctx, code, open, d->error[0] ? d->error : curl_easy_strerror(code));
}

static void
turn(struct dial *d, curl_socket_t fd, int bits)
{
	int running;
	curl_multi_socket_action(d->multi, fd, bits, &running);
	look_for_end(d);
}

static void
on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	turn(arg, fd,
	     (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	struct dial *d = arg;
	if (d->nowhere)
		d->done(d->ctx, CURLE_COULDNT_RESOLVE_HOST, -1,
			"no address of its name is known yet");
	else
		turn(d, CURL_SOCKET_TIMEOUT, 0);
}

/* libcurl 7.88 sets its timer for the share of an address a moment too early, finds that the share
 * is not over, and sets none again; nor does it when it turns to the next address. So it is made to
 * look now and then, by the only call that makes it look without a timer or a socket. */
static void
on_nudge(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;
	int running;
	(void)fd;
	(void)what;
	curl_multi_socket_all(d->multi, &running);
	look_for_end(d);
}

static void
begin_nudges(struct dial *d)
{
	enum { LOOKS = 16 };
	int64_t ms = d->of->origin->connect_timeout_ms / LOOKS + 1;
	struct timeval every = {ms / 1000, ms % 1000 * 1000};
	d->nudge = event_new(d->of->base, -1, EV_PERSIST, on_nudge, d);
	assert(d->nudge);
	event_add(d->nudge, &every);
}

static int
on_curl_timer(CURLM *multi, long ms, void *arg)
{
	struct dial *d = arg;
	struct timeval tv = {ms / 1000, ms % 1000 * 1000};
	(void)multi;
	if (ms < 0)
		evtimer_del(d->timer);
	else
		evtimer_add(d->timer, &tv);
	return 0;
}

static int
on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct dial *d = arg;
	struct event *e = known;
	(void)easy;
	if (e)
		event_free(e);
	e = NULL;
	if (what != CURL_POLL_REMOVE) {
		short events = EV_PERSIST | (what & CURL_POLL_IN ? EV_READ : 0) |
			       (what & CURL_POLL_OUT ? EV_WRITE : 0);
		e = event_new(d->of->base, fd, events, on_socket_ready, d);
		event_add(e, NULL);
	}
	curl_multi_assign(d->multi, fd, e);
	return 0;
}

static int
on_curl_close(void *arg, curl_socket_t fd)
{
	struct dial *d = arg;
	return fd == d->given ? 0 : close(fd);
}

/* -- TLS --------------------------------------------------------------------------------------- */

static void
on_tls_event(const SSL *ssl, int where, int alert)
{
	struct dial *d = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	d->ssl = (SSL *)(uintptr_t)ssl;
	if (where == SSL_CB_READ_ALERT && (alert & 0xff) == SSL3_AD_CLOSE_NOTIFY)
		d->farewell = true;
	else if (where == SSL_CB_READ_ALERT && alert >> 8 == SSL3_AL_FATAL)
		d->alert = alert & 0xff;
}

/* Certificates come from what the origin has read: libcurl would read the file again for
 * every connection. And libcurl does not tell a closure alert from an end without one. */
static CURLcode
on_tls_context(CURL *easy, void *ctx, void *arg)
{
	struct dial *d = arg;
	(void)easy;
	origin_tls_use(&d->of->origin->files, ctx);
	SSL_CTX_set_app_data((SSL_CTX *)ctx, d);
	SSL_CTX_set_info_callback(ctx, on_tls_event);
	return CURLE_OK;
}

ssize_t
dial_send(struct dial *d, const char *p, size_t n)
{
	size_t sent = 0;
	CURLcode r = curl_easy_send(d->easy, p, n, &sent);
	if (r == CURLE_OK)
		return (ssize_t)sent;
	errno = r == CURLE_AGAIN ? EAGAIN : EPIPE;
	return -1;
}

ssize_t
dial_recv(struct dial *d, char *p, size_t n)
{
	size_t got = 0;
	CURLcode r = curl_easy_recv(d->easy, p, n, &got);
	if (r == CURLE_OK)
		return (ssize_t)got;
	errno = r == CURLE_AGAIN ? EAGAIN : ECONNRESET;
	return -1;
}

void
dial_end(struct dial *d)
{
	ERR_clear_error();
	if (d->ssl)
		SSL_shutdown(d->ssl);
}

bool
dial_farewell(const struct dial *d)
{
	return d->farewell;
}

/* In TLS 1.3 a server refuses the client's certificate, or misses it, after the client's handshake. */
const char *
dial_alert(const struct dial *d)
{
	switch (d->alert) {
	case 0:
		return NULL;
	case SSL_AD_CERTIFICATE_REQUIRED:
		return "TLS alert certificate_required: it wants a client certificate (cert_file)";
	case SSL_AD_BAD_CERTIFICATE:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_EXPIRED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNKNOWN_CA:
		return "TLS alert: it refuses the client certificate (cert_file)";
	default:
		return "the origin ended TLS by an alert";
	}
}

/* -- life -------------------------------------------------------------------------------------- */

static void
set_options(struct dial *d, CURLSH *share)
{
	CURL *e = d->easy;
	const struct origin *o = d->of->origin;
	curl_easy_setopt(e, CURLOPT_CURLU, o->place);
	curl_easy_setopt(e, CURLOPT_CONNECT_TO, o->connect_to);
	/* Of several addresses one that is silent may take half of what is left. */
	curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_timeout_ms);
	curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, o->socket_path);
	curl_easy_setopt(e, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(e, CURLOPT_SHARE, share);
	curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, d->error);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_curl_open);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, d);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, on_curl_close);
	curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, d);
	curl_easy_setopt(e, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, d);
}

static void
find_order(struct dial *d)
{
	if (!d->of->origin->addresses)
		return;
	d->begun_ms = now_ms();
	d->order_n = addresses_order(d->of->origin->addresses, d->order, d->begun_ms);
	d->nowhere = d->order_n == 0;
	if (d->order_n)
		say_order(d);
	if (d->order_n > 1)
		begin_nudges(d);
}

static struct dial *
make(struct dials *ds)
{
	struct dial *d = NEW(struct dial);
	*d = (struct dial){.of = ds};
	d->timer = evtimer_new(ds->base, on_timer, d);
	d->multi = curl_multi_init();
	d->easy = curl_easy_init();
	assert(d->timer && d->multi && d->easy);
	set_options(d, ds->share);
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(d->multi, CURLMOPT_SOCKETDATA, d);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(d->multi, CURLMOPT_TIMERDATA, d);
	return d;
}

static struct dial *
take_spare(struct dials *ds)
{
	struct dial *d = ds->spare;
	assert((d == NULL) == (ds->spares == 0));
	if (!d)
		return NULL;
	ds->spare = d->next;
	ds->spares--;
	*d = (struct dial){.of = ds, .timer = d->timer, .multi = d->multi, .easy = d->easy};
	return d;
}

static void
unmake(struct dial *d)
{
	curl_multi_cleanup(d->multi);
	curl_easy_cleanup(d->easy);
	event_free(d->timer);
	free(d);
}

void
dials_init(struct dials *ds, struct event_base *base, const struct origin *o)
{
	*ds = (struct dials){.base = base, .origin = o, .share = curl_share_init()};
	assert(ds->share);
	if (!o->addresses)
		curl_share_setopt(ds->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
	curl_share_setopt(ds->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

void
dials_fini(struct dials *ds)
{
	for (struct dial *d; (d = take_spare(ds));)
		unmake(d);
	curl_share_cleanup(ds->share);
	*ds = (struct dials){0};
}

struct dial *
dial_create(struct dials *ds, dial_done_fn *done, void *ctx)
{
	struct dial *d = take_spare(ds);
	if (!d)
		d = make(ds);
	d->done = done;
	d->ctx = ctx;
	d->given = -1;
	find_order(d);
	curl_easy_setopt(d->easy, CURLOPT_RESOLVE, d->resolved);
	if (d->nowhere)
		event_active(d->timer, EV_TIMEOUT, 0);
	else
		curl_multi_add_handle(d->multi, d->easy);
	return d;
}

void
dial_destroy(struct dial **pd)
{
	struct dial *d = *pd;
	if (!d)
		return;
	if (d->order_n && now_ms() - d->begun_ms >= d->of->origin->connect_timeout_ms / 2)
		tell_addresses(d, -1); /* it was given up because it took too long */
	if (!d->nowhere)
		curl_multi_remove_handle(d->multi, d->easy);
	curl_slist_free_all(d->resolved);
	if (d->nudge)
		event_free(d->nudge);
	evtimer_del(d->timer);
	*pd = NULL;
	if (d->of->origin->tls || d->of->spares == SPARES_MOST) {
		unmake(d);
		return;
	}
	d->next = d->of->spare;
	d->of->spare = d;
	d->of->spares++;
}
