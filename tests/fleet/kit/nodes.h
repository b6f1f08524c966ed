/* nodes.h - several nodes of a fleet on loopback, and a real Redis between them.
 *
 * Each node is the real proxy, with a directory and ports of its own. It lives by the machine's clock, as the engine
 * does: what takes a lease takes its five seconds, and is waited for.
 *
 * A scenario ends with nodes_end, which stops all nodes; each must end well.
 */
#ifndef FLEET_KIT_NODES_H
#define FLEET_KIT_NODES_H

#include "tests/kit/kit.h"

/* ---- the engine ---------------------------------------------------------------------------- */

/* Skips the scenario where there is no redis-server. It keeps nothing over a restart. */
void engine_start(void);
/* The same, by TLS too; the port. Files in PEM form; clients need a certificate of the authority. */
unsigned engine_start_tls(const char *ca, const char *cert, const char *key);
void engine_kill(void);	 /* it is gone, with all it knew */
void engine_pause(void); /* SIGSTOP; all its threads stand still when this returns */
void engine_resume(void);
/* A command, its words divided by blanks; the answer as redis-cli prints it. */
const char *engine_ask(const char *command);

/* ---- nodes --------------------------------------------------------------------------------- */

struct node;
/* A node of that name starts, with further lines of YAML in its section fleet, or NULL. Without engine_start
 * before, lines name the members. It serves when this returns. */
struct node *node_start(const char *name, const char *more);
/* Settings of cache for all nodes from now on: "strip_tags: on". */
void nodes_cache(const char *more);
void node_stop(struct node *n); /* SIGTERM; it must end well */
void node_kill9(struct node *n);
void node_pause(struct node *n); /* the same */
void node_resume(struct node *n);
/* Its file of settings anew, with other lines: for its next start. */
void node_rewrite(struct node *n, const char *more);
/* The same, and applied; it must be taken. */
void node_reload(struct node *n, const char *more);
/* Another process takes its place. The scenario is a subreaper (prctl). */
void node_upgrade(struct node *n);
/* The same directory again, with other lines or NULL for those of before. */
void node_restart(struct node *n, const char *more);
/* Another one, not started yet, in a copy of its directory. n is stopped: one that runs renames files that cp has
 * listed. */
struct node *node_copy(const struct node *n, const char *name);
/* It must refuse to start: its words. */
const char *node_refuses(const char *name, const char *more);
void nodes_end(void);

/* Its members by name: "a b* c? d(0)": b drains, c does not answer; "-": it answers nothing. */
const char *node_sees(const struct node *n);
#define nodes_wait(n, want) wait_until(strcmp(node_sees(n), want) == 0)
/* Parts of all keys, in percent: what it thinks that node owns. */
double node_share(const struct node *n, const char *of);
/* GET or POST at its admin server. */
struct answer node_admin(const struct node *n, const char *method, const char *target);
double node_stat(const struct node *n, const char *path); /* "fleet.members" in /stats */
/* Waits until it is that exactly; fails when it is more, if it is a number that only grows: much is counted a moment behind
 * the answer. Of n nodes: their sum. */
void node_expect_stat(struct node *n, const char *path, double value);
void nodes_expect_sum(struct node *const *of, unsigned n, const char *path, double value);
bool node_said(const struct node *n, const char *words);
const char *node_id(const struct node *n);	/* as its members have it */
const char *node_address(const struct node *n); /* where siblings ask it */
unsigned node_port(const struct node *n);	/* where clients ask it */
unsigned node_admin_port(const struct node *n);
/* A client's request, on a connection of its own. */
struct answer node_get(const struct node *n, const char *target);
struct answer
node_ask(const struct node *n, const char *method, const char *target, const char *fields);
/* The name of the node that owns http://example.com/TARGET, as this one has it. */
const char *node_owner(const struct node *n, const char *target);
/* Of nodes that are called a, b and so on, the owner; and another one than n. */
struct node *nodes_owner(struct node *const *of, const char *target);
struct node *nodes_other(struct node *const *of, const struct node *n);
/* The name of the node of another zone that says it has it; "": none does. */
const char *node_across(const struct node *n, const char *target);
const char *node_dir(const struct node *n);
/* twice COMMAND [A] [B] [C] at its admin server. */
struct output
node_twice(const struct node *n, const char *command, const char *a, const char *b, const char *c);
struct output
node_command(const struct node *n, const char *a, const char *b); /* twice fleet A B */
/* twice purge A [B] [C] at that node. */
struct output node_purge(const struct node *n, const char *a, const char *b, const char *c);
/* POST /purge?QUERY at that node: all nodes have it, and the journal, when this returns. */
void node_purges(const struct node *n, const char *query);
void node_purges_url(const struct node *n, const char *target); /* http://example.com/TARGET */
/* The file of the fleet's secret, or another one. */
const char *nodes_secret(bool ours);

#endif
