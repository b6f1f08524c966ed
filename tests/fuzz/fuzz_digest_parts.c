/* fuzz_digest_parts.c - what a node of another zone says is on its disk.
 * rooms: fleet origin http base filter
 *
 * The input is cut into answers, which are taken as they are; behind them, as a whole digest, with bytes of a right one in
 * which some are others. A digest that is taken is asked.
 */
#include "filter/family/digest.h"
#include "proxy/fleet/digest_parts.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void
load(struct digest_parts *p)
{
	const char *why;
	struct twice_digest *d = digest_parts_load(p, &why);
	if (!d != !!why || p->bytes.p)
		abort();
	for (uint64_t i = 0; d && i < 64; i++)
		(void)twice_digest_has(d, i << 58);
	twice_digest_destroy(&d);
}

static void
take(struct str input)
{
	struct digest_parts p = {0};
	char target[DIGEST_PARTS_TARGET];
	while (input.n) {
		uint64_t made, at;
		size_t most = 1 + (unsigned char)input.p[0] * 4u;
		struct str content = str_from(input, 1);
		content.n = content.n < most ? content.n : most;
		input = str_from(input, 1 + content.n);
		enum digest_parts_step step = digest_parts_take(&p, content);
		if (step == DIGEST_PARTS_WHOLE)
			load(&p);
		digest_parts_target(&p, target);
		if (!digest_parts_asked(str_of(target), &made, &at) || made != p.made ||
		    at != p.bytes.n || p.bytes.n > DIGEST_PARTS_MOST)
			abort();
	}
	digest_parts_fini(&p);
}

static void
damage(const unsigned char *data, size_t n)
{
	struct digest_parts p = {.made = 1};
	struct twice_digest *d = twice_digest_create(100, DIGEST_PARTS_BITS);
	digest_parts_save(d, &p.bytes);
	twice_digest_destroy(&d);
	for (size_t i = 0; i + 1 < n; i += 2)
		p.bytes.p[data[i] % p.bytes.n] = (char)data[i + 1];
	load(&p);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	uint64_t made, at;
	struct str input = {(const char *)data, n};
	(void)digest_parts_asked(input, &made, &at);
	take(input);
	damage(data, n);
	return 0;
}
