/* pool.c - keeping connections to an origin, and what libcurl is told about that origin. */
#include "proxy/origin/pool.h"

#include "proxy/base/mem.h"
#include "proxy/origin/origin.h"

#include <assert.h>
#include <openssl/ssl.h>

/* Origins close idle connections after 60 to 75 s as a rule; ours go first. */
enum { IDLE_MS = 55 * 1000 };

/* What a paused fetch may hold twice: once read, once kept by libcurl. See fetch.h. */
enum { READ_BYTES = 32 << 10 };

static void
on_tls_event(const SSL *ssl, int where, int alert)
{
	struct lane *l = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	if (where == SSL_CB_READ_ALERT && (alert & 0xff) == SSL3_AD_CLOSE_NOTIFY)
		l->farewell = true;
}

/* The CA certificates come from the origin's own store: libcurl would read the file again for
 * every lane. And libcurl does not tell a closure alert from a connection that just ended. */
static CURLcode
on_tls_context(CURL *easy, void *ctx, void *arg)
{
	struct lane *l = arg;
	const struct pool *p = l->pool;
	(void)easy;
	l->farewell = false;
	if (p->origin->trust)
		SSL_CTX_set1_cert_store(ctx, p->origin->trust);
	SSL_CTX_set_app_data((SSL_CTX *)ctx, l);
	SSL_CTX_set_info_callback(ctx, on_tls_event);
	return CURLE_OK;
}

/* Without the two NULLs libcurl copies its default paths for every request, plain ones too. */
static void
set_tls(struct lane *l, const struct origin *o)
{
	CURL *e = l->easy;
	curl_easy_setopt(e, CURLOPT_CAINFO, NULL);
	curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_FUNCTION, on_tls_context);
	curl_easy_setopt(e, CURLOPT_SSL_CTX_DATA, l);
}

static void
set_origin(struct lane *l, const struct pool *p)
{
	CURL *e = l->easy;
	curl_easy_setopt(e, CURLOPT_CURLU, p->origin->place);
	curl_easy_setopt(e, CURLOPT_CONNECT_TO, p->origin->connect_to);
	curl_easy_setopt(e, CURLOPT_SHARE, p->share);
	curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(e, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)READ_BYTES);
	curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
	set_tls(l, p->origin);
}

void
pool_init(struct pool *p, const struct origin *o, struct event_base *base,
	  const struct lane_owner *owner)
{
	*p = (struct pool){.origin = o, .base = base, .owner = owner};
	TAILQ_INIT(&p->idle);
	LIST_INIT(&p->lanes);
	p->share = curl_share_init();
	assert(p->share);
	curl_share_setopt(p->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS);
	curl_share_setopt(p->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
}

static void
destroy(struct lane *l)
{
	LIST_REMOVE(l, all);
	l->pool->count--;
	lane_destroy(&l);
}

void
pool_fini(struct pool *p)
{
	while (!LIST_EMPTY(&p->lanes))
		destroy(LIST_FIRST(&p->lanes));
	curl_share_cleanup(p->share);
	*p = (struct pool){0};
}

static struct lane *
create(struct pool *p)
{
	struct lane *l = lane_create(p->base, p->owner);
	l->pool = p;
	set_origin(l, p);
	p->owner->on_new(l);
	LIST_INSERT_HEAD(&p->lanes, l, all);
	p->count++;
	return l;
}

struct lane *
pool_take(struct pool *p)
{
	struct lane *l;
	while ((l = TAILQ_FIRST(&p->idle))) {
		TAILQ_REMOVE(&p->idle, l, idle);
		if (!lane_has_connection(l) || lane_is_clean(l))
			return l;
		destroy(l);
	}
	return p->count < p->origin->max_connections ? create(p) : NULL;
}

void
pool_give(struct lane *l)
{
	l->user = NULL;
	l->idle_since_ms = lane_now_ms();
	lane_wake_at(l, l->idle_since_ms + IDLE_MS);
	if (lane_has_connection(l))
		TAILQ_INSERT_HEAD(&l->pool->idle, l, idle);
	else
		TAILQ_INSERT_TAIL(&l->pool->idle, l, idle);
}

void
pool_lost(struct lane *l)
{
	TAILQ_REMOVE(&l->pool->idle, l, idle);
	destroy(l);
}

void
pool_wake(struct lane *l)
{
	if (lane_now_ms() >= l->idle_since_ms + IDLE_MS)
		pool_lost(l);
	else
		lane_wake_at(l, l->idle_since_ms + IDLE_MS);
}
