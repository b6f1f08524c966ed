/* storables.h - rows: id, may be stored, word, the rule. Included with STORABLE defined. */
/* clang-format off */
STORABLE(YES,            true,  "storable",        "RFC 9111 3")
STORABLE(METHOD,         false, "method",          "RFC 9111 3: only answers to GET are kept")
STORABLE(STATUS,         false, "status",          "RFC 9111 3: the status is not understood or not final")
STORABLE(NO_STORE,       false, "no-store",        "RFC 9111 5.2.2.5")
STORABLE(REQUEST_NO_STORE, false, "request-no-store", "RFC 9111 5.2.1.5")
STORABLE(PRIVATE,        false, "private",         "RFC 9111 5.2.2.7")
STORABLE(AUTHORIZATION,  false, "authorization",   "RFC 9111 3.5")
STORABLE(NO_FRESHNESS,   false, "no-freshness",    "RFC 9111 3: neither explicit freshness, public, nor a heuristically cacheable status")
STORABLE(CREDENTIAL,     false, "credential",      "the answer names no lifetime, and the request had a field whose name speaks of a credential and that no key holds")
STORABLE(NO_USE,         false, "no-use",          "the answer is stale when it comes and has no validator: to keep it would serve nobody")
STORABLE(VARY_STAR,      false, "vary-star",       "RFC 9111 4.1: Vary: * never matches")
STORABLE(VARY_ASKED,     false, "vary-asked",      "RFC 9111 4.1: it varies on a condition, a range or a wish of the request, which no key holds")
STORABLE(OVERTAKEN,      false, "overtaken",       "another answer for the URL was stored meanwhile, and may vary on more")
STORABLE(RANGE,          false, "range",           "a range in a form that this cache does not combine")
STORABLE(SET_COOKIE,     false, "set-cookie",      "RFC 9111 7.3: a Set-Cookie is one visitor's (cache.set_cookie)")
STORABLE(CLIENT_ERROR,   false, "client-error",    "an error that the asking client's own fields can cause (cache.client_errors)")
/* clang-format on */
