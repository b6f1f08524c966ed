/* test_entrance.c - clients on their way in, when the door closes.
 * rooms: wire http base
 */
#include "proxy/base/mem.h"
#include "proxy/serve/stream.h"
#include "proxy/wire/clients.h"
#include "proxy/wire/listener.h"
#include "proxy/wire/room.h"
#include "proxy/wire/tls_server.h"
#include "proxy/wire/wire.h"

#include "tests/kit/unit.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct event_base *base;
	struct wire *wire;
	struct arena_pool arenas;
	struct clients *clients;
	struct room *room;
	struct metrics metrics;
	struct tls_server *tls;
} all;

static void
tell(void *ctx, unsigned of, const char *problem)
{
	(void)ctx, (void)of;
	ck_abort_msg("%s", problem);
}

/* So many handshakes may be under way. */
static void
begin(unsigned handshakes)
{
	static const struct stream_up none;
	struct event_config *ec = event_config_new();
	event_config_require_features(ec, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
	all.base = event_base_new_with_config(ec);
	event_config_free(ec);
	all.clients = clients_create(&(struct clients_limits){.most = 10});
	all.room = room_create(1);
	struct tls_problems problems = {.tell = tell};
	all.tls = tls_server_create(&(struct tls_server_options){.certs = {.self_signed = true},
								 .ticket_period_s = 100,
								 .handshakes = handshakes},
				    &problems);
	ck_assert_ptr_nonnull(all.tls);
	all.wire = wire_create(&(struct wire_options){
		.base = all.base,
		.metrics = &all.metrics,
		.arenas = &all.arenas,
		.clients = all.clients,
		.room = all.room,
		.up = &none,
		.node = &all,
		.limits = {.head_bytes = 4096, .header_ms = 1000, .idle_ms = 1000}});
	room_join(all.room, 0, all.wire, wire_arrive, NULL);
}

static void
end(void)
{
	wire_destroy(&all.wire);
	room_leave(all.room, 0);
	room_destroy(&all.room);
	ck_assert_uint_eq(clients_count(all.clients), 0);
	tls_server_destroy(&all.tls);
	clients_destroy(&all.clients);
	event_base_free(all.base);
	arena_pool_fini(&all.arenas);
}

/* The client's end of a connection that has just been accepted. */
static int
come(const struct listener *l)
{
	const struct sockaddr_in peer = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0xc0000201)};
	struct arrival a = {.listener = l};
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	a.fd = pair[0];
	memcpy(&a.peer, &peer, sizeof peer);
	wire_arrive(all.wire, &a);
	return pair[1];
}

static bool
is_closed(int fd)
{
	char byte;
	return recv(fd, &byte, 1, 0) == 0;
}

/* A client whose head of the PROXY protocol nobody has looked at begins its handshake while all
 * connections are drained one after the other, and takes the place of the one whose turn is next. */
START_TEST(draining_goes_on_behind_one_that_made_room)
{
	static const char head[] = "PROXY TCP4 192.0.2.7 192.0.2.9 56324 443\r\n";
	begin(1);
	const struct listener l = {.scheme = STR_INIT("https"), .tls = all.tls, .proxied = true};
	const struct listener plain = {.scheme = STR_INIT("http")};
	const struct listener direct = {.scheme = STR_INIT("https"), .tls = all.tls};
	int idle = come(&plain), shakes = come(&direct), knocks = come(&l);
	ck_assert_uint_eq(wire_connections(all.wire), 3);
	ck_assert_int_eq(send(knocks, head, sizeof head - 1, 0), sizeof head - 1);
	wire_drain(all.wire);
	ck_assert_uint_eq(wire_connections(all.wire), 0);
	ck_assert(is_closed(idle) && is_closed(shakes) && is_closed(knocks));
	close(idle);
	close(shakes);
	close(knocks);
	end();
}
END_TEST

UNIT("entrance", TEST(draining_goes_on_behind_one_that_made_room))
