/* sighting_kinds.h - rows: what asks for an object, and what that counts for.
 * records: it is added to the memory of sightings (when the answer is storable, of a status that
 * counts). adds: how many sightings it is worth in its own verdict. brings: there is something to
 * store that the disk may not hold yet. */
/*       id               records adds brings  what */
SIGHTING(PLAIN, true, 1, true,
	 "a GET for the whole, also one whose validation brought a new answer")
SIGHTING(FOLLOWER, true, 1, true, "a GET that joined another's fetch: the object is popular now")
SIGHTING(RANGE_FIRST, true, 1, true, "a Range that asks for the first byte: it counts for the URL")
SIGHTING(RANGE_BEHIND, true, 1, true,
	 "a Range behind the first byte: it counts for the slice that it touches first, a walk asks for the others")
SIGHTING(RANGE_REPEATED, false, 0, true,
	 "a Range for what the same address asked for within a minute")
SIGHTING(HEAD, false, 0, false, "a HEAD")
SIGHTING(RELOAD, false, 0, true, "a client's directive made us ask again for what is fresh")
SIGHTING(VALIDATION, false, 0, false,
	 "the origin said 304, or nothing better: a stored object answers")
SIGHTING(CONFIRMED, false, 1, true,
	 "a GET for the whole, and the origin said 304: what RAM has is worth its bytes on disk")
SIGHTING(BACKGROUND, false, 1, true, "a fetch behind an answer, whose own sighting it inherits")
SIGHTING(TAKEN_OVER, true, 1, true,
	 "a GET for the whole of what the node that owned it before had on its disk")
SIGHTING(ELSEWHERE, false, 0, false,
	 "whoever was asked decides about it, and has it in its own bill: a node that the URL belongs to")
SIGHTING(OTHER, false, 0, true, "another method, a request that passes")
