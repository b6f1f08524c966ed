/* called.c - what is said of a Host comes from the configuration, or was a Host before: it fits a line. */
#include "proxy/origin/called.h"

#include "proxy/base/log.h"
#include "proxy/http/uri.h"
#include "proxy/origin/origin_inside.h"

#include <stdio.h>

enum { NAME_MOST = 253 };

/* For %.*s, of what may be long. */
#define NAME(s) (int)((s).n < NAME_MOST ? (s).n : NAME_MOST), (s).p

static bool
is_refusal(int status)
{
	return status == 403 || status == 404 || status == 421;
}

static bool
is_redirect(int status)
{
	return status >= 300 && status < 400 && status != 304;
}

bool
called_may_tell(const struct origin *o, int status)
{
	return !atomic_load_explicit(&o->called.is_well, memory_order_relaxed) ||
	       is_redirect(status);
}

/* The part of an origin that may change while it is used. */
static struct origin_called *
called_of(const struct origin *o)
{
	return &((struct origin *)(uintptr_t)o)->called;
}

/* ---- first answers --------------------------------------------------------------------------- */

static void
say_refused(const struct origin *o, int status, unsigned refusals, struct str sent)
{
	char which[40] = "first request";
	if (refusals > 1)
		snprintf(which, sizeof which, "first %u requests", refusals);
	log_warning(
		"the origin %s refused its %s (the last with %d), for Host: %.*s, which is %s; if it knows "
		"another name, set host: in origins (--host NAME)",
		o->url, which, status, NAME(sent), o->host ? "configured" : "the client's");
}

static void
look_at_first(const struct origin *o, const struct called_answer *a)
{
	struct origin_called *c = called_of(o);
	if (!is_refusal(a->status)) {
		atomic_store_explicit(&c->is_well, true, memory_order_relaxed);
		return;
	}
	unsigned n = atomic_fetch_add_explicit(&c->refusals, 1, memory_order_relaxed) + 1;
	if (n < CALLED_REFUSALS && a->status != 421)
		return;
	if (!atomic_exchange_explicit(&c->is_well, true, memory_order_relaxed))
		say_refused(o, a->status, n, origin_host(o, a->client));
}

/* ---- redirects ------------------------------------------------------------------------------- */

static bool
is_same_host(struct str a, struct str b)
{
	struct str x = uri_host(a), y = uri_host(b);
	return x.n && str_ieq(x, y);
}

static struct str
without_www(struct str authority)
{
	struct str host = uri_host(authority), www = STR("www.");
	bool has = host.n > www.n && str_ieq((struct str){host.p, www.n}, www);
	return has ? str_from(host, www.n) : host;
}

/* The names of an origin: that of its URL, and the Host that it is asked for. */
struct names {
	struct str url, host; /* empty: a socket has none, the client's */
	bool is_of_url, is_of_host, is_nearly_of_url;
};

static struct names
names_of(const struct origin *o, struct str to)
{
	struct names n = {.url = str_of(o->socket_path ? "" : o->authority),
			  .host = str_of(o->host ? o->host : "")};
	n.is_of_url = is_same_host(to, n.url);
	n.is_of_host = is_same_host(to, n.host);
	n.is_nearly_of_url = n.url.n && str_ieq(without_www(to), without_www(n.url));
	return n;
}

static void
add_way_out(const struct origin *o, const struct uri *to, const struct names *n, struct buf *out)
{
	bool is_https = str_ieq(to->scheme, STR("https"));
	const char *scheme = is_https || (!to->scheme.n && o->tls) ? "https" : "http";
	bool other_url = !n->is_of_host || n->is_of_url;
	if (other_url && (!n->is_of_url || (is_https && !o->tls)))
		buf_printf(out, "write %s://%.*s as its url", scheme, NAME(to->authority));
	if (n->is_of_url && !n->is_of_host)
		buf_printf(out, "%sset host: %.*s", out->n ? ", and " : "", NAME(n->url));
	if (!out->n)
		buf_add_lit(
			out,
			"set host: client (--host client) if it serves the name that clients use, "
			"or let it redirect to paths");
	buf_add(out, "", 1);
}

static void
say_redirect(const struct origin *o, const struct uri *to, const struct names *n, struct str sent)
{
	struct buf way_out = {0};
	add_way_out(o, to, n, &way_out);
	log_warning(
		"the origin %s redirects to %.*s%s//%.*s, its own name, where clients leave this proxy; it "
		"was asked for Host: %.*s; %s",
		o->url, NAME(to->scheme), to->scheme.n ? ":" : "", NAME(to->authority), NAME(sent),
		way_out.p);
	buf_fini(&way_out);
}

/* It names itself where its clients use another name. */
static void
look_at_redirect(const struct origin *o, const struct called_answer *a)
{
	struct origin_called *c = called_of(o);
	struct uri to;
	if (atomic_load_explicit(&c->is_told, memory_order_relaxed) ||
	    !uri_split(a->location, &to) || !to.authority.n ||
	    is_same_host(to.authority, a->client))
		return;
	struct names n = names_of(o, to.authority);
	if ((n.is_of_url || n.is_of_host || n.is_nearly_of_url) &&
	    !atomic_exchange_explicit(&c->is_told, true, memory_order_relaxed))
		say_redirect(o, &to, &n, origin_host(o, a->client));
}

void
called_look(const struct origin *o, const struct called_answer *a)
{
	look_at_first(o, a);
	if (is_redirect(a->status))
		look_at_redirect(o, a);
}
