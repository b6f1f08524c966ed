/* A client that pauses: whoever asked first has the same patience as whoever is answered from the cache,
 * and when it goes on so does the fetch, by a second one where the origin has given up the first. */
#include "tests/kit/kit.h"

#define FRESH "Cache-Control: max-age=600\r\n"
#define MIB   (1 << 20)

enum { BYTES = 48 * MIB, SEED = 5, PAUSE_S = 40, HOLDS_S = 60, SOON_S = 5 };

/* By the smallest buffer there is its kernel takes more than this asks for in a period, and no more after
 * that. */
#define LIMITS "limits:\n  least_rate: 20B\n"
enum { LEAST = 20 * HOLDS_S };

/* The proxy has more for it than goes, and not only nothing from the origin at the moment; backs_up: and takes no more
 * from the origin either. */
static struct client *
pausing(bool backs_up)
{
	struct client *c = client_open_narrow();
	double before = -1, sent = edge_stat("bytes.to_clients"), enough = sent + 2 * LEAST;
	client_request(c, "GET", "/big", NULL);
	for (int same = 0; same < 20;) {
		before = sent;
		clock_settle();
		kit_pause();
		sent = edge_stat("bytes.to_clients");
		bool waits =
			kit_not_taken(edge_port()) && (!backs_up || kit_not_taken(origin_port()));
		same = waits && sent == before && sent > enough ? same + 1 : 0;
	}
	return c;
}

static void
pause_for(int s)
{
	for (int i = 0; i < s; i++)
		clock_advance(1000);
}

static void
expect_whole(struct client *c)
{
	struct answer a = client_read(c, "GET");
	expect_status(a, 200);
	expect(a.body_bytes == BYTES && is_pattern(a.body, SEED, 0, BYTES));
}

static void
first_asker_pauses(const struct say *big)
{
	origin_script("/big", big);
	clock_hold();
	edge_start_yaml(LIMITS);
	struct client *c = pausing(false);
	pause_for(PAUSE_S);
	expect_whole(c);
	origin_expect_requests(1);
}

SCENARIO("who asks first for what lies in slices may pause for 40 s")
{
	first_asker_pauses(&(struct say){.fields = FRESH,
					 .etag = "\"1\"",
					 .pattern_bytes = BYTES,
					 .seed = SEED,
					 .ranges = true});
}

SCENARIO("who asks first for what cannot lie in slices may pause for 40 s")
{
	first_asker_pauses(&(struct say){.fields = FRESH, .pattern_bytes = BYTES, .seed = SEED});
}

SCENARIO("who asks first for what is kept nowhere may pause for 40 s")
{
	first_asker_pauses(&(struct say){.fields = "Cache-Control: no-store\r\n",
					 .pattern_bytes = BYTES,
					 .seed = SEED,
					 .chunked = true});
}

SCENARIO("who is answered from the cache may pause for 40 s")
{
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = SEED);
	edge_yaml("admission:\n  sightings: 1\n" LIMITS);
	clock_hold();
	edge_start("--disk", "512MiB");
	get("/big");
	edge_wait_stat("disk.objects", 1);
	struct client *c = pausing(false);
	pause_for(PAUSE_S);
	expect_whole(c);
	origin_expect_requests(1);
}

static void
is_given_up_in_time(void)
{
	edge_yaml("admission:\n  sightings: 1\n" LIMITS);
	clock_hold();
	edge_start("--disk", "512MiB");
	for (int warm = 0; warm < 2; warm++) {
		struct client *c = pausing(false);
		pause_for(HOLDS_S);
		expect_int((long long)edge_stat("connections.too_slow"), warm);
		pause_for(SOON_S);
		edge_wait_stat("connections.too_slow", warm + 1);
		client_close(c);
		clock_settle();
		get("/big");
		edge_wait_stat("disk.objects", 1);
	}
}

SCENARIO("a client that takes nothing more is given up after a minute, whoever it is")
{
	origin_says("/big", .fields = FRESH, .pattern_bytes = BYTES, .seed = SEED, .times = 9);
	is_given_up_in_time();
}

/* The origin loses patience before the client does. */
static void
goes_on(const struct say *big)
{
	struct say again = *big;
	again.times = 9;
	origin_script("/big", &again);
	clock_hold();
	edge_start_yaml(LIMITS);
	struct client *c = pausing(big->chunked);
	pause_for(PAUSE_S / 2);
	origin_dies();
	clock_settle();
	origin_returns();
	pause_for(PAUSE_S / 2);
	expect_whole(c);
	expect(origin_requests() >= 2);
	expect_text(heard_field(origin_last(), "If-Range"), "\"1\"");
}

SCENARIO("what the origin has given up while a client paused comes by a second fetch: slices")
{
	goes_on(&(struct say){.fields = FRESH,
			      .etag = "\"1\"",
			      .pattern_bytes = BYTES,
			      .seed = SEED,
			      .ranges = true});
}

SCENARIO("what the origin has given up while a client paused comes by a second fetch: chunks")
{
	goes_on(&(struct say){.fields = FRESH,
			      .etag = "\"1\"",
			      .pattern_bytes = BYTES,
			      .seed = SEED,
			      .ranges = true,
			      .chunked = true});
}
