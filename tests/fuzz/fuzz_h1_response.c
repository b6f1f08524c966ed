/* fuzz_h1_response.c - any bytes as a response head; what is accepted can be stored, and what is
 * rooms: http base
 * stored is read as the same response again and again.
 */
#include "proxy/http/field_block.h"
#include "proxy/http/h1_parse.h"
#include "proxy/http/head.h"

#include <assert.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 784111777
#define MAX 64

static void
same(const struct response *a, const struct response *b)
{
	assert(a->status == b->status && str_eq(a->reason, b->reason));
	assert(a->fields.n == b->fields.n);
	for (unsigned i = 0; i < a->fields.n; i++) {
		assert(str_eq(a->fields.v[i].name, b->fields.v[i].name));
		assert(str_eq(a->fields.v[i].value, b->fields.v[i].value));
		assert(a->fields.v[i].id != FIELD_AGE && a->fields.v[i].id != FIELD_CONTENT_LENGTH);
	}
}

static bool
read(struct str block, struct field *v, struct response *out)
{
	*out = (struct response){.fields = {.v = v, .cap = MAX + 1}};
	return field_block_check(block) && head_read(block, out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct field v[MAX], v1[MAX + 1], v2[MAX + 1];
	struct response r = {.fields = {.v = v, .cap = MAX}}, r1, r2;
	struct buf once = {0}, twice = {0};
	struct terms terms = {0};

	if (!h1_parse_response((struct str){(const char *)data, size}, &r))
		return 0;
	head_store(&r, NOW, &once, &terms);
	assert(read(buf_str(&once), v1, &r1));
	struct str tag = {once.p + terms.etag_at, terms.etag_bytes};
	assert(!tag.n || str_eq(tag, fields_get(&r1.fields, FIELD_ETAG)));

	head_store(&r1, NOW, &twice, &terms);
	assert(read(buf_str(&twice), v2, &r2));
	same(&r1, &r2);

	/* updated with itself it says the same, in some order */
	char date[DATE_BYTES];
	r2 = (struct response){.fields = {.v = v2, .cap = MAX + 1}};
	assert(head_update(&r1, &r1, NOW, date, &r2));
	assert(r2.fields.n == r1.fields.n || fields_count(&r1.fields, FIELD_DATE) != 1 ||
	       fields_has(&r1.fields, FIELD_CACHE_CONTROL));
	buf_fini(&once);
	buf_fini(&twice);
	return 0;
}
