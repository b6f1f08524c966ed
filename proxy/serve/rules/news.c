/* news.c - whose fault is it that this answer is not kept? */
#include "proxy/serve/rules/news.h"

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

/* The answer would be the same whoever asked: nothing of this client's can be the reason, or two clients
 * were told so. */
static bool
is_of_key(const struct news_facts *f)
{
	return !f->own || f->heard;
}

static bool
contradicts(const struct news_facts *f)
{
	bool said = f->storable == STORABLE_CLIENT_ERROR || f->storable == STORABLE_VARY_ASKED ||
		    (is_own_word(f->storable) && f->storable != STORABLE_YES);
	return said && is_of_key(f) && policy_is_word_on_page(f->status);
}

enum news_of_copy
news_of_copy(const struct news_facts *f)
{
	if (!f->copy || f->credentials || !f->by_key)
		return NEWS_NONE;
	if (f->method == METHOD_GET && contradicts(f))
		return NEWS_CONTRADICTS;
	if (is_for_one(f->storable) || !is_full_success(f->status))
		return NEWS_NONE;
	bool outdates =
		f->method == METHOD_HEAD ? f->status == 200 && f->differs : f->method == METHOD_GET;
	return outdates ? NEWS_OUTDATES : NEWS_NONE;
}

/* An error, too, says by its status alone that it is for nobody else. */
static bool
is_for_nobody_else(const struct news_facts *f)
{
	if (f->status < 400)
		return is_own_word(f->storable);
	return is_of_key(f) && (is_own_word(f->storable) || f->storable == STORABLE_CLIENT_ERROR ||
				f->storable == STORABLE_STATUS);
}

bool
news_ends_sharing(const struct news_facts *f)
{
	/* Where a copy could be used until now, one answer is not enough to believe otherwise. */
	bool of_use = f->copy && !f->contradicted && news_of_copy(f) != NEWS_CONTRADICTS;
	return !of_use && f->by_key && is_for_nobody_else(f);
}

bool
news_needs_witness(const struct news_facts *f)
{
	struct news_facts one = *f, two = *f;
	one.heard = false;
	two.heard = true;
	return news_of_copy(&one) != news_of_copy(&two) ||
	       news_ends_sharing(&one) != news_ends_sharing(&two);
}
