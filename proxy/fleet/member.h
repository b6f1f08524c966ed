/* member.h - what a node tells the others of itself: a record, signed with the secret.
 *
 * A record is the HMAC of id and JSON, a blank and the JSON, such as
 *
 *	{"address": "10.0.0.11:8443", "instance": "5f...", "name": "edge-fra-1", "version": "0.3.0", "weight": 107374182400,
 *	 "zone": "fra"}
 *
 * Members that are not known are ignored, so that a newer version may say more.
 *
 * Pure. Answers: a record is right to the last byte, or it is none.
 * Memory    a struct member is whole by itself.
 */
#ifndef FLEET_MEMBER_H
#define FLEET_MEMBER_H

#include "proxy/base/buf.h"
#include "proxy/fleet/secret.h"

enum {
	MEMBER_NAME = 64,
	MEMBER_ADDRESS = 264,
	MEMBER_VERSION = 48,
	MEMBER_RECORD_MOST = 1024,
};
#define MEMBER_WEIGHT_MOST (UINT64_C(1) << 53)

struct member {
	uint64_t id;
	uint64_t instance;	      /* another one with each start of the process */
	uint64_t weight;	      /* 1 to MEMBER_WEIGHT_MOST */
	char name[MEMBER_NAME];	      /* letters, digits, "-", "_" and "." */
	char zone[MEMBER_NAME];	      /* the same; "": none, which is a zone too */
	char address[MEMBER_ADDRESS]; /* host:port, where siblings ask it */
	char version[MEMBER_VERSION];
	bool drains; /* an order of an operator; not in the record */
};

/* True: it may be the name of a node. */
bool member_may_be_named(struct str name);
/* Whether both have the same owners (chart.h). */
bool member_is_near(const struct member *a, const struct member *b);
/* True: it has the form host:port. */
bool member_may_be_at(struct str address);
/* Adds the record of m. */
void member_format(const struct member *m, const struct secret *s, struct buf *out);
/* -1: it is not a record of that node, or nobody signed it who has the secret. */
int member_parse(struct str record, uint64_t id, const struct secret *s, struct member *out);

#endif
