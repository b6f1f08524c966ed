/* place.h - where in a scenario its threads wait, and for what: what the guard tells of one that hangs.
 *
 * Threads   each waits for itself; the guard reads all.
 */
#ifndef KIT_PLACE_H
#define KIT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* A wait that is under way. It is on the stack of who waits. */
struct kit_wait {
	const char *file; /* NULL: in the word that this thread said last */
	int line;
	const char *word; /* NULL: wait_until itself */
	const char *what;
	char now[96]; /* what is there instead, or "" */
	int64_t begun_ms;
	bool is_listed;		/* it has waited; its thread's own, as all above but now */
	struct kit_wait *next;	/* of all; under their lock, as the next one */
	struct kit_wait **from; /* what leads here */
};
struct kit_wait kit_wait_begin(const char *file, int line, const char *what);
void kit_wait_goes_on(struct kit_wait *w);
void kit_wait_is_at(struct kit_wait *w, double now);
void kit_wait_end(struct kit_wait *w);

/* The scenario's thread is at this word of it. */
void kit_at(const char *file, int line, const char *word);

/* So that the words need not be told where they are said. */
#ifndef KIT_INSIDE_H
#define KIT_HERE(word)	      kit_at(__FILE__, __LINE__, word)
#define get(...)	      (KIT_HERE("get"), get(__VA_ARGS__))
#define get_with(...)	      (KIT_HERE("get_with"), get_with(__VA_ARGS__))
#define ask(...)	      (KIT_HERE("ask"), ask(__VA_ARGS__))
#define try_ask(...)	      (KIT_HERE("try_ask"), try_ask(__VA_ARGS__))
#define client_read(...)      (KIT_HERE("client_read"), client_read(__VA_ARGS__))
#define client_try(...)	      (KIT_HERE("client_try"), client_try(__VA_ARGS__))
#define client_read_head(...) (KIT_HERE("client_read_head"), client_read_head(__VA_ARGS__))
#define client_read_body(...) (KIT_HERE("client_read_body"), client_read_body(__VA_ARGS__))
#define client_closed(...)    (KIT_HERE("client_closed"), client_closed(__VA_ARGS__))
#define client_expect_closed(...) \
	(KIT_HERE("client_expect_closed"), client_expect_closed(__VA_ARGS__))
#define client_try_closed(...) (KIT_HERE("client_try_closed"), client_try_closed(__VA_ARGS__))
#define call_get(...)	       (KIT_HERE("call_get"), call_get(__VA_ARGS__))
#define call_with(...)	       (KIT_HERE("call_with"), call_with(__VA_ARGS__))
#define call_wait(...)	       (KIT_HERE("call_wait"), call_wait(__VA_ARGS__))
#define barrier_pass(...)      (KIT_HERE("barrier_pass"), barrier_pass(__VA_ARGS__))
#define barrier_arrivals(...)  (KIT_HERE("barrier_arrivals"), barrier_arrivals(__VA_ARGS__))
#define origin_wait_requests(...) \
	(KIT_HERE("origin_wait_requests"), origin_wait_requests(__VA_ARGS__))
#define origin_wait_closed(...) (KIT_HERE("origin_wait_closed"), origin_wait_closed(__VA_ARGS__))
#define edge_wait_stat(...)	(KIT_HERE("edge_wait_stat"), edge_wait_stat(__VA_ARGS__))
#define edge_wait_requests(...) (KIT_HERE("edge_wait_requests"), edge_wait_requests(__VA_ARGS__))
#define edge_expect_stat(...)	(KIT_HERE("edge_expect_stat"), edge_expect_stat(__VA_ARGS__))
#define edge_wait_exit(...)	(KIT_HERE("edge_wait_exit"), edge_wait_exit(__VA_ARGS__))
#define edge_becomes(...)	(KIT_HERE("edge_becomes"), edge_becomes(__VA_ARGS__))
#define edge_stop(...)		(KIT_HERE("edge_stop"), edge_stop(__VA_ARGS__))
#define edge_restart(...)	(KIT_HERE("edge_restart"), edge_restart(__VA_ARGS__))
#define clock_settle(...)	(KIT_HERE("clock_settle"), clock_settle(__VA_ARGS__))
#define clock_advance(...)	(KIT_HERE("clock_advance"), clock_advance(__VA_ARGS__))
#define h2_wait_head(...)	(KIT_HERE("h2_wait_head"), h2_wait_head(__VA_ARGS__))
#define h2_wait_body(...)	(KIT_HERE("h2_wait_body"), h2_wait_body(__VA_ARGS__))
#define h2_wait_end(...)	(KIT_HERE("h2_wait_end"), h2_wait_end(__VA_ARGS__))
#define h2_wait_goaway(...)	(KIT_HERE("h2_wait_goaway"), h2_wait_goaway(__VA_ARGS__))
#define h2_raw_end(...)		(KIT_HERE("h2_raw_end"), h2_raw_end(__VA_ARGS__))
#define h2_raw_wait(...)	(KIT_HERE("h2_raw_wait"), h2_raw_wait(__VA_ARGS__))
#define h2_ping(...)		(KIT_HERE("h2_ping"), h2_ping(__VA_ARGS__))
#define h2_ask(...)		(KIT_HERE("h2_ask"), h2_ask(__VA_ARGS__))
#define edge_start_flags(...)	(KIT_HERE("edge_start_flags"), edge_start_flags(__VA_ARGS__))
#define edge_kill9(...)		(KIT_HERE("edge_kill9"), edge_kill9(__VA_ARGS__))
#define edge_purge(...)		(KIT_HERE("edge_purge"), edge_purge(__VA_ARGS__))
#define h2_read(...)		(KIT_HERE("h2_read"), h2_read(__VA_ARGS__))
#endif

#endif
