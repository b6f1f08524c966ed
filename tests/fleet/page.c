/* The page of a node of a fleet, in a real browser. */
#include "tests/fleet/kit/nodes.h"
#include "tests/kit/browser.h"

#define FRESH "Cache-Control: max-age=600\r\n"

enum { NODES = 3 };

static struct node *of[NODES];

static void
open_page(void)
{
	needs("chromium");
	origin_says("*", .fields = FRESH, .body = "hello");
	engine_start();
	for (int i = 0; i < NODES; i++)
		of[i] = node_start(text("%c", 'a' + i), NULL);
	for (int i = 0; i < NODES; i++)
		wait_until(node_stat(of[i], "fleet.well") == NODES);
	for (int i = 0; i < 60; i++)
		node_get(of[i % NODES], text("/%d", i % 7));
	browser_open(text("http://127.0.0.1:%u/", node_admin_port(of[0])));
	wait_until(browser_is("document.readyState === 'complete' && typeof last === 'object' && "
			      "!$('fleetbox').hidden && $('fleet').tBodies.length === 1"));
}

/* The row of that node has this cell, or more of the kind. */
static bool
has(const char *node, const char *cell)
{
	return browser_is(text("[...$('fleet').tBodies[0].rows].some(r => "
			       "r.cells[0].textContent.startsWith('%s') && "
			       "[...r.cells].some(c => c.textContent.startsWith('%s')))",
			       node, cell));
}

SCENARIO_IN(90,
	    "the page has the sums of the fleet and a row for each node, and names who is silent")
{
	open_page();
	wait_until(strstr(browser_words("fleetsum"), "of 60 requests were answered") != NULL);
	wait_until(browser_is("fetch('fleet?stats=1').then(a => a.json()).then(f => window.f = f), "
			      "window.f && window.f.nodes.length === 3"));
	expect(browser_is("$('fleetsum').textContent.includes(share(f.sum.requests.hit_ratio))"));
	expect(browser_is(
		"$('fleetsum').textContent.includes(count(f.sum.hops.sent) + 'requests from')"));
	expect(browser_is(
		"f.nodes.every(n => [...$('fleet').tBodies[0].rows].some(r => "
		"r.cells[0].textContent.startsWith(n.node) && r.cells[1].textContent === 'in' && "
		"r.cells[2].textContent === share(n.share) && r.cells[3].textContent === '0' && "
		"r.cells[4].textContent === count(n.numbers.requests.total)))"));
	expect(has("a (this node)", "20") && has("b", "20") && has("c", "20"));
	static const int widths[] = {1280, 320};
	for (int i = 0; i < 2; i++) {
		browser_set_width(widths[i], 900);
		expect_that(browser_is("document.documentElement.scrollWidth <= innerWidth"),
			    "%d pixels wide it scrolls sideways", widths[i]);
	}
	browser_expect_contrast("light");
	browser_expect_contrast("dark");
	engine_pause(); /* from here on nobody is removed */
	node_kill9(of[2]);
	wait_until(has("c", "silent"));
	expect_text(browser_words("fleetnote"), "Left out, for they do not answer: c.");
	wait_until(strstr(browser_words("fleetsum"), "of 40 requests were answered") != NULL);
	browser_expect_no_errors();
	engine_resume();
	nodes_end();
}
