/* choice.c - the bounds between two sightings and three, and the patience before a change. */
#include "proxy/cache/admission/choice.h"

#include "proxy/base/le.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Periods that must agree, and that must pass between two changes; generations that one has. A generation is a tenth
 * of a turn of the log (turn.h), and figures of less than a quarter go up and down by the times at which rows end theirs. */
enum { AGREE = 2, REST = 4, GATHERS_LEAST = 3, GATHERS = 40 };

/* Shares: of two's bytes, of the requests, of the bytes that were answered, of what two wanted to write. */
static const double SAVES = 0.2, SAVES_LITTLE = 0.1;
static const double LOSES_FEW_HITS = 0.005, LOSES_HITS = 0.01;
static const double LOSES_FEW_BYTES = 0.02, LOSES_BYTES = 0.03;
static const double REFUSES = 0.05, REFUSES_LITTLE = 0.01;
static const double DOUBT = 0.5;
static const double OFF = 0.03; /* of hits: then the simulation is of something else */

void
choice_init(struct choice *c)
{
	*c = (struct choice){.sightings = CHOICE_FEW, .rested = REST};
}

static double
share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* ---- one generation ------------------------------------------------------------------------ */

static bool
is_known(const struct choice_period *p)
{
	const double counts[] = {p->bytes,
				 p->written,
				 p->refused,
				 p->more_written_error,
				 p->more_requests_error,
				 p->more_bytes_error};
	const double differences[] = {p->more_written, p->more_requests, p->more_bytes,
				      p->off_requests};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (!isfinite(counts[i]) || counts[i] < 0)
			return false;
	for (size_t i = 0; i < sizeof differences / sizeof *differences; i++)
		if (!isfinite(differences[i]))
			return false;
	return isfinite(p->requests) && p->requests >= CHOICE_LEAST_REQUESTS &&
	       fabs(p->off_requests) <= OFF * p->requests;
}

/* A figure lies so far from what the sample says: a standard error, for the bounds leave room for more. */
struct view {
	const struct choice_period *p;
	double by; /* of two standard errors; above 0: three are worse */
};

static double
written(struct view v)
{
	return v.p->more_written + v.by * v.p->more_written_error;
}

static bool
loses(struct view v, double hits, double bytes)
{
	const struct choice_period *p = v.p;
	return p->more_requests + v.by * p->more_requests_error > hits * p->requests ||
	       p->more_bytes + v.by * p->more_bytes_error > bytes * p->bytes;
}

static bool
is_worth_it(struct view v)
{
	return v.p->written > 0 && written(v) <= -SAVES * v.p->written &&
	       !loses(v, LOSES_FEW_HITS, LOSES_FEW_BYTES);
}

static enum choice_why
why_not(struct view v)
{
	if (loses(v, LOSES_HITS, LOSES_BYTES))
		return CHOICE_LOSES;
	return written(v) > -SAVES_LITTLE * v.p->written ? CHOICE_LITTLE : CHOICE_BEGAN;
}

/* Speaks for the other one: why. CHOICE_BEGAN: it does not, or, if *doubts, that cannot be said yet. */
static enum choice_why
vote(const struct choice *c, const struct choice_period *p, bool *doubts)
{
	const struct view bad = {p, DOUBT}, good = {p, -DOUBT};
	double refused = share(p->refused, p->written + p->refused);
	*doubts = false;
	if (c->sightings == CHOICE_FEW) {
		if (refused >= REFUSES)
			return CHOICE_BUDGET;
		*doubts = is_worth_it(good) && !is_worth_it(bad);
		return is_worth_it(bad) ? CHOICE_SAVES : CHOICE_BEGAN;
	}
	if (refused >= REFUSES_LITTLE)
		return CHOICE_BEGAN;
	*doubts = why_not(bad) != CHOICE_BEGAN && why_not(good) == CHOICE_BEGAN;
	return why_not(good);
}

static void
change(struct choice *c, const struct choice_period *p, enum choice_why why, int64_t now_s)
{
	*c = (struct choice){
		.sightings = c->sightings == CHOICE_FEW ? CHOICE_MANY : CHOICE_FEW,
		.why = why,
		.since_s = now_s,
		.changes = c->changes + 1,
		.saved = share(-p->more_written, p->written),
		.lost_hits = share(p->more_requests, p->requests),
		.lost_bytes = share(p->more_bytes, p->bytes),
		.refused = share(p->refused, p->written + p->refused),
	};
}

bool
choice_turn(struct choice *c, const struct choice_period *p, int64_t now_s)
{
	if (!is_known(p))
		return false;
	bool doubts;
	enum choice_why why = vote(c, p, &doubts);
	c->gathered += c->gathered < GATHERS;
	if (why != CHOICE_BUDGET &&
	    (c->gathered < GATHERS_LEAST || (doubts && c->gathered < GATHERS)))
		return false;
	c->gathered = 0;
	c->rested += c->rested < REST;
	c->agreed = why == CHOICE_BEGAN ? 0 : c->agreed + (c->agreed < AGREE);
	if (why == CHOICE_BUDGET ||
	    (why != CHOICE_BEGAN && c->agreed >= AGREE && c->rested >= REST))
		change(c, p, why, now_s);
	return true;
}

/* ---- words --------------------------------------------------------------------------------- */

const char *
choice_say(const struct choice *c, char to[CHOICE_TEXT])
{
	char figures[CHOICE_TEXT / 2];
	const char *many = c->sightings == CHOICE_MANY ? "3 for bodies over 64 KiB, 2 for others"
						       : "2 for all bodies";
	snprintf(
		figures, sizeof figures,
		"with 3 for those over 64 KiB %.0f%% as many bytes are written, with %+.1f points of hits and %+.1f of bytes",
		100 - 100 * c->saved, -100 * c->lost_hits, -100 * c->lost_bytes);
	switch (c->why) {
	case CHOICE_BEGAN:
		snprintf(to, CHOICE_TEXT, "%s: it began so", many);
		break;
	case CHOICE_SAVES:
	case CHOICE_LITTLE:
	case CHOICE_LOSES:
		snprintf(to, CHOICE_TEXT, "%s: %s", many, figures);
		break;
	case CHOICE_BUDGET:
		snprintf(to, CHOICE_TEXT,
			 "%s: with 2 the write budget would refuse %.0f%% of what they write", many,
			 100 * c->refused);
		break;
	}
	return to;
}

/* ---- a file -------------------------------------------------------------------------------- */

static const char MAGIC[8] = "TWchoice";
enum { FORM = 1, SUM_AT = CHOICE_FILE - 8, SHARES_AT = 48, SHARES = 4 };
static const double MILLION = 1e6, SHARE_MOST = 1e9;

static int64_t
millionths(double v)
{
	double most = v < -SHARE_MOST ? -SHARE_MOST : v > SHARE_MOST ? SHARE_MOST : v;
	return (int64_t)lrint(most * MILLION);
}

void
choice_format(const struct choice *c, char to[CHOICE_FILE])
{
	const double shares[SHARES] = {c->saved, c->lost_hits, c->lost_bytes, c->refused};
	memset(to, 0, CHOICE_FILE);
	memcpy(to, MAGIC, sizeof MAGIC);
	le_put32(to + 8, FORM);
	le_put32(to + 12, c->sightings);
	le_put32(to + 16, (uint32_t)c->why);
	le_put32(to + 20, c->agreed);
	le_put32(to + 24, c->rested);
	le_put64(to + 32, (uint64_t)c->since_s);
	le_put64(to + 40, c->changes);
	for (int i = 0; i < SHARES; i++)
		le_put64(to + SHARES_AT + 8 * i, (uint64_t)millionths(shares[i]));
	le_put64(to + SUM_AT, XXH3_64bits(to, SUM_AT));
}

const char *
choice_parse(struct choice *c, struct str bytes)
{
	double shares[SHARES];
	if (bytes.n != CHOICE_FILE || memcmp(bytes.p, MAGIC, sizeof MAGIC) != 0 ||
	    le_get32(bytes.p + 8) != FORM)
		return "it is of another kind";
	if (le_get64(bytes.p + SUM_AT) != XXH3_64bits(bytes.p, SUM_AT))
		return "it is damaged";
	struct choice is = {.sightings = le_get32(bytes.p + 12),
			    .why = (enum choice_why)le_get32(bytes.p + 16),
			    .agreed = le_get32(bytes.p + 20),
			    .rested = le_get32(bytes.p + 24),
			    .since_s = (int64_t)le_get64(bytes.p + 32),
			    .changes = le_get64(bytes.p + 40)};
	for (int i = 0; i < SHARES; i++) {
		int64_t n = (int64_t)le_get64(bytes.p + SHARES_AT + 8 * i);
		shares[i] = (double)n / MILLION;
		if (fabs(shares[i]) > SHARE_MOST)
			return "it is damaged";
	}
	if ((is.sightings != CHOICE_FEW && is.sightings != CHOICE_MANY) ||
	    le_get32(bytes.p + 16) > CHOICE_BUDGET || is.agreed > AGREE || is.rested > REST ||
	    is.since_s < 0 || le_get32(bytes.p + 28) != 0)
		return "it is damaged";
	is.saved = shares[0];
	is.lost_hits = shares[1];
	is.lost_bytes = shares[2];
	is.refused = shares[3];
	*c = is;
	return NULL;
}
