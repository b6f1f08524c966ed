/* explain_why.c - a sentence for each row of storables.h and admissions.h. */
#include "proxy/node/explain_why.h"

const char *
explain_not_kept(enum storable s)
{
	/* clang-format off */
	static const char *const sentences[STORABLE_COUNT] = {
		[STORABLE_METHOD] = "Answers to other methods than GET are not kept, nor those that are for one client alone (pass and pass_cookies of the route).",
		[STORABLE_STATUS] = "Answers with its status are not kept, whatever is set.",
		[STORABLE_NO_STORE] = "The origin says no-store: let it leave that out, or say otherwise in CDN-Cache-Control (or cache.targeted_field), which clients do not read.",
		[STORABLE_REQUEST_NO_STORE] = "The client said no-store, and the answer to that request is not kept, whatever is set.",
		[STORABLE_PRIVATE] = "The origin says private: let it leave that out, or say otherwise in CDN-Cache-Control (or cache.targeted_field), which clients do not read.",
		[STORABLE_AUTHORIZATION] = "The request had Authorization: let the origin say public or s-maxage, if the answer is for everybody.",
		[STORABLE_NO_FRESHNESS] = "The origin names no lifetime, and none is guessed for its status, for a stream of events, or beside a cookie of the request: let it say max-age, or public and set cache.default_ttl.",
		[STORABLE_CREDENTIAL] = "The origin names no lifetime, and the request had a field that looks like a credential: name it in key_headers or forwarded.drop, let the origin say max-age, or list the fields that are none in cache.heuristic_fields.",
		[STORABLE_NO_USE] = "It was stale when it came, and has neither ETag nor Last-Modified to be validated by: let the origin say max-age, or set cache.default_ttl where it says nothing.",
		[STORABLE_VARY_STAR] = "The origin says Vary: *, which no request matches: let it name the fields instead.",
		[STORABLE_VARY_ASKED] = "The origin says that it varies on a field that is in no key, such as Range or If-None-Match: let it leave that out of Vary.",
		[STORABLE_OVERTAKEN] = "Another answer for the URL was stored while it came: the next request finds that one.",
		[STORABLE_RANGE] = "It is a part of a body in a form that is not combined: let the origin send an ETag, and one range at a time.",
		[STORABLE_SET_COOKIE] = "It sets a cookie, which is one visitor's: set set_cookie: strip for the route to keep it without the cookie, or let the origin leave it out.",
		[STORABLE_CLIENT_ERROR] = "It is an error that the asking client's own fields can cause: set client_errors: on for the route to keep it.",
	};
	/* clang-format on */
	return s < STORABLE_COUNT ? sentences[s] : NULL;
}

const char *
explain_verdict(enum admission verdict)
{
	/* clang-format off */
	static const char *const sentences[ADMISSION_COUNT] = {
		[ADMISSION_FIRST_SIGHT] = "Neither generation of the filter knows it often enough (admission.sightings): a storable answer would stay off the disk and be kept in RAM for a while.",
		[ADMISSION_SEEN_CURRENT] = "It was asked for before, as the filter knows: a storable answer would be written to disk.",
		[ADMISSION_SEEN_PREVIOUS] = "It was asked for before, as the filter knows: a storable answer would be written to disk.",
		[ADMISSION_ON_DISK] = "It is on disk already.",
		[ADMISSION_TAKEN_OVER] = "The node of the fleet that owned it before has it on its disk: it is written here at once.",
		[ADMISSION_ALWAYS] = "admit: always of its route has every storable answer written to disk.",
		[ADMISSION_NEVER] = "admit: never of its route keeps it off the disk.",
		[ADMISSION_FILLING] = "The disk is not yet filled to admission.fill_until: everything storable is written.",
		[ADMISSION_TOO_LARGE] = "It is larger than cache.max_object, or max_object of its route.",
		[ADMISSION_TOO_SHORT] = "It was asked for before, but is fresh for less than it stays in RAM (a minute at most), and its origin never said 304: nobody would be answered with it from the disk. admit: always of its route writes it all the same.",
		[ADMISSION_OVER_BUDGET] = "It was asked for before, but the write budget is used up (admission.write_budget), or what one address alone asks for (admission.per_address).",
	};
	/* clang-format on */
	return verdict < ADMISSION_COUNT ? sentences[verdict] : NULL;
}

/* The settings may have been others when it was stored; without a lifetime an answer may still be validated. */
enum explain_life
explain_life(const struct terms *t, const struct policy_settings *set)
{
	bool by_default = t->lifetime == set->default_ttl_s && !policy_guesses(set);
	if (!(t->flags & TERMS_HEURISTIC))
		return EXPLAIN_BY_ORIGIN;
	if (t->lifetime <= 0)
		return EXPLAIN_NO_LIFETIME;
	return t->last_modified >= 0 && !by_default ? EXPLAIN_GUESSED : EXPLAIN_BY_DEFAULT;
}

const char *
explain_life_word(enum explain_life by)
{
	static const char *const words[] = {"origin", "guessed", "default_ttl", "none"};
	return words[by];
}
