/* origins.h - the groups of servers that a configuration names. Those that the configuration before
 * has too are the same objects: their health, and the connections to them, stay.
 *
 * Threads   constant after origins_open; what the groups know is atomic.
 */
#ifndef NODE_ORIGINS_H
#define NODE_ORIGINS_H

#include "proxy/admin/report.h"
#include "proxy/origin/upstream.h"

struct config;

struct origins {
	struct upstream **groups; /* users of them; as config_group counts them */
	unsigned group_count;
	bool lenient; /* those whose files cannot be read are there, and out of reach */
};

/* These outlive configurations: where names are found, and under which number a server is counted,
 * the same as long as it is of the same group. */
struct origin_names {
	struct resolver *resolver;
	struct origin_name {
		char *group, *url; /* owned; NULL: the number was never given */
		bool counted;	   /* all workers have forgotten who had it before */
		bool taken;	   /* by the configuration that is being opened */
	} of[REPORT_ORIGINS_MOST];
};
void origins_names_fini(struct origin_names *n);

/* o: zeroed but for lenient. before: what is in use, or NULL. -1 and a sentence; o is to be closed in any case. */
int
origins_open(struct origins *o, const struct config *c, unsigned workers,
	     const struct origins *before, struct origin_names *names, char *err, size_t err_bytes);
/* o: zeroed. The same groups, which have one user more. */
void origins_share(struct origins *o, const struct origins *of);
/* Whether one of its groups has this very origin. */
bool origins_have(const struct origins *o, const struct origin *origin);
void origins_close(struct origins *o);

#endif
