/* stats_fleet.c - who is in the sums and who is not, the sums, and the nodes. */
#include "proxy/cli/stats_fleet.h"

#include "config/units.h"
#include "proxy/cli/savings.h"

#include <string.h>

static const char *
text(const json_t *of, const char *key)
{
	const char *s = json_string_value(json_object_get(of, key));
	return s ? s : "";
}

static double
number(const json_t *numbers, const char *group, const char *key)
{
	return json_number_value(json_object_get(json_object_get(numbers, group), key));
}

/* ---- who is in the sums -------------------------------------------------------------------- */

static void
print_who(FILE *to, const json_t *nodes)
{
	size_t n = json_array_size(nodes), silent = 0, i;
	const json_t *node;
	json_array_foreach(nodes, i, node)
	{
		silent += !json_is_true(json_object_get(node, "answers"));
	}
	if (silent)
		fprintf(to, "%zu of the %zu nodes of the fleet are summed up here, without:\n",
			n - silent, n);
	else
		fprintf(to, "The %zu nodes of the fleet, summed up\n", n);
	json_array_foreach(nodes, i, node)
	{
		if (!json_is_true(json_object_get(node, "answers")))
			fprintf(to, "  %s at %s: %s\n", text(node, "node"), text(node, "address"),
				text(node, "why"));
	}
	fprintf(to, "\nSince the start of each\n");
}

/* ---- between them -------------------------------------------------------------------------- */

static void
print_between(FILE *to, const json_t *sum)
{
	char a[UNITS_BYTES], b[UNITS_BYTES];
	fprintf(to, "  between nodes            %12s   requests, %s sent; %.0f failed\n",
		units_say_count((uint64_t)number(sum, "hops", "sent"), a),
		units_say_bytes((uint64_t)number(sum, "bytes", "to_siblings"), b),
		number(sum, "hops", "failed"));
}

/* ---- a line for each ----------------------------------------------------------------------- */

static const char *
state_of(const json_t *node)
{
	return json_is_true(json_object_get(node, "answers")) ? text(node, "state") : "silent";
}

static void
print_numbers(FILE *to, const json_t *n)
{
	char a[UNITS_BYTES], b[UNITS_BYTES], c[UNITS_BYTES], d[UNITS_BYTES], e[UNITS_BYTES];
	fprintf(to, " %10s %6.1f%% %10s %10s %11s %6.1f%% %10s",
		units_say_count((uint64_t)number(n, "requests", "total"), a),
		100 * number(n, "requests", "hit_ratio"),
		units_say_count((uint64_t)number(n, "hops", "sent"), b),
		units_say_count((uint64_t)number(n, "hops", "taken"), c),
		units_say_bytes((uint64_t)number(n, "disk", "written_bytes"), d),
		100 * number(n, "disk", "saved_ratio"),
		units_say_lasting(json_number_value(json_object_get(n, "uptime_s")), e));
}

static void
print_node(FILE *to, const json_t *node)
{
	const json_t *n = json_object_get(node, "numbers");
	fprintf(to, "%-20s %-9s %6.1f%% %7lld", text(node, "node"), state_of(node),
		100 * json_number_value(json_object_get(node, "share")),
		(long long)json_integer_value(json_object_get(node, "purges_behind")));
	if (n)
		print_numbers(to, n);
	fprintf(to, "\n");
}

int
stats_fleet_print(FILE *to, const json_t *answer, char *err, size_t err_bytes)
{
	const json_t *sum = json_object_get(answer, "sum"),
		     *nodes = json_object_get(answer, "nodes"), *node;
	size_t i;
	print_who(to, nodes);
	if (savings_print_sum(to, sum, err, err_bytes) < 0)
		return -1;
	print_between(to, sum);
	fprintf(to, "\n%-20s %-9s %7s %7s %10s %7s %10s %10s %11s %7s %10s\n", "node", "state",
		"share", "behind", "requests", "hits", "hops out", "hops in", "written", "saved",
		"up");
	json_array_foreach(nodes, i, node)
	{
		print_node(to, node);
	}
	return 0;
}
