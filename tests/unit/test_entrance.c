/* test_entrance.c - clients on their way in, when the door closes.
 * rooms: wire http base
 */
#include "proxy/wire/tls_server.h"

#include "tests/kit/own_wire.h"
#include "tests/kit/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct own_wire own;
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
	struct tls_problems problems = {.tell = tell};
	all.tls = tls_server_create(&(struct tls_server_options){.certs = {.self_signed = true},
								 .ticket_period_s = 100,
								 .handshakes = handshakes},
				    &problems);
	ck_assert_ptr_nonnull(all.tls);
	own_wire_begin(
		&all.own, &none, &all,
		&(struct wire_limits){.head_bytes = 4096, .header_ms = 1000, .idle_ms = 1000}, 10);
}

static void
end(void)
{
	own_wire_end(&all.own);
	tls_server_destroy(&all.tls);
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
	wire_arrive(all.own.wire, &a);
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
	ck_assert_uint_eq(wire_connections(all.own.wire), 3);
	ck_assert_int_eq(send(knocks, head, sizeof head - 1, 0), sizeof head - 1);
	wire_drain(all.own.wire);
	ck_assert_uint_eq(wire_connections(all.own.wire), 0);
	ck_assert(is_closed(idle) && is_closed(shakes) && is_closed(knocks));
	close(idle);
	close(shakes);
	close(knocks);
	end();
}
END_TEST

UNIT("entrance", TEST(draining_goes_on_behind_one_that_made_room))
