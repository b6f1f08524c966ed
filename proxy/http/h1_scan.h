/* h1_scan.h - where a run of bytes of one kind ends, in a head; for the files of h1_parse.h alone.
 *
 * Each scan gives the first byte of [p, end) that is not of its kind, or end.
 */
#ifndef HTTP_H1_SCAN_H
#define HTTP_H1_SCAN_H

#include "proxy/http/syntax.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static inline const char *
h1_scan_class(const char *p, const char *end, int class)
{
	while (p < end && byte_is(*p, class))
		p++;
	return p;
}

/* The scans that meet most bytes of a head go sixteen at a time: `bad` is an expression over the
 * bytes x whose result is 0xff where one ends the scan; the rest is left to the table. */
#ifdef __SSE2__
#define SKIP_16(p, end, bad)                                        \
	for (; (end) - (p) >= 16; (p) += 16) {                      \
		__m128i x = _mm_loadu_si128((const void *)(p));     \
		int mask = _mm_movemask_epi8(bad);                  \
		if (mask)                                           \
			return (p) + __builtin_ctz((unsigned)mask); \
	}
#define IS(c)	   _mm_cmpeq_epi8(x, _mm_set1_epi8(c))
#define OR(a, b)   _mm_or_si128(a, b)
#define AND(a, b)  _mm_and_si128(a, b)
#define NOT(a)	   _mm_xor_si128(a, _mm_set1_epi8(-1))
#define OVER(v, c) _mm_cmpgt_epi8(v, _mm_set1_epi8(c)) /* signed: 0x80.. is under everything */
#define LOWER	   _mm_or_si128(x, _mm_set1_epi8(0x20))
#define CONTROL	   _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x)
#else
#define SKIP_16(p, end, bad) (void)(end);
#endif

/* First byte of [p, end) that may not be in a field value: a control byte other than tab, or
 * DEL (RFC 9110 5.5). */
static inline const char *
h1_scan_value(const char *p, const char *end)
{
	SKIP_16(p, end, OR(AND(CONTROL, NOT(IS('\t'))), IS(0x7f)))
	return h1_scan_class(p, end, BYTE_VALUE);
}

static inline const char *
h1_scan_target(const char *p, const char *end)
{
	SKIP_16(p, end,
		OR(OR(NOT(OVER(x, ' ')), IS(0x7f)), OR(OR(IS('"'), IS('#')), OR(IS('<'), IS('>')))))
	return h1_scan_class(p, end, BYTE_TARGET);
}

/* First byte of [p, end) that is no letter and no dash, then first that is no tchar at all: names
 * are nearly always the former. */
static inline const char *
h1_scan_letters(const char *p, const char *end)
{
	SKIP_16(p, end, NOT(OR(IS('-'), AND(OVER(LOWER, 'a' - 1), NOT(OVER(LOWER, 'z'))))))
	return p;
}

static inline const char *
h1_scan_name(const char *p, const char *end)
{
	return h1_scan_class(h1_scan_letters(p, end), end, BYTE_TOKEN);
}

/* First of the bytes that BYTE_TARGET has and BYTE_PATH has not, or a %. */
static inline const char *
h1_scan_path(const char *p, const char *end)
{
	SKIP_16(p, end, OR(IS('%'), OR(IS('?'), IS('\\'))))
	while (p < end && *p != '%' && byte_is(*p, BYTE_PATH))
		p++;
	return p;
}

#undef SKIP_16
#undef IS
#undef OR
#undef AND
#undef NOT
#undef OVER
#undef LOWER
#undef CONTROL

#endif
