/* tags.c - the words in an answer by which it may be purged. */
#include "proxy/serve/rules/tags.h"

#include "proxy/base/le.h"
#include "proxy/cache/cache_forget.h"

static uint64_t
length_bit(size_t n)
{
	return UINT64_C(1) << (n < 63 ? n : 63);
}

/* The settings may name any field, also one that the program knows. */
void
tags_prepare(struct tag_settings *s)
{
	s->ids = s->lengths = 0;
	for (unsigned i = 0; i < s->names_n; i++) {
		s->ids |= field_bit(field_id_of(s->names[i]));
		s->lengths |= length_bit(s->names[i].n);
	}
}

bool
tags_is_field(const struct tag_settings *s, const struct field *f)
{
	if (!(s->ids & field_bit(f->id)) || !(s->lengths & length_bit(f->name.n)))
		return false;
	for (unsigned i = 0; i < s->names_n; i++)
		if (str_ieq(f->name, s->names[i]))
			return true;
	return false;
}

static bool
separates(char c)
{
	return c == ' ' || c == '\t' || c == ',';
}

bool
tags_next(struct str *rest, struct str *word)
{
	size_t from = 0, to;
	while (from < rest->n && separates(rest->p[from]))
		from++;
	for (to = from; to < rest->n && !separates(rest->p[to]);)
		to++;
	*word = (struct str){rest->p + from, to - from};
	*rest = str_from(*rest, to);
	return word->n;
}

bool
tags_is_one(struct str tag)
{
	struct str rest = tag, word;
	return tag.n && tags_next(&rest, &word) && word.n == tag.n;
}

bool
tags_read(const struct tag_settings *s, const struct cache *c, const struct fields *fields,
	  struct buf *out)
{
	bool any = false;
	for (unsigned i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];
		struct str rest = f->value, word;
		if (!tags_is_field(s, f))
			continue;
		any = true;
		while (tags_next(&rest, &word)) {
			le_put32(buf_room(out, 4), cache_tag(c, word));
			buf_added(out, 4);
		}
	}
	return any;
}

void
tags_strip(const struct tag_settings *s, const struct fields *fields, struct fields *to)
{
	to->n = 0;
	to->present = 0;
	for (unsigned i = 0; i < fields->n; i++) {
		const struct field *f = &fields->v[i];
		if (tags_is_field(s, f))
			continue;
		to->v[to->n++] = *f;
		to->present |= field_bit(f->id);
	}
}
