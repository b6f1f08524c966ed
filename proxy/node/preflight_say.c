/* preflight_say.c - a finding is told and counted. */
#include "proxy/node/preflight_inside.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 4, 0))) static void
find_text(struct findings *p, struct finding *f, const char *setting, const char *fmt, va_list args)
{
	snprintf(f->setting, sizeof f->setting, "%s", setting);
	vsnprintf(f->text, sizeof f->text, fmt, args);
	p->found++;
	p->each(p->ctx, f);
}

void
preflight_find(struct findings *p, bool stops, const char *setting, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	find_text(p, &(struct finding){.stops = stops}, setting, fmt, args);
	va_end(args);
}

void
preflight_find_missing(struct findings *p, const char *setting, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	find_text(p, &(struct finding){.missing = true}, setting, fmt, args);
	va_end(args);
}
