/* validator.c - strong validators of heads. */
#include "proxy/serve/validator.h"

#include "proxy/http/date.h"
#include "proxy/http/precond.h"

struct str
validator_strong(const struct fields *f, int64_t now_s)
{
	struct str etag = fields_get(f, FIELD_ETAG);
	struct str modified = fields_get(f, FIELD_LAST_MODIFIED);
	int64_t at, date;
	if (etag.n)
		return etag_strong_match(etag, etag) ? etag : (struct str){0};
	bool strong = date_parse(modified, now_s, &at) &&
		      date_parse(fields_get(f, FIELD_DATE), now_s, &date) && date > at;
	return strong ? modified : (struct str){0};
}

bool
validator_is_of(struct str ours, const struct fields *f)
{
	struct str etag = fields_get(f, FIELD_ETAG);
	return etag.n ? etag_strong_match(ours, etag)
		      : ours.n && str_eq(ours, fields_get(f, FIELD_LAST_MODIFIED));
}
