/* rooms: fleet origin http base
 *
 * test_beat.c - the script of the fleet on a real Redis, which is started here at a socket of its own; without a
 * redis-server the test says so and tests nothing.
 *
 * The engine's clock goes as it goes: instead of waiting, the times that lie there are moved back.
 */
#include "proxy/fleet/beat.h"
#include "proxy/fleet/node_id.h"
#include "proxy/fleet/replies.h"
#include "proxy/fleet/roster.h"
#include "tests/kit/settled_days.h"
#include "tests/kit/unit.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static pid_t server;
static redisContext *redis;
static struct secret secret;
static struct roster roster; /* of the last answer that had members */
static char text[512];	     /* of the last answer */

/* ---- the server ---------------------------------------------------------------------------- */

static void
start_server(void)
{
	char path[64];
	snprintf(folder, sizeof folder, "/tmp/twice-beat-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/s", folder);
	server = fork();
	if (server == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path,
		       "--save", "", "--dir", folder, NULL);
		_exit(127);
	}
	for (;;) {
		redis = redisConnectUnix(path);
		if (redis && !redis->err)
			break;
		redisFree(redis);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
		ck_assert_int_eq(waitpid(server, NULL, WNOHANG), 0);
	}
}

static void
setup(void)
{
	start_server();
	ck_assert_int_eq(secret_make(&secret, STR("0123456789abcdef0123456789abcdef")), 0);
}

static void
teardown(void)
{
	char path[64];
	redisFree(redis);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	roster_fini(&roster);
	snprintf(path, sizeof path, "%s/s", folder);
	unlink(path);
	rmdir(folder);
}

static long long
number(const char *command, ...)
{
	va_list args;
	va_start(args, command);
	redisReply *r = redisvCommand(redis, command, args);
	va_end(args);
	ck_assert_ptr_nonnull(r);
	long long n = r->type == REDIS_REPLY_INTEGER  ? r->integer
		      : r->type == REDIS_REPLY_STRING ? atoll(r->str)
						      : -1;
	freeReplyObject(r);
	return n;
}

static void
move_back(const char *field, long long ms)
{
	long long at = number("HGET {twice:fleet}:state %s", field);
	if (at > 0)
		number("HSET {twice:fleet}:state %s %lld", field, at - ms);
}

/* So long ago it was seen last. */
static void
seen_ago(uint64_t id, long long ms)
{
	char name[NODE_ID_TEXT + 1];
	number("ZINCRBY {twice:fleet}:seen %lld %s", -ms, node_id_print(id, name));
}

/* ---- nodes --------------------------------------------------------------------------------- */

static struct member
node(uint64_t id)
{
	struct member m = {.id = id, .instance = 100 + id, .weight = 1000, .version = "1"};
	snprintf(m.name, sizeof m.name, "n%llu", (unsigned long long)id);
	snprintf(m.address, sizeof m.address, "10.0.0.%llu:8443", (unsigned long long)id);
	return m;
}

static enum beat_answer
order(enum beat_order o, const struct member *m, const char *known, const struct secret *s)
{
	enum beat_answer a = BEAT_NO_SCRIPT;
	for (int whole = 0; whole < 2 && a == BEAT_NO_SCRIPT; whole++) {
		struct beat b;
		const char *p[BEAT_WORDS];
		size_t n[BEAT_WORDS];
		struct str said;
		beat_make(&b, o, m, known, s, whole);
		for (unsigned i = 0; i < b.words_n; i++) {
			p[i] = b.words[i].p;
			n[i] = b.words[i].n;
		}
		redisReply *r = redisCommandArgv(redis, (int)b.words_n, p, n);
		ck_assert_ptr_nonnull(r);
		a = beat_read(r, &said);
		snprintf(text, sizeof text, "%.*s", STR_ARG(said));
		if (a == BEAT_MEMBERS) {
			roster_fini(&roster);
			ck_assert_int_eq(roster_take(&roster, r, s), 0);
		}
		freeReplyObject(r);
		beat_fini(&b);
	}
	ck_assert_msg(a != BEAT_BROKEN, "%s", text);
	return a;
}

static enum beat_answer
beat(const struct member *m, const char *known)
{
	return order(BEAT, m, known, &secret);
}

/* "1 2*" are members 1 and 2, of which 2 drains. */
static void
expect(const char *says, const char *want)
{
	char got[256] = "";
	for (unsigned i = 0; i < roster.n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s%llu%s", i ? " " : "",
			 (unsigned long long)roster.of[i].id, roster.of[i].drains ? "*" : "");
	ck_assert_msg(strcmp(got, want) == 0, "%s: %s", says, got);
}

/* ---- tests --------------------------------------------------------------------------------- */

START_TEST(who_beats_is_a_member_and_nothing_new_is_not_said_twice)
{
	struct member a = node(1), b = node(2);
	ck_assert_int_eq(beat(&a, ""), BEAT_MEMBERS);
	expect("the first", "1");
	ck_assert(!roster.hands_over);
	ck_assert_int_eq(beat(&a, roster.known), BEAT_SAME);
	ck_assert_int_eq(beat(&b, roster.known), BEAT_MEMBERS);
	expect("the second", "1 2");
	ck_assert(roster.hands_over && roster.settled_n == 1 && roster.settled[0].id == 1);
	ck_assert_int_eq(beat(&a, roster.known), BEAT_SAME);
}
END_TEST

static const struct {
	const char *says;
	long long last_beat_ms, seen_ms; /* ago */
	const char *members;
} leases[] = {
	{"within its lease", 1000, 4000, "1 2"},
	{"behind its lease", 1000, 5500, "1"},
	{"the engine stood still", 2500, 9000, "1 2"},
	{"the engine's clock went back", -3000, 9000, "1 2"},
};

START_TEST(lease)
{
	struct member a = node(1), b = node(2);
	beat(&a, "");
	beat(&b, "");
	move_back("beat", leases[_i].last_beat_ms);
	seen_ago(2, leases[_i].seen_ms);
	beat(&a, "");
	expect(leases[_i].says, leases[_i].members);
	beat(&a, "");
	expect("and it stays so", leases[_i].members);
}
END_TEST

/* Another process has the id of node 1. */
static const struct {
	const char *says;
	bool same_instance, same_address;
	long long seen_ms;
	enum beat_answer want;
} copies[] = {
	{"a copy of the directory elsewhere", false, false, 1000, BEAT_TAKEN},
	{"the process that came after it", false, true, 1000, BEAT_MEMBERS},
	{"the same, moved", true, false, 1000, BEAT_MEMBERS},
	{"one that came when the lease was over", false, false, 6000, BEAT_MEMBERS},
};

START_TEST(copy)
{
	struct member a = node(1), other = a;
	beat(&a, "");
	seen_ago(1, copies[_i].seen_ms);
	move_back("beat", copies[_i].seen_ms); /* a fleet of one */
	if (!copies[_i].same_instance)
		other.instance = 555;
	if (!copies[_i].same_address)
		strcpy(other.address, "10.0.0.9:8443");
	ck_assert_msg(beat(&other, "") == copies[_i].want, "%s", copies[_i].says);
	if (copies[_i].want == BEAT_TAKEN)
		ck_assert_str_eq(text, "10.0.0.1:8443");
	beat(&a, "");
	ck_assert_uint_eq(roster.n, 1);
}
END_TEST

START_TEST(another_secret_is_refused)
{
	struct secret stranger;
	struct member a = node(1), b = node(2);
	secret_make(&stranger, STR("another secret of more than 32 bytes"));
	beat(&a, "");
	ck_assert_int_eq(order(BEAT, &b, "", &stranger), BEAT_OTHER_SECRET);
	ck_assert_str_eq(text, secret.fingerprint);
	ck_assert_int_eq(order(BEAT_DRAIN, &a, "", &stranger), BEAT_OTHER_SECRET);
	ck_assert_int_eq(beat(&a, roster.known), BEAT_SAME);
}
END_TEST

START_TEST(a_drain_lasts_until_undrain)
{
	struct member a = node(1), b = node(2);
	beat(&a, "");
	beat(&b, "");
	order(BEAT_DRAIN, &b, "", &secret);
	expect("it drains", "1 2*");
	order(BEAT_DRAIN, &b, roster.known, &secret);
	ck_assert_int_eq(beat(&a, roster.known), BEAT_SAME);
	order(BEAT_LEAVE, &b, "", &secret);
	expect("it left", "1");
	b.instance++;
	beat(&b, "");
	expect("it came back", "1 2*");
	order(BEAT_UNDRAIN, &b, "", &secret);
	expect("it is let in again", "1 2");
	ck_assert_int_eq(order(BEAT_UNDRAIN, &b, roster.known, &secret), BEAT_SAME);
}
END_TEST

START_TEST(only_the_instance_that_is_there_can_leave)
{
	struct member a = node(1), b = node(2), before = b;
	before.instance = 7;
	beat(&a, "");
	beat(&b, "");
	order(BEAT_LEAVE, &before, "", &secret);
	beat(&a, "");
	expect("the one before it left late", "1 2");
	order(BEAT_LEAVE, &b, "", &secret);
	expect("it left", "1");
}
END_TEST

START_TEST(a_change_of_a_member_is_told)
{
	struct member a = node(1), b = node(2);
	beat(&a, "");
	beat(&b, "");
	strcpy(b.name, "renamed");
	ck_assert_int_eq(beat(&b, roster.known), BEAT_MEMBERS);
	ck_assert_int_eq(beat(&a, ""), BEAT_MEMBERS);
	ck_assert_str_eq(roster.of[1].name, "renamed");
}
END_TEST

START_TEST(an_engine_without_its_data_has_another_era)
{
	struct member a = node(1);
	char era[BEAT_KNOWN];
	beat(&a, "");
	snprintf(era, sizeof era, "%s", roster.known);
	number("FLUSHALL");
	ck_assert_int_eq(beat(&a, era), BEAT_MEMBERS);
	ck_assert_str_ne(era, roster.known);
}
END_TEST

/* The same days as test_settled has for settled.c: a change is another weight. */
START_TEST(day)
{
	struct member a = node(1);
	char got[32] = "";
	size_t n = 0;
	long long now = 0, before = -1;
	beat(&a, "");
	for (const char *p = days[_i].day; *p; p += *p == ' ') {
		char *end;
		long long minute = strtol(p, &end, 10);
		bool changed = *end == 'c';
		move_back("begun", (minute - now) * 60000);
		move_back("changed", (minute - now) * 60000);
		now = minute;
		a.weight += changed;
		beat(&a, "");
		long long begun = number("HEXISTS {twice:fleet}:state begun");
		got[n++] = begun == before || (before < 0 && !begun) ? '-' : begun ? 'b' : 'e';
		before = begun;
		ck_assert(roster.hands_over == (begun == 1));
		if (!begun)
			ck_assert_uint_eq(roster.settled[0].weight, a.weight);
		p = end + changed;
	}
	ck_assert_msg(strcmp(got, days[_i].want) == 0, "%s: %s", days[_i].says, got);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("beat");
	TCase *c = tcase_create("beat");
	if (system("command -v redis-server >/dev/null")) {
		printf("beat: skipped, there is no redis-server\n0 passed, 0 failed\n");
		return 0;
	}
	tcase_set_timeout(c, UNIT_GUARD_S);
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, who_beats_is_a_member_and_nothing_new_is_not_said_twice);
	tcase_add_loop_test(c, lease, 0, COUNT(leases));
	tcase_add_loop_test(c, copy, 0, COUNT(copies));
	tcase_add_test(c, another_secret_is_refused);
	tcase_add_test(c, a_drain_lasts_until_undrain);
	tcase_add_test(c, only_the_instance_that_is_there_can_leave);
	tcase_add_test(c, a_change_of_a_member_is_told);
	tcase_add_test(c, an_engine_without_its_data_has_another_era);
	tcase_add_loop_test(c, day, 0, COUNT(days));
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
