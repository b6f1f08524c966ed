/* select.c - RFC 9111 section 4 has been asked (policy_reuse); here is what follows from its word.
 */
#include "proxy/serve/rules/select.h"

static enum selection
of_found(const struct select_facts *f)
{
	switch (f->reuse) {
	case REUSE_FRESH:
	case REUSE_STALE:
		return SELECT_ANSWER;
	case REUSE_STALE_REFRESH:
		return SELECT_ANSWER_REFRESH;
	case REUSE_VALIDATE:
		if (f->only_if_cached)
			return SELECT_REFUSE;
		return f->method == METHOD_HEAD ? SELECT_NEWS : SELECT_VALIDATE;
	case REUSE_NEVER:
		break;
	}
	return f->only_if_cached ? SELECT_REFUSE : SELECT_PASS;
}

enum selection
select_decide(const struct select_facts *f)
{
	if (f->found)
		return of_found(f);
	if (f->elsewhere)
		return SELECT_FETCH_AS_ASKED;
	if (f->only_if_cached)
		return SELECT_REFUSE;
	if (f->method == METHOD_HEAD || f->no_store)
		return SELECT_FETCH_ALONE;
	/* A first sighting that asks for a part, or whether its copy is still good, is not made to
	 * pull the whole object. On the second sighting the whole is fetched; when somebody fetches
	 * it already, this is the second. */
	if (!f->asks_for_less)
		return SELECT_FETCH;
	if (f->unseen)
		return SELECT_FETCH_AS_ASKED;
	return f->far_piece ? SELECT_FETCH_PIECE : SELECT_FETCH;
}

bool
select_is_done_here(enum selection s)
{
	return s == SELECT_ANSWER || s == SELECT_REFUSE || s == SELECT_PASS;
}
