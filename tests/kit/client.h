/* client.h - clients that trust nothing: exact bytes out, answers parsed by the letter.
 *
 * An answer that breaks RFC 9112 (framing, line ends, lengths that do not match, bytes too many)
 * fails the scenario, unless it was read with a word that says "try".
 */
#ifndef KIT_CLIENT_H
#define KIT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

struct answer {
	int status; /* 0: the connection ended without a head */
	char *head; /* with its empty line */
	size_t head_bytes;
	char *body; /* decoded, NUL behind it */
	size_t body_bytes;
	bool chunked;
	char *trailers;	   /* lines, or "" */
	char *interim;	   /* heads of 1xx answers before it, or "" */
	bool cut;	   /* the connection ended inside of it */
	const char *fault; /* what is wrong with it, or NULL */
};

/* ---- one request, one connection ------------------------------------------------------------ */

struct answer get(const char *target);
struct answer get_with(const char *target, const char *fields);
struct answer ask(const char *method, const char *target, const char *fields, const char *body);
struct answer try_ask(const char *method, const char *target, const char *fields, const char *body);

/* ---- a connection by hand -------------------------------------------------------------------- */

struct client;
struct client *client_open(void);
struct client *client_open_to(unsigned port);
struct client *client_open_path(const char *path); /* a Unix socket */
struct sockaddr;
struct client *client_open_address(const struct sockaddr *to, unsigned bytes);
/* Clients opened from now on come from this address (of 127.0.0.0/8); NULL: from any. */
void client_from(const char *address);
struct client *client_open_narrow(void); /* with the smallest receive buffer there is */
/* The same, by the small packets of a real network: the kernel takes less of an answer at once, by
 * what it reckons from their size, than the megabyte it takes on the loopback. */
struct client *client_open_far(void);
void client_send(struct client *c, const char *text);
void client_send_bytes(struct client *c, const char *p, size_t n);
/* Sends what the socket takes now and says how much that was. */
size_t client_send_some(struct client *c, const char *p, size_t n);
void client_request(struct client *c, const char *method, const char *target, const char *fields);
struct answer client_read(struct client *c, const char *method); /* method: of the request */
struct answer client_try(struct client *c, const char *method);
struct answer client_read_head(struct client *c); /* final head, or a 101; the body is left */
size_t client_read_body(struct client *c, char *p, size_t n); /* raw bytes; fewer: it ended */
bool client_closed(struct client *c);	 /* the peer closes, without another byte */
bool client_has_ended(struct client *c); /* has closed by now; all that came before is read */
bool client_hears(struct client *c);	 /* has been sent something that was not read, or its end */
void client_expect_closed(struct client *c); /* and closes our end */
bool client_try_closed(struct client *c, int wait_ms, size_t *extra_bytes);
void client_quiet(struct client *c); /* nothing was sent beyond what was read */
void client_half_close(struct client *c);
void client_close(struct client *c);
void client_reset(struct client *c); /* closes with a RST */
int client_fd(struct client *c);

/* ---- calls under way ------------------------------------------------------------------------- */

struct call;
struct call *call_get(const char *target);
struct call *
call_with(const char *method, const char *target, const char *fields, const char *body);
struct answer call_wait(struct call *c);
bool call_is_done(struct call *c);
#define call_expect(c, status, body) answer_expect(__FILE__, __LINE__, call_wait(c), status, body)

/* ---- reading answers ------------------------------------------------------------------------- */

#define expect_answer(a, status, body) answer_expect(__FILE__, __LINE__, a, status, body)
#define expect_status(a, status)       answer_expect(__FILE__, __LINE__, a, status, NULL)
void answer_expect(const char *file, int line, struct answer a, int status, const char *body);
/* NULL: not there; several lines are joined by ", ". */
const char *field(struct answer a, const char *name);
int field_lines(struct answer a, const char *name);
#define expect_field(a, name, value) answer_expect_field(__FILE__, __LINE__, a, name, value)
#define expect_no_field(a, name)     answer_expect_field(__FILE__, __LINE__, a, name, NULL)
void answer_expect_field(const char *file, int line, struct answer a, const char *name,
			 const char *value);

/* Our member of Cache-Status: "hit", "fwd=uri-miss", "stored", "detail=ram" are its words. */
const char *verdict(struct answer a);
bool verdict_has(struct answer a, const char *word);
/* GET of n targets, that prefix with 0 to n - 1 behind it; each must be 200 with bytes of the pattern of its number
 * as seed. How many were hits? */
int hits_of(const char *prefix, int n, size_t bytes);
#define expect_verdict(a, word)	   answer_expect_verdict(__FILE__, __LINE__, a, word, true)
#define expect_no_verdict(a, word) answer_expect_verdict(__FILE__, __LINE__, a, word, false)
#define expect_hit(a)		   expect_verdict(a, "hit")
#define expect_miss(a)		   expect_no_verdict(a, "hit")
void answer_expect_verdict(const char *file, int line, struct answer a, const char *word, bool has);

#endif
