/* filters_query.c - what a PUT asks for: a table of parameters. */
#include "proxy/admin/filters_query.h"

#include <ctype.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Tightening by half with every link, 2^-30 leaves room for 33 links (64 hashes are the most), and
 * the memory ends long before. */
#define FALSE_POSITIVES_LEAST 1e-9
#define FALSE_POSITIVES_MOST  0.5
#define CAPACITY_MOST	      UINT64_C(1000000000000)

static bool
parse_whole(const char *z, uint64_t least, uint64_t most, uint64_t *out)
{
	size_t digits = strspn(z, "0123456789");
	if (digits == 0 || digits > 18 || z[digits])
		return false;
	uint64_t v = strtoull(z, NULL, 10);
	if (v < least || v > most)
		return false;
	*out = v;
	return true;
}

static bool
parse_capacity(const char *z, struct twice_scalable_options *o)
{
	return parse_whole(z, 1, CAPACITY_MOST, &o->keys);
}

static bool
parse_grow(const char *z, struct twice_scalable_options *o)
{
	return parse_whole(z, 2, TWICE_CHAIN_GROWTH_MOST, &o->growth);
}

static bool
parse_false_positives(const char *z, struct twice_scalable_options *o)
{
	char *end;
	if (!isdigit((unsigned char)*z) || strpbrk(z, "xX"))
		return false;
	double v = strtod(z, &end);
	if (*end == '%') {
		v /= 100;
		end++;
	}
	if (*end || !(v >= FALSE_POSITIVES_LEAST && v <= FALSE_POSITIVES_MOST))
		return false;
	o->fpr = v;
	return true;
}

/* clang-format off */
static const struct parameter {
	const char *word;
	bool needed;
	bool (*parse)(const char *z, struct twice_scalable_options *o);
	const char *says;
} parameters[] = {
	{ "capacity",        true,  parse_capacity,        "capacity is the number of keys it is made for, 1 to 1000000000000" },
	{ "false_positives", true,  parse_false_positives, "false_positives is a share from 1e-9 to 0.5, such as 0.01 or 1%25" },
	{ "grow",            false, parse_grow,            "grow is how many times larger every next link is, 2 to 16" },
};
/* clang-format on */
enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]) };

/* NULL, or what is wrong. */
static const char *
read_pairs(struct evkeyvalq *pairs, struct twice_scalable_options *o)
{
	bool given[PARAMETERS] = {false};
	for (struct evkeyval *pair = pairs->tqh_first; pair; pair = pair->next.tqe_next) {
		size_t i = 0;
		while (i < PARAMETERS && strcmp(parameters[i].word, pair->key) != 0)
			i++;
		if (i == PARAMETERS || given[i])
			return "ask for capacity, false_positives and grow, each once";
		if (!parameters[i].parse(pair->value, o))
			return parameters[i].says;
		given[i] = true;
	}
	for (size_t i = 0; i < PARAMETERS; i++)
		if (parameters[i].needed && !given[i])
			return parameters[i].says;
	return NULL;
}

const char *
filters_query_read(const char *query, struct twice_scalable_options *o)
{
	struct evkeyvalq pairs;
	if (evhttp_parse_query_str(query ? query : "", &pairs) < 0)
		return "ask like this: ?capacity=1000&false_positives=1%25";
	const char *wrong = read_pairs(&pairs, o);
	evhttp_clear_headers(&pairs);
	return wrong;
}
