/* statuses.h - rows: status, may be guessed fresh, of this request only, by this client.
 * Every final status of RFC 9110 15 and what has joined it: those in the list are "understood" for
 * must-understand (RFC 9111 5.2.2.3). Included with STATUS defined.
 *
 * guess   heuristically cacheable (RFC 9110 15.1; 308: RFC 9110 15.4.9)
 * once    the answer depends on request fields or a state that is not in the key: never stored
 * client  a client's own fields can cause it (an overlong field, a forbidden one, a method in disguise):
 *         stored only where a setting says so, however fresh it claims to be
 */
/* clang-format off */
/*     status guess  once   client */
STATUS(200,   true,  false, false)
STATUS(201,   false, false, false)
STATUS(202,   false, false, false)
STATUS(203,   true,  false, false)
STATUS(204,   true,  false, false)
STATUS(205,   false, false, false)
STATUS(206,   true,  false, false) /* where the form of the part allows it */
STATUS(300,   true,  false, false)
STATUS(301,   true,  false, false)
STATUS(302,   false, false, false)
STATUS(303,   false, false, false)
STATUS(304,   false, true,  false)
STATUS(307,   false, false, false)
STATUS(308,   true,  false, false)
STATUS(400,   false, false, true)
STATUS(401,   false, false, true)
STATUS(402,   false, false, false)
STATUS(403,   false, false, true)
STATUS(404,   true,  false, false)
STATUS(405,   true,  false, true)
STATUS(406,   false, false, true)
STATUS(407,   false, true,  false)
STATUS(408,   false, true,  false)
STATUS(409,   false, false, true)
STATUS(410,   true,  false, false)
STATUS(411,   false, true,  false)
STATUS(412,   false, true,  false)
STATUS(413,   false, true,  false)
STATUS(414,   true,  false, true)
STATUS(415,   false, true,  false)
STATUS(416,   false, true,  false)
STATUS(417,   false, true,  false)
STATUS(421,   false, true,  false)
STATUS(422,   false, false, true)
STATUS(425,   false, true,  false)  /* RFC 8470 5.2 */
STATUS(426,   false, true,  false)
STATUS(428,   false, true,  false)  /* RFC 6585: 428 to 431 and 511 are not stored */
STATUS(429,   false, true,  false)
STATUS(431,   false, true,  false)
STATUS(500,   false, false, false)
STATUS(501,   true,  false, true)
STATUS(502,   false, false, false)
STATUS(503,   false, false, false)
STATUS(504,   false, false, false)
STATUS(505,   false, false, true)
STATUS(511,   false, true,  false)
/* clang-format on */
