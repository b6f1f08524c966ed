/* fleet_list.c - members without an engine: a list of addresses, and of names whose addresses they are.
 *
 * All weigh the same, and a node's id is made of its address, so that all nodes with the same list and the same
 * secret have the same ring.
 */
#include "proxy/fleet/fleet_inside.h"

#include "proxy/base/clock.h"
#include "proxy/base/log.h"
#include "proxy/base/mem.h"
#include "proxy/fleet/node_id.h"
#include "proxy/origin/resolver.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the list ------------------------------------------------------------------------------ */

static void
cut(const char *text, struct fleet_entry *e)
{
	struct str s = str_of(text), host;
	size_t at = s.n;
	while (at > 0 && s.p[at - 1] != ':')
		at--;
	host = (struct str){s.p, at ? at - 1 : 0};
	if (host.n > 1 && host.p[0] == '[')
		host = (struct str){host.p + 1, host.n - 2};
	snprintf(e->host, sizeof e->host, "%.*s", STR_ARG(host));
	snprintf(e->port, sizeof e->port, "%s", text + at);
}

static uint64_t
id_of(const struct fleet *f, const char *address)
{
	char mac[SECRET_MAC_TEXT];
	struct str parts[] = {STR("listed"), str_of(address)};
	uint64_t id = 0;
	secret_sign(&f->secret, SECRET_RECORD, parts, 2, mac);
	node_id_parse((struct str){mac, NODE_ID_TEXT}, &id);
	return id;
}

int
fleet_open_list(struct fleet *f, char *const *members, unsigned n, struct resolver *r, char *err,
		size_t err_bytes)
{
	unsigned char ip[16];
	if (n > FLEET_LIST_MOST) {
		snprintf(err, err_bytes, "%u are listed; at most %d can be", n, FLEET_LIST_MOST);
		return -1;
	}
	for (unsigned i = 0; i < n; i++) {
		struct fleet_entry *e = &f->list.of[i];
		if (!member_may_be_at(str_of(members[i]))) {
			snprintf(err, err_bytes, "\"%.100s\" is not HOST:PORT", members[i]);
			return -1;
		}
		cut(members[i], e);
		if (network_address(str_of(e->host), ip) && r)
			e->found = resolver_take(r, e->host);
		f->list.n++;
	}
	f->me.id = id_of(f, f->me.address);
	return 0;
}

void
fleet_close_list(struct fleet *f)
{
	for (unsigned i = 0; i < f->list.n; i++)
		if (f->list.of[i].found)
			addresses_destroy(&f->list.of[i].found);
	f->list.n = 0;
}

/* ---- members ------------------------------------------------------------------------------- */

static void
add(struct fleet *f, struct roster *r, const struct fleet_entry *e, const char *ip)
{
	struct member m = {.weight = 1, .instance = 1};
	snprintf(m.address, sizeof m.address, strchr(ip, ':') ? "[%s]:%s" : "%s:%s", ip, e->port);
	snprintf(m.name, sizeof m.name, "%.*s", MEMBER_NAME - 1, e->host);
	if (strcmp(m.address, f->me.address) == 0)
		m = f->me;
	m.weight = 1;
	m.id = id_of(f, m.address);
	roster_put(r, &m);
}

static struct roster
look_up(struct fleet *f)
{
	struct roster r = {0};
	struct ip *found = mem_zalloc(ADDRESSES_MOST * sizeof *found);
	for (unsigned i = 0; i < f->list.n; i++) {
		const struct fleet_entry *e = &f->list.of[i];
		char ip[ADDRESS_HOST_BYTES];
		unsigned n = e->found ? addresses_list(e->found, found, ADDRESSES_MOST) : 0;
		if (!e->found)
			add(f, &r, e, e->host);
		for (unsigned k = 0; k < n && k < ADDRESSES_MOST; k++) {
			addresses_print(&found[k], ip);
			add(f, &r, e, ip);
		}
	}
	free(found);
	return r;
}

/* ---- changes ------------------------------------------------------------------------------- */

static void
copy_settled(struct roster *to, const struct roster *from)
{
	to->settled_n = from->settled_n;
	to->settled = mem_zalloc((from->settled_n + 1) * sizeof *to->settled);
	if (from->settled_n)
		memcpy(to->settled, from->settled, from->settled_n * sizeof *to->settled);
	to->hands_over = from->hands_over;
}

static void
warn_if_absent(const struct fleet *f, const struct roster *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->of[i].id == f->me.id)
			return;
	log_warning(
		"fleet: this node listens on %s, which fleet.members does not name; it owns nothing",
		f->me.address);
}

void
fleet_list_turn(struct fleet *f, int64_t now)
{
	if (f->beats.engine || now < f->list.due_ms)
		return;
	bool first = f->list.due_ms == 0;
	f->list.due_ms = now + BEAT_EVERY_MS;
	struct roster r = look_up(f);
	bool changed = !first && !roster_has_ring_of(&r, &f->roster);
	enum settled_step step = settled_turn(&f->list.series, changed, now);
	if (!first && !changed && step == SETTLED_STAYS) {
		roster_fini(&r);
		return;
	}
	if (first || step == SETTLED_ENDS) {
		roster_settle(&r);
	} else {
		copy_settled(&r, &f->roster);
		r.hands_over = true;
	}
	if (first || changed)
		warn_if_absent(f, &r);
	fleet_adopt(f, &r);
}
