/* Siblings ask each other, and the engine, by mutual TLS. */
#include "tests/fleet/kit/nodes.h"

#include <stdlib.h>

/* An authority, and a certificate of it for each of the names. */
static void
make_certificates(const char *const *names)
{
	const char *d = kit_dir();
	needs("openssl");
	struct output o =
		program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
			"ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=fleet", "-keyout",
			text("%s/ca.key", d), "-out", text("%s/ca.pem", d), "-days", "2");
	expect_that(o.status == 0, "%s", o.err);
	for (; *names; names++) {
		o = program("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
			    "ec_paramgen_curve:P-256", "-nodes", "-subj", text("/CN=%s", *names),
			    "-addext", text("subjectAltName=DNS:%s,DNS:localhost", *names), "-CA",
			    text("%s/ca.pem", d), "-CAkey", text("%s/ca.key", d), "-keyout",
			    text("%s/%s.key", d, *names), "-out", text("%s/%s.pem", d, *names),
			    "-days", "2");
		expect_that(o.status == 0, "%s", o.err);
	}
}

static const char *
by_tls(const char *name)
{
	const char *d = kit_dir();
	return text("  ca_file: %s/ca.pem\n  cert_file: %s/%s.pem\n  key_file: %s/%s.key\n", d, d,
		    name, d, name);
}

SCENARIO("nodes with certificates of one authority see each other, others do not")
{
	engine_start();
	make_certificates((const char *const[]){"a", "b", "x", NULL});
	struct node *a = node_start("a", by_tls("a")), *b = node_start("b", by_tls("b"));
	nodes_wait(a, "a b");
	nodes_wait(b, "a b");
	engine_pause(); /* nobody is removed meanwhile */
	node_pause(b);	/* its connections are dialled anew, and nobody resumes a session in vain */
	nodes_wait(a, "a b?");
	node_resume(b);
	engine_resume();
	nodes_wait(a, "a b");
	wait_until(strstr(node_twice(a, "stats", "--fleet", NULL, NULL).out,
			  "The 2 nodes of the fleet, summed up"));
	/* One whose certificate is for another name, and one that speaks no TLS. */
	struct node *c = node_start("c", by_tls("x"));
	nodes_wait(a, "a b c?");
	struct node *d = node_start("d", NULL);
	nodes_wait(a, "a b c? d?");
	wait_until(strstr(node_twice(a, "stats", "--fleet", NULL, NULL).out,
			  "2 of the 4 nodes of the fleet are summed up here, without:"));
	nodes_wait(d, "a? b? c? d");
	(void)c;
	nodes_end();
}

SCENARIO("the engine is reached by TLS, and its certificate is looked at")
{
	needs("redis-server");
	make_certificates((const char *const[]){"a", "b", "redis", NULL});
	const char *d = kit_dir();
	unsigned port = engine_start_tls(text("%s/ca.pem", d), text("%s/redis.pem", d),
					 text("%s/redis.key", d));
	/* The certificate is for localhost, not for that address. */
	struct node *a = node_start("a", text("%s  engine: [ \"rediss://localhost:%u\" ]\n",
					      by_tls("a"), port)),
		    *b = node_start("b", text("%s  engine: [ \"rediss://127.0.0.1:%u\" ]\n",
					      by_tls("b"), port));
	wait_until(node_said(b, "cannot be used: SSL"));
	nodes_wait(a, "a");
	wait_until(node_said(a, text("the engine rediss://localhost:%u answers", port)));
	nodes_end();
}
