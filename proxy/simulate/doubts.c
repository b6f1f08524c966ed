/* doubts.c - what is unlikely of requests, and what it may come from. */
#include "proxy/simulate/doubts.h"

enum { LEAST_VISITS = 100 }; /* of fewer, nothing is unlikely */

static const double OFTEN = 0.15;

struct teller {
	void (*each)(void *ctx, const char *sentence);
	void *ctx;
};

static void
doubt_requests(const struct teller *t, const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	uint64_t taken = s->screen.counts[SCREENING_TAKEN];
	if (taken == 0)
		t->each(t->ctx,
			"No request of the log is one that a cache could answer: all are left "
			"out, and the figures are of nothing.");
	if (taken < LEAST_VISITS)
		return;
	if (study_has_urls(s) && s->screen.no_status == taken)
		t->each(t->ctx,
			"No request has a status that is known: all are taken as 200. If the log "
			"has one, name it: --field status=NAME.");
	if (l->once_urls >= l->urls)
		t->each(t->ctx,
			"No URL is asked for twice. Is it the URL that was read, and not the id of "
			"a request? Name it: --field target=NAME.");
}

static void
doubt_sizes(const struct teller *t, const struct study *s)
{
	const struct catalogue_facts *l = &s->log;
	uint64_t taken = s->screen.counts[SCREENING_TAKEN];
	if (taken < LEAST_VISITS || l->urls < LEAST_VISITS)
		return;
	if (s->screen.no_sizes == taken)
		t->each(t->ctx,
			"No request has a size: bytes are not known. If the log has sizes, name "
			"them: --field bytes=NAME (as sent), or size=NAME (of the object).");
	else if (l->smallest_bytes == l->largest_bytes)
		t->each(t->ctx,
			"All objects have the same size. Is it the size that was read? Name it: "
			"--field bytes=NAME.");
	double repeated = (double)l->visits - l->urls;
	if (study_has_urls(s) && !s->screen.with_host && l->returns > OFTEN * repeated)
		t->each(t->ctx,
			"Sizes of one URL go to and fro, and the log names no site: two sites, or "
			"variants of an object, may be one here. Name the site's column: --field "
			"host=NAME.");
}

void
doubts_tell(const struct study *s, void (*each)(void *ctx, const char *sentence), void *ctx)
{
	struct teller t = {each, ctx};
	doubt_requests(&t, s);
	doubt_sizes(&t, s);
}
