/* retry_after.c - how long an origin that refused is left alone. */
#include "proxy/serve/rules/retry_after.h"

#include "proxy/http/date.h"
#include "proxy/http/syntax.h"

/* WAIT_MOST_S: a client waits so long in the middle of an answer. LIMITED_MS: for an origin that says
 * that it is asked too often, and not when it may be asked again. */
enum { WAIT_MS = 250, LIMITED_MS = 1000, WAIT_MOST_S = 5 };

bool
retry_after_is_limit(int status)
{
	return status == 429 || status == 503;
}

/* RFC 9110 10.2.3: seconds, or a date. */
static bool
read_wait(struct str retry_after, int64_t now_s, int64_t *wait_s)
{
	int64_t at;
	if (digits_parse(retry_after, wait_s))
		return true;
	if (!date_parse(retry_after, now_s, &at))
		return false;
	*wait_s = at > now_s ? at - now_s : 0;
	return true;
}

int64_t
retry_after_ms(int status, struct str retry_after, int64_t now_s)
{
	int64_t wait_s;
	if (!retry_after.n || !read_wait(retry_after, now_s, &wait_s))
		return retry_after_is_limit(status) ? LIMITED_MS : WAIT_MS;
	if (wait_s > WAIT_MOST_S)
		return -1;
	return wait_s ? wait_s * 1000 : WAIT_MS;
}
