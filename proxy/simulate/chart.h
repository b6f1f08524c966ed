/* chart.h - a figure for a page: lines, dots or bars as inline SVG, and the same numbers as a table
 * behind it. Colours come from the page (classes s0 to s3); no script, nothing from outside.
 *
 * Memory    borrows all; what is foreign is escaped.
 */
#ifndef SIMULATE_CHART_H
#define SIMULATE_CHART_H

#include <stdbool.h>
#include <stdio.h>

/* Escaped for text and for attributes in quotes. */
void chart_put_text(FILE *to, const char *text);

enum chart_unit { CHART_COUNT, CHART_PERCENT, CHART_BYTES, CHART_SECONDS, CHART_PLAIN };
enum chart_kind { CHART_LINES, CHART_DOTS, CHART_BARS };

enum { CHART_SERIES_MOST = 4, CHART_POINTS_MOST = 128, CHART_NAME_BYTES = 64 };

struct chart_series {
	const char *name;
	unsigned colour; /* 0: neutral, for what others are compared with; 1 to 3 */
	unsigned n;
	double x[CHART_POINTS_MOST], y[CHART_POINTS_MOST]; /* bars: x is not used */
	char label[CHART_POINTS_MOST][CHART_NAME_BYTES];   /* of a dot or bar; may be empty */
};

struct chart {
	const char *title, *says; /* says: what one sees, in a sentence */
	const char *x_title, *y_title;
	enum chart_kind kind;
	enum chart_unit x_unit, y_unit;
	bool log_x;
	bool from_0; /* the y axis begins at 0 */
	struct chart_series series[CHART_SERIES_MOST];
	unsigned series_n;
	const char *marked; /* the label of the dot that is chosen */
};

/* Nothing is written when there is nothing to see: no point, or only one of a line. */
void chart_write(FILE *to, const struct chart *c);

#endif
