/* news.c - whose fault is it that this answer is not kept? */
#include "proxy/serve/news.h"

static bool
is_full_success(int status)
{
	return status >= 200 && status < 300 && status != 206;
}

/* One client's, by its own word or by what that client sent: it does not say what others are answered. */
static bool
is_for_one(enum storable s)
{
	return s == STORABLE_PRIVATE || s == STORABLE_SET_COOKIE || s == STORABLE_CREDENTIAL;
}

bool
news_outdates_copy(const struct news_facts *f)
{
	if (is_for_one(f->storable))
		return false;
	if (!f->copy || f->credentials || !f->by_key || !is_full_success(f->status))
		return false;
	return f->method == METHOD_HEAD ? f->status == 200 && f->differs : f->method == METHOD_GET;
}

/* By what the answer says itself, not because of what this client sent. */
static bool
is_own_word(enum storable s)
{
	switch (s) {
	case STORABLE_YES:
	case STORABLE_NO_STORE:
	case STORABLE_PRIVATE:
	case STORABLE_NO_FRESHNESS:
	case STORABLE_NO_USE:
	case STORABLE_VARY_STAR:
	case STORABLE_SET_COOKIE:
		return true;
	default:
		return false;
	}
}

bool
news_ends_sharing(const struct news_facts *f)
{
	/* Where a copy could be used until now, one answer is not enough to believe otherwise. */
	return !f->copy && f->by_key && f->status < 400 && is_own_word(f->storable);
}
