/* forms.c - what a client takes, against what there is. */
#include "proxy/serve/forms.h"

#include "proxy/cache/store/object_facts.h"
#include "proxy/serve/plain.h"

enum form
forms_choose(const struct txn *t, const struct terms *terms)
{
	struct form_facts f = {
		.accepted = outgoing_accepted(&t->outgoing),
		.class = terms->flags & TERMS_LEFT_PLAIN ? outgoing_class(&t->outgoing) : 0,
		.range = t->rq.method == METHOD_GET && fields_has(&t->rq.fields, FIELD_RANGE),
		.no_transform = t->cc.no_transform,
	};
	return form_choose(terms, &f);
}

/* gzip alone, say, where br lies here. */
static bool
wants_other_coding(struct txn *t, struct object *o)
{
	unsigned class = outgoing_class(&t->outgoing);
	return class != 0 && class != CODING_UNCLASSED && !t->cc.only_if_cached &&
	       !(o->terms.flags & TERMS_PACKED) &&
	       atomic_fetch_add(&o->others, o->others <= FORM_OTHERS_MOST) >= FORM_OTHERS_MOST;
}

bool
forms_refuse(struct txn *t, struct object *o)
{
	switch (forms_of(t, &o->terms)) {
	case FORM_AS_STORED:
		return false;
	case FORM_EXPANDED:
		if (atomic_load(&o->plain_bytes) == OBJECT_EXPANDS_NOT ||
		    (settings_keeps_apart(t->settings, t->route) &&
		     !(o->terms.flags & TERMS_PACKED)))
			t->look.by_coding = true;
		t->look.for_itself = !share_has_room(&t->serve->shelves->expanding, share_holder(t),
						     plain_memory(o), PLAIN_BYTES_MOST);
		return t->look.by_coding || t->look.for_itself || wants_other_coding(t, o);
	case FORM_BETTER:
		return !t->cc.only_if_cached;
	case FORM_NONE:
		t->look.for_itself = true;
		return true;
	}
	return false;
}

void
forms_set_aside(struct txn *t)
{
	struct object *o = t->look.found;
	struct reuse_verdict v = policy_reuse(&o->terms, &t->rq, &t->cc, now_s());
	bool answers = v.reuse == REUSE_FRESH || v.reuse == REUSE_STALE ||
		       v.reuse == REUSE_STALE_REFRESH || v.stale_on_error;
	t->look.found = NULL;
	object_unref(&t->look.spare);
	if (answers && !t->look.by_coding && !t->look.for_itself)
		t->look.spare = o;
	else
		object_unref(&o);
}

struct str
forms_weak_etag(struct txn *t, struct str tag)
{
	if (!tag.n || str_starts(tag, STR("W/")))
		return tag;
	char *weak = arena_alloc(t->arena, tag.n + 2);
	memcpy(weak, "W/", 2);
	memcpy(weak + 2, tag.p, tag.n);
	return (struct str){weak, tag.n + 2};
}
