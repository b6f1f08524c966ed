/* numbers.c - sums over workers. */
#include "proxy/node/numbers.h"

#include "config/config.h"
#include "config/listen.h"
#include "proxy/base/clock.h"
#include "proxy/wire/tls_cert.h"
#include "proxy/wire/tls_server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
add_origin(const struct origin_measures *from, struct report_origin *to)
{
	to->requests += atomic_load_explicit(&from->requests, memory_order_relaxed);
	to->errors += atomic_load_explicit(&from->errors, memory_order_relaxed);
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		to->answers[class] +=
			atomic_load_explicit(&from->answers[class], memory_order_relaxed);
	histogram_sum_add(&to->wait_us, &from->wait_us);
}

void
numbers_count(const struct worker *workers, unsigned n, struct report *out)
{
	for (unsigned w = 0; w < n; w++)
		for (int i = 0; i < METRIC_COUNT; i++)
			out->n[i] += atomic_load_explicit(&workers[w].metrics.n[i],
							  memory_order_relaxed);
}

static void
add_worker(const struct worker *w, const unsigned *numbers, struct report *out)
{
	for (int i = 0; i < MEASURE_COUNT; i++)
		histogram_sum_add(&out->measures[i], &w->measures.of[i]);
	for (unsigned i = 0; i < out->origin_count; i++)
		add_origin(&w->measures.origins[numbers[i]], &out->origins[i]);
	out->active_fetches += atomic_load_explicit(&w->active_fetches, memory_order_relaxed);
}

_Static_assert((int)REPORT_ADDRESSES_MOST == (int)ORIGIN_ADDRESSES_TOLD, "all have room");
_Static_assert((int)REPORT_ORIGIN_OUT == (int)UPSTREAM_OUT, "add_group casts between these");

static void
add_group(const struct upstream *u, unsigned *numbers, struct report *out)
{
	for (unsigned i = 0; i < upstream_count(u); i++) {
		struct upstream_state s = upstream_state(u, i, now_ms());
		struct report_origin *to = &out->origins[out->origin_count];
		numbers[out->origin_count++] = s.number;
		to->url = s.url;
		to->group = s.group;
		to->condition = (enum report_condition)s.condition;
		to->why = s.why;
		to->returns_ms = s.returns_ms;
		to->under_way = s.active;
		to->address_count = origin_addresses(upstream_server_origin(u, i), to->addresses);
	}
}

void
numbers_add(const struct worker *workers, unsigned n, const struct origins *origins,
	    struct report *out)
{
	unsigned numbers[REPORT_ORIGINS_MOST]; /* under which its servers are counted */
	out->workers = n;
	numbers_count(workers, n, out);
	for (unsigned g = 0; g < origins->group_count; g++)
		add_group(origins->groups[g], numbers, out);
	for (unsigned i = 0; i < n; i++)
		add_worker(&workers[i], numbers, out);
}

static void
add_route(const struct route_measures *from, struct report_route *to)
{
	to->requests += atomic_load_explicit(&from->requests, memory_order_relaxed);
	to->hits += atomic_load_explicit(&from->hits, memory_order_relaxed);
	to->bytes += atomic_load_explicit(&from->bytes, memory_order_relaxed);
	for (int class = 0; class < MEASURES_CLASSES; class ++)
		to->answers[class] +=
			atomic_load_explicit(&from->answers[class], memory_order_relaxed);
	histogram_sum_add(&to->first_byte_us, &from->first_byte_us);
}

_Static_assert((int)REPORT_ROUTES_MOST >= (int)CONFIG_NAMES_MOST, "each name has a row");

void
numbers_routes(const struct worker *workers, unsigned n, const struct config *c,
	       const unsigned char *counted, struct report *out)
{
	const char *names[CONFIG_NAMES_MOST];
	out->route_count = config_route_names(c, names);
	for (unsigned i = 0; i < out->route_count; i++) {
		unsigned r = 0;
		while (!c->routes[r].name || strcmp(c->routes[r].name, names[i]) != 0)
			r++;
		out->routes[i].name = names[i];
		for (unsigned w = 0; w < n; w++)
			add_route(&workers[w].measures.routes[counted[r]], &out->routes[i]);
	}
}

void
numbers_certificates(struct tls_server *tls, struct report *out)
{
	struct tls_certs *certs = tls ? tls_server_certs(tls) : NULL;
	struct report_configuration *c = &out->configuration;
	const struct tls_cert *from;
	while (certs && c->certificate_count < REPORT_CERTIFICATES_MOST &&
	       (from = tls_certs_ending(certs, c->certificate_count))) {
		struct report_certificate *to = &c->certificates[c->certificate_count++];
		snprintf(to->name, sizeof to->name, "%s", from->name_count ? from->names[0] : "");
		snprintf(to->file, sizeof to->file, "%s", from->path);
		to->until_s = from->until;
	}
	tls_certs_unref(&certs);
}

void
numbers_name(const struct config *c, const unsigned *ports, struct report *out)
{
	gethostname(out->node, sizeof out->node - 1);
	for (unsigned i = 0; i < c->listen_count && i < REPORT_LISTEN_MOST; i++) {
		const char *colon = strrchr(c->listen[i], ':');
		int n = colon ? (int)(colon - c->listen[i]) : (int)strlen(c->listen[i]);
		if (config_listen_path(c->listen[i]))
			snprintf(out->listen[i], sizeof out->listen[i], "%s", c->listen[i]);
		else
			snprintf(out->listen[i], sizeof out->listen[i], "%.*s:%u", n, c->listen[i],
				 ports[i]);
		out->listen_count++;
	}
}
