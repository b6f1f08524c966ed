/* measures_list.h - rows: what is counted by size, of which a report shows the distribution. Name,
 * group and key in /stats, family and label in /metrics, how many of its units make one (second or
 * byte), help. What is told of an answer is measured from the round of the event loop that brought
 * the whole head of its request: an answer that is made and sent in the same round took 0. */
/*      id                group      key                   family                        label                   per one   help */
MEASURE(FIRST_BYTE_HIT,   "timings", "first_byte_hit",     "request_first_byte_seconds", "answer=\"cached\"",    1000000,  "from a request's head to that of its answer")
MEASURE(FIRST_BYTE_OTHER, "timings", "first_byte_fetched", "request_first_byte_seconds", "answer=\"fetched\"",   1000000,  "from a request's head to that of its answer")
MEASURE(TOTAL_HIT,        "timings", "total_hit",          "request_duration_seconds",   "answer=\"cached\"",    1000000,  "from a request's head to the last byte of its answer")
MEASURE(TOTAL_OTHER,      "timings", "total_fetched",      "request_duration_seconds",   "answer=\"fetched\"",   1000000,  "from a request's head to the last byte of its answer")
MEASURE(OBJECT_BYTES,     "sizes",   "objects",            "object_size_bytes",          "",                     1,        "bodies that origins sent whole")
