/* admissions.h - rows: id, written to disk, word (Cache-Status, log, metrics, simulator), why.
 * Every answer has exactly one of these verdicts. */
ADMISSION(NOT_STORABLE, false, "not-storable",
	  "there is nothing to store: RFC 9111 3 forbids it, or the answer was made here")
ADMISSION(FIRST_SIGHT, false, "first-sight", "too few sightings in two generations")
ADMISSION(SEEN_CURRENT, true, "seen-current", "known to the current generation")
ADMISSION(SEEN_PREVIOUS, true, "seen-previous", "known to the previous generation")
ADMISSION(ALWAYS, true, "always", "the route says admit: always")
ADMISSION(NEVER, false, "never", "the route says admit: never")
ADMISSION(FILLING, true, "filling", "the disk is not yet filled to fill_until")
ADMISSION(TOO_LARGE, false, "too-large", "over cache.max_object")
ADMISSION(TOO_SHORT, false, "too-short", "fresh for less than it stays in RAM anyway, and never confirmed by a 304")
ADMISSION(OVER_BUDGET, false, "over-budget", "the write budget is used up, or one address alone asked for it and has used up its share")
ADMISSION(RELOAD, false, "reload", "a client's no-cache is no reason to write")
ADMISSION(ON_DISK, false, "on-disk",
	  "the disk holds it already, or it is being written for another request")
ADMISSION(HEAD, false, "head", "a HEAD of an object that may be stored: its answer has no body to store")
ADMISSION(TAKEN_OVER, true, "taken-over",
	  "the node that owned it before has it on its disk")
ADMISSION(ELSEWHERE, false, "elsewhere", "the node that was asked decides about it")
