/* forms.h - in which form a request is sent what lies here, or comes (http/form.h).
 *
 * Threads   its request's worker.
 */
#ifndef SERVE_FORMS_H
#define SERVE_FORMS_H

#include "proxy/http/form.h"
#include "proxy/serve/txn.h"

enum form forms_choose(const struct txn *t, const struct terms *terms);
/* Of an answer with these terms: mostly there is one form alone, and nothing of the request is read. */
static inline enum form
forms_of(const struct txn *t, const struct terms *terms)
{
	bool coded = terms_coding(terms) != CODING_NONE || terms->flags & TERMS_LEFT_PLAIN;
	return terms->flags & TERMS_ONE_FORM && coded ? forms_choose(t, terms) : FORM_AS_STORED;
}
/* Whether the object that was found is of no use to t, which then says why. */
bool forms_refuse(struct txn *t, struct object *o);
/* It is as if it had not been found; where it would do, it is there for an origin that fails. */
void forms_set_aside(struct txn *t);
/* The tag of a stored head made weak, in the request's memory. */
struct str forms_weak_etag(struct txn *t, struct str tag);
/* As it is for that form. */
static inline struct str
forms_etag(struct txn *t, struct str head, const struct terms *terms, enum form form)
{
	struct str tag = {head.p + terms->etag_at, terms->etag_bytes};
	return form_is_own(terms, form) ? tag : forms_weak_etag(t, tag);
}

#endif
