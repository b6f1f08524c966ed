/* units.h - "64MiB", "10M", "1h30m", "1%" to numbers, and back.
 *
 * Answers   how people write sizes, counts, durations and shares, here and on the command line.
 * Units     KiB MiB GiB TiB are powers of 1024; k M G T (also kB MB GB TB) powers of 1000.
 * Durations need a unit (only 0 has none), so nobody has to guess whether 30 is seconds. Errors
 * -1 for what is not such a number, is negative, or does not fit; *out is then untouched.
 */
#ifndef CONFIG_UNITS_H
#define CONFIG_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNITS_BYTES 40 /* room for any of the printed forms */

/* A room is a size, or a share in millionths with this bit. */
#define UNITS_ROOM_SHARE (UINT64_C(1) << 63)

/* A rate is bytes a second, bytes a day with the one bit, or millionths of a drive a day with the
 * other. */
#define UNITS_RATE_DAY	 (UINT64_C(1) << 62)
#define UNITS_RATE_DRIVE (UINT64_C(1) << 63)
/* Bytes a second, of a drive of so many bytes; at least 1, unless the rate is 0. */
uint64_t units_rate_per_s(uint64_t rate, uint64_t drive_bytes);

int units_parse_bytes(const char *z, uint64_t *bytes);
int units_parse_count(const char *z, uint64_t *count);
int units_parse_ms(const char *z, uint64_t *ms);
/* Bytes, or a share of something: "5%" or "0.05". "0" and "0%" are the share 0. */
int units_parse_room(const char *z, uint64_t *room);
int units_parse_share(const char *z, double *share); /* "1%" or "0.01"; 0..1 */
/* "10MiB" or "10MiB/s", "50GB/day", "0.5DWPD" (drive writes per day), "0.5DWPD of 1TB". At least a byte
 * a second. */
int units_parse_rate(const char *z, uint64_t *rate);

/* The shortest form that parses back to exactly the same. Each returns out. */
char *units_print_bytes(uint64_t bytes, char out[UNITS_BYTES]);
char *units_print_count(uint64_t count, char out[UNITS_BYTES]);
char *units_print_ms(uint64_t ms, char out[UNITS_BYTES]);
char *units_print_room(uint64_t room, char out[UNITS_BYTES]);
char *units_print_rate(uint64_t rate, char out[UNITS_BYTES]);
char *units_print_share(double share, char out[UNITS_BYTES]);

/* For people, rounded: "1.71 GB", "50,000". */
char *units_say_bytes(uint64_t bytes, char out[UNITS_BYTES]);
char *units_say_count(uint64_t count, char out[UNITS_BYTES]);
char *units_say_bytes_more(double bytes, char out[UNITS_BYTES]); /* or fewer: "-1.71 GB" */
char *units_say_lasting(double seconds, char out[UNITS_BYTES]);	 /* "90 s", "15 min", "3.5 h" */

/* "404: 1m": a status, and the seconds of a time. */
int units_parse_ttl(const char *z, unsigned *status, uint64_t *seconds);
/* Whether n bytes of z are a media type without parameters, perhaps with "*" for all of its second half. */
bool units_is_type(const char *z, size_t n);
/* "text/css: 1h": as many bytes of z are the type. */
int units_parse_type_ttl(const char *z, size_t *type_bytes, uint64_t *seconds);

#endif
