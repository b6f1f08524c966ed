/* told.c - parameters of a Cache-Status. */
#include "proxy/simulate/told.h"

static struct str
without_space(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = str_from(s, 1);
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

static void
take(struct told *t, struct str name, struct str value)
{
	if (str_eq(name, STR("hit")))
		t->hit = true;
	else if (str_eq(name, STR("collapsed")))
		t->joined = true;
	else if (str_eq(name, STR("fwd-status")))
		t->validated = str_eq(value, STR("304"));
	else if (str_eq(name, STR("detail")))
		t->stored_not = t->stored_not || str_eq(value, STR("not-storable"));
	else if (str_eq(name, STR("fwd"))) {
		t->asked = true;
		t->stored_not = t->stored_not || str_eq(value, STR("bypass")) ||
				str_eq(value, STR("method"));
	}
}

struct told
told_read(struct str s)
{
	struct told t = {0};
	struct str cache = str_before(s, ';');
	if (cache.n == s.n)
		return t;
	for (s = str_from(s, cache.n); s.n;) {
		s = str_from(s, 1);
		struct str one = str_before(s, ';');
		s = str_from(s, one.n);
		struct str name = str_before(one, '=');
		struct str value = name.n < one.n ? str_from(one, name.n + 1) : STR("");
		take(&t, without_space(name), without_space(value));
	}
	t.is_known = true;
	t.stored_not = t.stored_not || (!t.hit && !t.asked);
	return t;
}
