/* statuses.h - rows: status, may be guessed fresh, of this request only.
 * Every final status of RFC 9110 15 and what has joined it: those in the list are "understood" for
 * must-understand (RFC 9111 5.2.2.3). Included with STATUS defined.
 *
 * guess   heuristically cacheable (RFC 9110 15.1; 308: RFC 9110 15.4.9)
 * once    the answer depends on request fields or a state that is not in the key: never stored
 */
/* clang-format off */
/*     status guess  once */
STATUS(200,   true,  false)
STATUS(201,   false, false)
STATUS(202,   false, false)
STATUS(203,   true,  false)
STATUS(204,   true,  false)
STATUS(205,   false, false)
STATUS(206,   true,  false) /* where the form of the part allows it */
STATUS(300,   true,  false)
STATUS(301,   true,  false)
STATUS(302,   false, false)
STATUS(303,   false, false)
STATUS(304,   false, true)
STATUS(307,   false, false)
STATUS(308,   true,  false)
STATUS(400,   false, false)
STATUS(401,   false, false)
STATUS(402,   false, false)
STATUS(403,   false, false)
STATUS(404,   true,  false)
STATUS(405,   true,  false)
STATUS(406,   false, false)
STATUS(407,   false, true)
STATUS(408,   false, true)
STATUS(409,   false, false)
STATUS(410,   true,  false)
STATUS(411,   false, true)
STATUS(412,   false, true)
STATUS(413,   false, true)
STATUS(414,   true,  false)
STATUS(415,   false, true)
STATUS(416,   false, true)
STATUS(417,   false, true)
STATUS(421,   false, true)
STATUS(422,   false, false)
STATUS(425,   false, true)  /* RFC 8470 5.2 */
STATUS(426,   false, true)
STATUS(428,   false, true)  /* RFC 6585: 428 to 431 and 511 are not stored */
STATUS(429,   false, true)
STATUS(431,   false, true)
STATUS(500,   false, false)
STATUS(501,   true,  false)
STATUS(502,   false, false)
STATUS(503,   false, false)
STATUS(504,   false, false)
STATUS(505,   false, false)
STATUS(511,   false, true)
/* clang-format on */
