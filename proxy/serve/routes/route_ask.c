/* route_ask.c - questions about one route, or about all that a URL may take: for people, and for what is
 * forgotten. They may cost time in proportion to the number of routes.
 */
#include "proxy/serve/routes/route_inside.h"

#include "proxy/http/syntax.h"

const struct route *
route_default(const struct routes *r)
{
	return &r->rules[r->count - 1].route;
}

unsigned
route_number(const struct routes *r, const struct route *found)
{
	for (unsigned i = 0; i + 1 < r->count; i++)
		if (found == &r->rules[i].route || found == &r->rules[i].passing)
			return i + 1;
	return 0;
}

unsigned
route_as_written(const struct routes *r, const struct request *rq)
{
	struct buf host = {0}, plain = {0};
	struct str path, query;
	route_add_host(rq->authority, &host);
	str_cut(rq->path_query, '?', &path, &query);
	unsigned i = route_index_find(r->index, buf_str(&host), route_plain(path, &plain), rq);
	buf_fini(&host);
	buf_fini(&plain);
	return i + 1 < r->count ? i + 1 : 0;
}

static bool
is_of_row(const struct route_index_row *row, const struct request *rq, struct str path)
{
	struct buf host = {0};
	struct route_index *alone = route_index_create(row, 1);
	route_add_host(rq->authority, &host);
	bool is = route_index_find(alone, buf_str(&host), path, rq) == 0;
	route_index_destroy(&alone);
	buf_fini(&host);
	return is;
}

/* Its conditions are not looked at. */
static bool
is_for_path(const struct rule *rule, const struct request *rq)
{
	struct route_index_row row = route_row(rule);
	struct buf form = {0}, plain = {0};
	struct str path, query;
	str_cut(rq->path_query, '?', &path, &query);
	row.conditions = NULL;
	bool is = is_of_row(&row, rq, route_plain(path, &plain)) ||
		  is_of_row(&row, rq, route_plain(route_key_form(path, &form), &plain));
	buf_fini(&form);
	buf_fini(&plain);
	return is;
}

enum route_difference
route_difference(const struct routes *r, unsigned number, const struct request *rq)
{
	const struct rule *rule = &r->rules[number - 1];
	const struct route_index_row any_path = {.host = rule->host};
	if (!is_of_row(&any_path, rq, rq->path_query))
		return ROUTE_HOST_DIFFERS;
	if (!is_for_path(rule, rq))
		return ROUTE_PATH_DIFFERS;
	if (rule->conditions && !route_conditions_have_method(rule->conditions, rq))
		return ROUTE_METHOD_DIFFERS;
	if (rule->conditions && !route_conditions_have_fields(rule->conditions, rq))
		return ROUTE_FIELDS_DIFFER;
	return ROUTE_NO_DIFFERENCE;
}

/* ---- all keys of a URL ------------------------------------------------------------------------ */

struct urls {
	const struct request *rq; /* a GET without fields */
	struct buf text, told;	  /* told: each with "\n" at either end */
	bool splits;
	route_url_fn *each;
	void *ctx;
};

static void
tell_url(struct urls *u, const struct route *route)
{
	u->text.n = 0;
	u->splits = u->splits || route_splits_urls(route);
	buf_add_lit(&u->text, "\n");
	cachekey_add_url(u->rq->scheme, u->rq->authority, u->rq->path_query, &route->key, &u->text);
	size_t n = u->text.n;
	buf_add_lit(&u->text, "\n");
	if (u->told.n && memmem(u->told.p, u->told.n, u->text.p, u->text.n))
		return;
	buf_add_str(&u->told, buf_str(&u->text));
	u->each(u->ctx, (struct str){u->text.p + 1, n - 1});
}

bool
route_each_url(const struct routes *r, const struct request *rq, route_url_fn *each, void *ctx)
{
	struct request get = *rq;
	struct urls u = {.rq = &get, .each = each, .ctx = ctx};
	get.method = METHOD_GET;
	get.fields = (struct fields){0};
	tell_url(&u, route_find(r, &get));
	for (unsigned i = 0; r->by_more && i < r->count; i++) {
		const struct rule *rule = &r->rules[i];
		if (rule->conditions && rule->conditions->field_count &&
		    route_conditions_have_method(rule->conditions, &get) && is_for_path(rule, &get))
			tell_url(&u, &rule->route);
	}
	buf_fini(&u.text);
	buf_fini(&u.told);
	return u.splits;
}

bool
route_is_by_more(const struct routes *r)
{
	return r->by_more;
}
