/* validator.c - strong validators of heads. */
#include "proxy/serve/rules/validator.h"

#include "proxy/http/date.h"
#include "proxy/http/precond.h"

bool
validator_is_time(int64_t last_modified)
{
	static const int64_t first = 631152000; /* 1990: there was no HTTP before that */
	return last_modified == -1 || last_modified >= first;
}

struct str
validator_strong(const struct fields *f, int64_t now_s)
{
	struct str etag = fields_get(f, FIELD_ETAG);
	struct str modified = fields_get(f, FIELD_LAST_MODIFIED);
	int64_t at, date;
	bool dated = date_parse(modified, now_s, &at);
	if (dated && !validator_is_time(at))
		return (struct str){0};
	if (etag.n)
		return etag_strong_match(etag, etag) ? etag : (struct str){0};
	bool strong = dated && date_parse(fields_get(f, FIELD_DATE), now_s, &date) && date > at;
	return strong ? modified : (struct str){0};
}

/* RFC 9110 8.8.2.2: a minute behind it, whatever the clocks of those who write and who serve. */
static bool
is_long_written(const struct fields *f, int64_t now_s)
{
	enum { MINUTE = 60 };
	int64_t at, date;
	return date_parse(fields_get(f, FIELD_LAST_MODIFIED), now_s, &at) &&
	       validator_is_time(at) && date_parse(fields_get(f, FIELD_DATE), now_s, &date) &&
	       date - at >= MINUTE;
}

bool
validator_is_of_time(const struct fields *ours, const struct fields *theirs, int64_t now_s)
{
	return str_eq(fields_get(ours, FIELD_LAST_MODIFIED),
		      fields_get(theirs, FIELD_LAST_MODIFIED)) &&
	       is_long_written(ours, now_s) && is_long_written(theirs, now_s);
}

bool
validator_is_of(struct str ours, const struct fields *f)
{
	struct str etag = fields_get(f, FIELD_ETAG);
	return etag.n ? etag_strong_match(ours, etag)
		      : ours.n && str_eq(ours, fields_get(f, FIELD_LAST_MODIFIED));
}
