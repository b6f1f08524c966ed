/* again.c - once more, and not at once. */
#include "proxy/serve/again.h"

#include "proxy/serve/rules/passes.h"
#include "proxy/serve/rules/retry_after.h"

enum { LIMITED_S = 60 };

bool
again_is_limited(const struct shelves *sh, const struct key *key)
{
	return passes_has(sh->passes, PASSES_LIMITED, key->primary, now_s());
}

static struct str
retry_after_of(const struct response *rs)
{
	unsigned at = 0;
	const struct field *f = fields_next_named(&rs->fields, STR("Retry-After"), &at);
	return f ? f->value : (struct str){0};
}

bool
again_may(struct fill *f, struct again *a, const struct response *rs, int64_t *at_ms)
{
	int status = rs ? rs->status : 0;
	int64_t now = now_ms(), after_ms;
	if (retry_after_is_limit(status))
		passes_remember(f->serve->shelves->passes, PASSES_LIMITED, f->key.primary,
				now_s() + LIMITED_S);
	*at_ms = 0;
	if (backend_another(&f->backend, now)) {
		metrics_add(f->serve->metrics, METRIC_ORIGIN_RETRIES, 1);
		return true;
	}
	after_ms = retry_after_ms(status, rs ? retry_after_of(rs) : (struct str){0}, now_s());
	if (!a->begun || a->done || after_ms < 0)
		return false;
	a->done = true;
	*at_ms = now + after_ms;
	return true;
}

bool
again_helps(enum fetch_end end)
{
	switch (end) {
	case FETCH_DNS:
	case FETCH_CONNECT:
	case FETCH_CONNECT_TIMEOUT:
	case FETCH_TLS:
	case FETCH_SEND:
	case FETCH_READ_TIMEOUT:
	case FETCH_CLOSED:
	case FETCH_PROTOCOL:
		return true;
	default: /* waiting was in vain already, or it is ours */
		return false;
	}
}
