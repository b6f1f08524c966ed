/* test_clients.c - connections counted, in all and per address.
 * rooms: wire base
 */
#include "proxy/wire/clients.h"

#include "proxy/base/network.h"

#include "tests/kit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>

static struct sockaddr_storage
address(const char *text)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *four = (struct sockaddr_in *)&a;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&a;
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		a.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
		a.ss_family = AF_INET6;
	return a;
}

static enum clients_entry
enter(struct clients *c, const char *text)
{
	struct sockaddr_storage a = address(text);
	return clients_enter(c, (struct sockaddr *)&a);
}

static void
leave(struct clients *c, const char *text)
{
	struct sockaddr_storage a = address(text);
	clients_leave(c, (struct sockaddr *)&a);
}

START_TEST(so_many_and_no_more)
{
	struct clients *c = clients_create(&(struct clients_limits){.most = 2});
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.2"), CLIENTS_FULL);
	ck_assert_uint_eq(clients_count(c), 2);
	leave(c, "192.0.2.1");
	ck_assert_int_eq(enter(c, "192.0.2.2"), CLIENTS_IN);
	leave(c, "192.0.2.1");
	leave(c, "192.0.2.2");
	clients_destroy(&c);
	ck_assert_ptr_null(c);
}
END_TEST

START_TEST(a_connection_becomes_another_clients)
{
	struct clients *c = clients_create(&(struct clients_limits){.most = 9, .per_address = 2});
	struct sockaddr_storage from = address("192.0.2.9"), to = address("192.0.2.1");
	struct sockaddr_storage nobody = {.ss_family = AF_UNSPEC};
	const struct sockaddr *f = (struct sockaddr *)&from, *t = (struct sockaddr *)&to;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(clients_enter(c, f), CLIENTS_IN);
		ck_assert(clients_move(c, f, t));
	}
	ck_assert_int_eq(clients_enter(c, f), CLIENTS_IN);
	ck_assert(!clients_move(c, f, t));
	ck_assert_uint_eq(clients_count(c), 3);
	leave(c, "192.0.2.9");
	for (int i = 0; i < 3; i++) { /* nobody in particular has no share */
		ck_assert_int_eq(clients_enter(c, f), CLIENTS_IN);
		ck_assert(clients_move(c, f, (struct sockaddr *)&nobody));
	}
	for (int i = 0; i < 3; i++)
		clients_leave(c, (struct sockaddr *)&nobody);
	leave(c, "192.0.2.1");
	ck_assert_int_eq(clients_enter(c, t), CLIENTS_IN);
	leave(c, "192.0.2.1");
	leave(c, "192.0.2.1");
	ck_assert_uint_eq(clients_count(c), 0);
	clients_destroy(&c);
}
END_TEST

START_TEST(each_address_has_its_share)
{
	struct clients *c = clients_create(&(struct clients_limits){.most = 6, .per_address = 2});
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_TOO_MANY_OF);
	ck_assert_int_eq(enter(c, "192.0.2.2"), CLIENTS_IN);
	ck_assert_uint_eq(clients_count(c), 3);
	leave(c, "192.0.2.1");
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.3"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.4"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.5"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.6"), CLIENTS_FULL);
	leave(c, "192.0.2.5"); /* a refused one left nothing behind: its address is as new */
	ck_assert_int_eq(enter(c, "192.0.2.6"), CLIENTS_IN);
	static const char *const in[] = {"192.0.2.1", "192.0.2.1", "192.0.2.2",
					 "192.0.2.3", "192.0.2.4", "192.0.2.6"};
	for (int i = 0; i < COUNT(in); i++)
		leave(c, in[i]);
	clients_destroy(&c); /* asserts that no address is left */
}
END_TEST

START_TEST(an_ipv6_client_is_its_first_64_bits)
{
	struct clients *c = clients_create(&(struct clients_limits){.most = 100, .per_address = 1});
	ck_assert_int_eq(enter(c, "2001:db8:0:1::1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "2001:db8:0:1:ffff::2"), CLIENTS_TOO_MANY_OF);
	ck_assert_int_eq(enter(c, "2001:db8:0:2::1"), CLIENTS_IN);
	leave(c, "2001:db8:0:1::1");
	leave(c, "2001:db8:0:2::1");
	clients_destroy(&c);
}
END_TEST

START_TEST(an_ipv4_client_at_an_ipv6_socket_is_an_ipv4_client)
{
	struct clients *c = clients_create(&(struct clients_limits){.most = 100, .per_address = 1});
	ck_assert_int_eq(enter(c, "::ffff:192.0.2.1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "::ffff:192.0.2.2"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "::ffff:192.0.2.1"), CLIENTS_TOO_MANY_OF);
	ck_assert_int_eq(enter(c, "192.0.2.2"), CLIENTS_TOO_MANY_OF);
	leave(c, "::ffff:192.0.2.1");
	leave(c, "192.0.2.2");
	clients_destroy(&c);
}
END_TEST

START_TEST(a_forwarder_has_no_share_and_the_others_have_theirs)
{
	struct network of[2];
	ck_assert_int_eq(network_parse("192.0.2.0/28", &of[0]), 0);
	ck_assert_int_eq(network_parse("2001:db8::1", &of[1]), 0);
	struct clients *c = clients_create(&(struct clients_limits){
		.most = 6, .per_address = 1, .forwarders = of, .forwarder_count = 2});
	ck_assert_int_eq(enter(c, "192.0.2.15"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "::ffff:192.0.2.15"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "2001:db8::1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "2001:db8::1"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.16"), CLIENTS_IN);
	ck_assert_int_eq(enter(c, "192.0.2.16"), CLIENTS_TOO_MANY_OF);
	ck_assert_int_eq(enter(c, "2001:db8::2"), CLIENTS_IN); /* the same /64, no forwarder */
	ck_assert_int_eq(enter(c, "192.0.2.1"), CLIENTS_FULL);
	static const char *const in[] = {"192.0.2.15",	"192.0.2.15", "2001:db8::1",
					 "2001:db8::1", "192.0.2.16", "2001:db8::2"};
	for (int i = 0; i < COUNT(in); i++)
		leave(c, in[i]);
	clients_destroy(&c);
}
END_TEST

static void *
come_and_go(void *arg)
{
	char text[32];
	unsigned seed = 3;
	for (int i = 0; i < 20000; i++) {
		snprintf(text, sizeof text, "192.0.2.%d", rand_r(&seed) % 20);
		if (enter(arg, text) == CLIENTS_IN)
			leave(arg, text);
	}
	return NULL;
}

START_TEST(many_threads_at_once_leave_nothing_behind)
{
	pthread_t t[4];
	struct clients *c = clients_create(&(struct clients_limits){.most = 3, .per_address = 2});
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, come_and_go, c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(clients_count(c), 0);
	clients_destroy(&c);
}
END_TEST

UNIT("clients", TEST(so_many_and_no_more), TEST(a_connection_becomes_another_clients),
     TEST(each_address_has_its_share), TEST(an_ipv6_client_is_its_first_64_bits),
     TEST(an_ipv4_client_at_an_ipv6_socket_is_an_ipv4_client),
     TEST(a_forwarder_has_no_share_and_the_others_have_theirs),
     TEST(many_threads_at_once_leave_nothing_behind))
