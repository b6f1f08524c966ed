/* pairs.c - names of a line to roles, remembered from the line before. */
#include "proxy/simulate/pairs.h"

enum { LOOK_AHEAD = 4 }; /* names that a line may lack, or have more */

static bool
is_name(const struct parse_key *k, struct str name)
{
	return name.n && k->n == name.n && memcmp(k->name, name.p, name.n) == 0;
}

static enum role
find_role(struct roles_own *own, struct str name, struct str last, uint32_t roles, unsigned *rank)
{
	enum role role = roles_find(own, name, rank);
	if (role != ROLE_NONE || !roles)
		return role;
	role = roles_find(own, last, rank);
	return role != ROLE_NONE && roles >> role & 1 ? role : ROLE_NONE;
}

const struct parse_key *
pairs_find(struct pairs *s, struct str name, struct str last, uint32_t roles)
{
	struct parse_key *keys = s->p->keys;
	for (unsigned i = s->key_i; i < s->key_i + LOOK_AHEAD && i < PARSE_KEYS_MOST; i++)
		if (is_name(&keys[i], name)) {
			s->key_i = i + 1;
			return &keys[i];
		}
	unsigned at = s->key_i < PARSE_KEYS_MOST ? s->key_i++ : PARSE_KEYS_MOST - 1, rank;
	struct parse_key *k = &keys[at];
	k->role = (uint8_t)find_role(s->p->own, name, last, roles, &rank);
	k->rank = (uint8_t)rank;
	k->leads = roles_lead(s->p->own, name);
	k->n = 0; /* a long name is looked up each time */
	if (name.n && name.n < PARSE_KEY_BYTES) {
		memcpy(k->name, name.p, name.n);
		k->n = (uint8_t)name.n;
	}
	return k;
}

bool
pairs_set(struct pairs *s, enum role role, unsigned rank, struct str value)
{
	if (role == ROLE_NONE || (s->best[role] && s->best[role] <= rank + 1) || value.n == 0)
		return true;
	s->best[role] = (uint8_t)(rank + 1);
	return roles_set(s->e, role, value);
}

bool
pairs_have_object(const struct pairs *s)
{
	const struct entry *e = s->e;
	if (!s->best[ROLE_ID] || s->best[ROLE_TARGET] || s->best[ROLE_REQUEST])
		return true;
	bool named = s->best[ROLE_ID] == 1; /* by the user */
	return named ||
	       (e->status == ENTRY_NO_STATUS && !e->client.n && !e->host.n && !e->method.n);
}
