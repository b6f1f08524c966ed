/* answers.h - rows: where an answer came from. Every answer is exactly one of these, so the
 * counters of this table sum to requests.total once all requests are answered.
 * A request for which no origin was asked, and whose Cache-Status says hit, counts in requests.hits
 * besides. Fetches behind an answer are counted apart (requests.background). */
/*     id              metric            what counts so */
ANSWER(NONE, ABANDONED, "the client left before there was an answer")
ANSWER(RAM, RAM_HITS, "a stored object in RAM, or a part of it, or a HEAD of it")
ANSWER(DISK, DISK_HITS, "the same from the disk")
ANSWER(MISS, MISSES,
       "fetched: by the leader of a fetch, by who could not share one, a part on first sight, a HEAD")
ANSWER(COALESCED, COALESCED, "another request's fetch brought it: this one asked no origin")
ANSWER(REVALIDATED, REVALIDATED, "a stored object of which the origin said 304 just now")
ANSWER(STALE, STALE_SERVED,
       "a stored object past its time: as max-age and stale-* allow, or for an error")
ANSWER(PASS, PASSED,
       "the origin's answer for this client alone: methods, routes, cookies that pass")
ANSWER(ONLY_IF_CACHED, ONLY_IF_CACHED, "504, as only-if-cached wants it for what is not stored")
ANSWER(ERROR, ERRORS, "an error made here: the origin cannot be reached, or answers nonsense")
ANSWER(REJECTED, REJECTED, "malformed or over a limit: never forwarded")
ANSWER(DENIED, DENIED, "403 by allow and deny of a route, stored or not")
ANSWER(LIMITED, LIMITED, "429 by rate, of a route or of all")
ANSWER(ROUTED, ROUTED, "redirect and answer of a route")
ANSWER(LOCAL, LOCAL, "TRACE, OPTIONS that ends here, redirects to https, ACME challenges")
