/* owners.c - a line for each. */
#include "proxy/cli/owners.h"

#include <stdio.h>

static const char *
text(const json_t *of, const char *key)
{
	const char *s = json_string_value(json_object_get(of, key));
	return s ? s : "";
}

static void
print_sibling(const char *title, const json_t *s)
{
	printf("%s%s at %s%s%s\n", title, text(s, "node"), text(s, "address"),
	       json_is_true(json_object_get(s, "self")) ? ", this node" : "",
	       json_is_true(json_object_get(s, "well")) ? "" : ", which does not answer");
}

void
owners_print(const json_t *answer)
{
	size_t i;
	json_t *s;
	printf("slot     %lld\n", (long long)json_integer_value(json_object_get(answer, "slot")));
	json_array_foreach(json_object_get(answer, "owners"), i, s)
	{
		print_sibling(i ? "then     " : "owner    ", s);
	}
	if (json_is_object(json_object_get(answer, "settled_owner")))
		print_sibling("before   ", json_object_get(answer, "settled_owner"));
	if (json_is_object(json_object_get(answer, "across")))
		print_sibling("across   ", json_object_get(answer, "across"));
}
