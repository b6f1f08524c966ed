/* rest.c - what one client leaves behind costs about as much again as it took, at most. */
#include "proxy/serve/rules/rest.h"

/* A few: as much as a fetch runs ahead of whoever reads it (flights_options.window_bytes). */
enum { FEW = 512 << 10, MOST = 4 << 20 };

bool
rest_is_little(uint64_t here, uint64_t missing)
{
	return missing <= FEW || (missing <= here && missing <= MOST);
}

bool
rest_is_worth(const struct rest_facts *f)
{
	if (f->wanted)
		return true;
	return f->stored && f->all != UINT64_MAX && rest_is_little(f->here, f->all - f->here);
}
