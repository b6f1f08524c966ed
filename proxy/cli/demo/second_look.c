/* second_look.c - a short study of one log. */
#include "proxy/cli/demo/second_look.h"

#include "config/config.h"
#include "proxy/base/mem.h"
#include "proxy/simulate/account.h"

#include <stdlib.h>

void
second_look_print(FILE *to, const struct config *c, const char *log)
{
	static const char *const policies[] = {"all", "2", "3", "bound"};
	static const uint64_t seed[2] = {1, 2};
	struct study_options *o = NEW(struct study_options);
	struct study s;
	char err[512];
	o->logs[o->logs_n++] = log;
	o->source.format = FORMAT_AUTO;
	o->screen.config = c;
	twice_seed_init(&o->screen.seed, seed, sizeof(seed));
	o->disks[o->disks_n++] = config_disk_bytes(c);
	o->memory = c->cache.memory_bytes;
	o->base.sights.memory = (struct twice_filter_options){
		.sightings = 2,
		.capacity = c->admission.capacity,
		.false_positives = c->admission.false_positives,
		.rotate_after_s = c->admission.rotate_after_s,
		.seed = 1,
	};
	for (size_t i = 0; i < sizeof(policies) / sizeof(*policies); i++)
		o->policies[o->policies_n++] = policies[i];
	if (study_run(&s, o, err, sizeof(err)) == 0) {
		fprintf(to,
			"\nThe same requests once more, from the access log, with other settings (twice simulate):\n");
		account_table(to, &s);
		study_fini(&s);
	}
	free(o);
}
