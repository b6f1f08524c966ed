/* settled_days.h - days of a fleet, for settled.c and for the script that keeps the same rule (test_settled, test_beat).
 */
#ifndef KIT_SETTLED_DAYS_H
#define KIT_SETTLED_DAYS_H

/* A day of a fleet: "10c" is a change in minute 10, "20" a look in minute 20. Each answers "-" (stays), "b"
 * (begins) or "e" (ends). */
static const struct {
	const char *says, *day, *want;
} days[] = {
	/* clang-format off */
	{"nothing happens",                               "0 60 1000", "---"},
	{"a change begins a series",                      "0c 5", "b-"},
	{"it ends ten minutes later",                     "0c 9 10 20", "b-e-"},
	{"another change in it puts the end off",         "0c 9c 10 18 19", "b---e"},
	{"after the end a change begins the next",        "0c 10 11c 21", "bebe"},
	{"a node that flaps holds it for an hour at most", "0c 9c 18c 27c 36c 45c 54c 59 60c 61c", "b-------eb"},
	{"an hour without a look ends by itself",         "0c 100 101", "be-"},
	{"a change after an hour belongs to the new ring", "0c 100c 101", "be-"},
	{"a change behind ten minutes that nobody looked at goes on", "0c 11c 20 21", "b--e"},
	/* clang-format on */
};

#endif
