/* template.h - text with variables, such as "https://$host$path", piece by piece.
 *
 * A variable is a dollar and its name, or one digit; "$$" is a dollar. There are no others than those listed, so
 * that a misspelt one is found when the text is read and not when it is used.
 *
 * Memory    pieces are views into the text.
 * Threads   pure.
 */
#ifndef BASE_TEMPLATE_H
#define BASE_TEMPLATE_H

#include "proxy/base/str.h"

enum template_piece {
	TEMPLATE_END,
	TEMPLATE_TEXT,	  /* what comes as it is written */
	TEMPLATE_HOST,	  /* $host: asked for, without port */
	TEMPLATE_SCHEME,  /* $scheme: http or https */
	TEMPLATE_CLIENT,  /* $client_address */
	TEMPLATE_PATH,	  /* $path: as it was asked for, without query */
	TEMPLATE_QUERY,	  /* $query: from its question mark on; empty without one */
	TEMPLATE_CAPTURE, /* $1 to $9: what a pair of parentheses of a pattern holds */
	TEMPLATE_UNKNOWN  /* a dollar that begins no variable */
};
#define TEMPLATE_BIT(piece) (1u << TEMPLATE_##piece)

/* The piece that *rest begins with, and its text as written; *rest moves behind it. */
enum template_piece template_next(struct str *rest, struct str *piece);
/* Bits of all the pieces in text. */
unsigned template_pieces(struct str text);

#endif
