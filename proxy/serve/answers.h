/* answers.h - rows: where an answer came from. Every answer is exactly one of these, so the
 * counters of this table sum to requests.total once all requests are answered.
 * A request for which no origin was asked, and whose Cache-Status says hit, counts in requests.hits
 * besides. Fetches behind an answer are counted apart (requests.background). */
/*     id              metric            what counts so */
ANSWER(NONE, ABANDONED, "the client left before there was an answer")
ANSWER(RAM, RAM_HITS, "a stored object in RAM, a range of it, or a HEAD of it")
ANSWER(DISK, DISK_HITS, "a stored object on disk, a range of it, or a HEAD of it")
ANSWER(MISS, MISSES,
       "fetched from the origin for this request")
ANSWER(SIBLING, SIBLING, "the node of the fleet that owns the URL had it, or fetched it")
ANSWER(COALESCED, COALESCED, "another request's fetch brought it: this one asked no origin")
ANSWER(REVALIDATED, REVALIDATED, "a stored object of which the origin said 304 just now")
ANSWER(STALE, STALE_SERVED,
       "a stored object past its time, as stale-* and max-stale allow, or because the origin failed")
ANSWER(PASS, PASSED,
       "the origin's answer for this client alone, because of the method, the route or a cookie")
ANSWER(ONLY_IF_CACHED, ONLY_IF_CACHED, "504: the client wants only stored answers, and there is none")
ANSWER(ERROR, ERRORS, "an error made here: the origin cannot be reached, or answers nonsense")
ANSWER(REJECTED, REJECTED, "a request that is malformed or over a limit, and was never forwarded")
ANSWER(DENIED, DENIED, "403 by allow and deny of a route, stored or not")
ANSWER(LIMITED, LIMITED, "429 by rate, of a route or of all")
ANSWER(ROUTED, ROUTED, "answered by redirect or answer of a route")
ANSWER(LOCAL, LOCAL, "TRACE, OPTIONS that ends here, redirects to https, ACME challenges")
