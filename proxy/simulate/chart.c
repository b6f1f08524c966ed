/* chart.c - axes, points, and the table. */
#include "proxy/simulate/chart.h"

#include "config/units.h"

#include <math.h>
#include <string.h>

/* The picture, in units of its own; the page scales it. */
static const double W = 640, H = 312, LEFT = 80, RIGHT = 14, TOP = 30, BOTTOM = 46;
static const double CHARACTER = 9.5; /* of the small text, as wide as on a phone */

enum { TICKS_MOST = 12 };

struct frame {
	double x0, x1, y0, y1; /* of the data; x as log2 where log_x */
	double y_step;	       /* between two lines; y0 and y1 are lines */
};

void
chart_put_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (strchr("<>&\"'", c) || c < 0x20)
			fprintf(to, "&#%u;", c < 0x20 ? 0xfffdu : c);
		else
			fputc(c, to);
	}
}

static const char *
said(double v, enum chart_unit unit, char out[UNITS_BYTES])
{
	switch (unit) {
	case CHART_PERCENT:
		snprintf(out, UNITS_BYTES, fabs(v) < 0.1 ? "%.1f%%" : "%.4g%%", 100 * v);
		break;
	case CHART_BYTES:
		units_say_bytes(v > 0 ? (uint64_t)v : 0, out);
		break;
	case CHART_SECONDS:
		if (v < 120)
			snprintf(out, UNITS_BYTES, "%.3g s", v);
		else if (v < 7200)
			snprintf(out, UNITS_BYTES, "%.3g min", v / 60);
		else if (v < 172800)
			snprintf(out, UNITS_BYTES, "%.3g h", v / 3600);
		else
			snprintf(out, UNITS_BYTES, "%.3g d", v / 86400);
		break;
	case CHART_COUNT:
		units_say_count(v > 0 ? (uint64_t)(v + 0.5) : 0, out);
		break;
	case CHART_PLAIN:
		snprintf(out, UNITS_BYTES, "%g", v);
		break;
	}
	return out;
}

static double
x_of(const struct chart *c, double v)
{
	return c->log_x ? log2(v > 0 ? v : 0.5) : v;
}

static double
at_x(const struct frame *f, double x)
{
	return LEFT + (x - f->x0) / (f->x1 - f->x0) * (W - LEFT - RIGHT);
}

static double
at_y(const struct frame *f, double y)
{
	return H - BOTTOM - (y - f->y0) / (f->y1 - f->y0) * (H - TOP - BOTTOM);
}

static void
widen(double *low, double *high)
{
	double by = *high > *low ? 0 : fabs(*high) > 0 ? fabs(*high) * 0.05 : 0.5;
	*low -= by;
	*high += by;
}

/* 1, 2 or 5 times a power of ten, so that there are some five. */
static double
tick_step(double span)
{
	double power = pow(10, floor(log10(span / 5))), part = span / 5 / power;
	return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static struct frame
frame_of(const struct chart *c)
{
	struct frame f = {INFINITY, -INFINITY, INFINITY, -INFINITY, 0};
	for (unsigned s = 0; s < c->series_n; s++)
		for (unsigned i = 0; i < c->series[s].n; i++) {
			double x = x_of(c, c->series[s].x[i]), y = c->series[s].y[i];
			f.x0 = fmin(f.x0, x);
			f.x1 = fmax(f.x1, x);
			f.y0 = fmin(f.y0, y);
			f.y1 = fmax(f.y1, y);
		}
	if (c->from_0)
		f.y0 = fmin(f.y0, 0);
	widen(&f.x0, &f.x1);
	widen(&f.y0, &f.y1);
	f.y_step = tick_step(f.y1 - f.y0);
	f.y0 = floor(f.y0 / f.y_step + 1e-9) * f.y_step;
	f.y1 = ceil(f.y1 / f.y_step - 1e-9) * f.y_step;
	if (c->kind == CHART_DOTS) { /* room for labels */
		double room = (f.x1 - f.x0) * 0.12;
		f.x0 -= room / 3;
		f.x1 += room;
	}
	return f;
}

/* ---- axes ---------------------------------------------------------------------------------- */

static void
write_y_axis(FILE *to, const struct chart *c, const struct frame *f)
{
	double step = f->y_step;
	char text[UNITS_BYTES];
	for (int i = 0; i <= TICKS_MOST && f->y0 + i * step <= f->y1 + step / 2; i++) {
		double v = f->y0 + i * step, y = at_y(f, v);
		fprintf(to,
			"<line class=grid x1=%.0f x2=%.0f y1=%.1f y2=%.1f />"
			"<text class=tick x=%.0f y=%.1f text-anchor=end>",
			LEFT, W - RIGHT, y, y, LEFT - 6, y + 4);
		chart_put_text(to, said(fabs(v) < step / 1e6 ? 0 : v, c->y_unit, text));
		fprintf(to, "</text>");
	}
	fprintf(to, "<text class=axis x=2 y=15>");
	chart_put_text(to, c->y_title);
	fprintf(to, "</text>");
}

static double
width_of(const char *text)
{
	return CHARACTER * (double)strlen(text);
}

static void
write_x_tick(FILE *to, double x, const char *text)
{
	bool at_edge = x + width_of(text) / 2 > W;
	fprintf(to,
		"<line class=grid x1=%.1f x2=%.1f y1=%.0f y2=%.0f />"
		"<text class=tick x=%.1f y=%.0f text-anchor=%s>",
		x, x, H - BOTTOM, H - BOTTOM + 4, at_edge ? W : x, H - BOTTOM + 17,
		at_edge ? "end" : "middle");
	chart_put_text(to, text);
	fprintf(to, "</text>");
}

static void
write_x_axis(FILE *to, const struct chart *c, const struct frame *f)
{
	char text[UNITS_BYTES];
	double step = c->log_x ? ceil((f->x1 - f->x0) / 5) : tick_step(f->x1 - f->x0);
	step = c->log_x && step < 1 ? 1 : step;
	double first = ceil(f->x0 / step - 1e-9) * step;
	for (int i = 0; i <= TICKS_MOST && first + i * step <= f->x1 + 1e-9; i++) {
		double v = first + i * step;
		write_x_tick(to, at_x(f, v), said(c->log_x ? exp2(v) : v, c->x_unit, text));
	}
}

static void
write_x_title(FILE *to, const struct chart *c)
{
	fprintf(to, "<text class=axis x=%.0f y=%.0f text-anchor=middle>", (LEFT + W - RIGHT) / 2,
		H - 8);
	chart_put_text(to, c->x_title);
	fprintf(to, "</text>");
}

/* ---- points -------------------------------------------------------------------------------- */

static void
write_tip(FILE *to, const struct chart *c, const struct chart_series *s, unsigned i)
{
	char text[UNITS_BYTES];
	fprintf(to, "<title>");
	chart_put_text(to, s->label[i][0] ? s->label[i] : s->name);
	fprintf(to, ": ");
	if (c->kind != CHART_BARS) {
		chart_put_text(to, said(s->x[i], c->x_unit, text));
		fprintf(to, ", ");
	}
	chart_put_text(to, said(s->y[i], c->y_unit, text));
	fprintf(to, "</title>");
}

static void
write_line(FILE *to, const struct chart *c, const struct frame *f, const struct chart_series *s)
{
	fprintf(to, "<polyline class='line s%u' points='", s->colour);
	for (unsigned i = 0; i < s->n; i++)
		fprintf(to, "%.1f,%.1f ", at_x(f, x_of(c, s->x[i])), at_y(f, s->y[i]));
	fprintf(to, "' />");
	for (unsigned i = 0; i < s->n && s->n <= 24; i++) {
		fprintf(to, "<circle class='dot s%u' cx=%.1f cy=%.1f r=3.5>", s->colour,
			at_x(f, x_of(c, s->x[i])), at_y(f, s->y[i]));
		write_tip(to, c, s, i);
		fprintf(to, "</circle>");
	}
}

struct label {
	double left, right, y;
};

/* Right of its dot; left of it where the picture ends. */
static struct label
place_label(double x, double y, const char *text)
{
	double wide = width_of(text);
	double left = x + 9 + wide > W ? x - 9 - wide : x + 9;
	return (struct label){left, left + wide, y};
}

static bool
is_free(const struct label *of, unsigned n, struct label l)
{
	for (unsigned i = 0; i < n; i++)
		if (fabs(of[i].y - l.y) <= 14 && l.left < of[i].right && of[i].left < l.right)
			return false;
	return true;
}

/* Labels that would lie on one another are left to the table and to the tip. */
static void
write_dots(FILE *to, const struct chart *c, const struct frame *f, const struct chart_series *s)
{
	struct label taken[CHART_POINTS_MOST];
	unsigned n = 0;
	for (unsigned i = 0; i < s->n; i++) {
		double x = at_x(f, x_of(c, s->x[i])), y = at_y(f, s->y[i]);
		bool marked = s->colour && c->marked && strcmp(c->marked, s->label[i]) == 0;
		fprintf(to, "<circle class='dot s%u%s' cx=%.1f cy=%.1f r=%d>", s->colour,
			marked ? " marked" : "", x, y, marked ? 7 : 4);
		write_tip(to, c, s, i);
		fprintf(to, "</circle>");
		struct label l = place_label(x, y, s->label[i]);
		if (!is_free(taken, n, l) && !marked)
			continue;
		taken[n++] = l;
		fprintf(to, "<text class=tick x=%.1f y=%.1f text-anchor=%s>",
			l.left > x ? x + 9 : x - 9, y + 4, l.left > x ? "start" : "end");
		chart_put_text(to, s->label[i]);
		fprintf(to, "</text>");
	}
}

/* Of so many bars one has its name below, so that all have room. */
static unsigned
bars_for_a_tick(const struct chart_series *s, double each)
{
	double widest = 0;
	for (unsigned i = 0; i < s->n; i++)
		widest = fmax(widest, width_of(s->label[i]));
	return (unsigned)ceil((widest + CHARACTER) / each);
}

static void
write_bars(FILE *to, const struct chart *c, const struct frame *f)
{
	unsigned n = c->series[0].n;
	double each = (W - LEFT - RIGHT) / n, wide = each * 0.8 / c->series_n;
	unsigned every = bars_for_a_tick(&c->series[0], each);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned s = 0; s < c->series_n; s++) {
			double y = at_y(f, c->series[s].y[i]);
			fprintf(to, "<rect class='bar s%u' x=%.1f y=%.1f width=%.1f height=%.1f>",
				c->series[s].colour, LEFT + i * each + each * 0.1 + s * wide, y,
				wide, H - BOTTOM - y);
			write_tip(to, c, &c->series[s], i);
			fprintf(to, "</rect>");
		}
		if (i % every == 0)
			write_x_tick(to, LEFT + (i + 0.5) * each, c->series[0].label[i]);
	}
}

/* ---- the figure ---------------------------------------------------------------------------- */

static void
write_legend(FILE *to, const struct chart *c)
{
	fprintf(to, "<p class=legend>");
	for (unsigned s = 0; s < c->series_n && c->series_n > 1; s++) {
		fprintf(to, "<span><i class='key s%u'></i>", c->series[s].colour);
		chart_put_text(to, c->series[s].name);
		fprintf(to, "</span> ");
	}
	fprintf(to, "</p>");
}

static void
write_cell(FILE *to, const char *tag, const char *text)
{
	fprintf(to, "<%s>", tag);
	chart_put_text(to, text);
	fprintf(to, "</%s>", tag);
}

/* Bars have one row for each place; the others one for each point. */
static void
write_table(FILE *to, const struct chart *c)
{
	char text[UNITS_BYTES];
	bool bars = c->kind == CHART_BARS;
	fprintf(to, "<details><summary>The numbers</summary><div class=wide><table><tr>");
	write_cell(to, "th", bars ? c->x_title : "");
	if (!bars)
		write_cell(to, "th", c->x_title);
	for (unsigned s = 0; s < (bars ? c->series_n : 1); s++)
		write_cell(to, "th", bars ? c->series[s].name : c->y_title);
	fprintf(to, "</tr>");
	for (unsigned s = 0; s < (bars ? 1 : c->series_n); s++)
		for (unsigned i = 0; i < c->series[s].n; i++) {
			const struct chart_series *of = &c->series[s];
			fprintf(to, "<tr>");
			write_cell(to, "td", of->label[i][0] ? of->label[i] : of->name);
			if (!bars)
				write_cell(to, "td", said(of->x[i], c->x_unit, text));
			for (unsigned k = 0; k < (bars ? c->series_n : 1); k++)
				write_cell(
					to, "td",
					said(bars ? c->series[k].y[i] : of->y[i], c->y_unit, text));
			fprintf(to, "</tr>");
		}
	fprintf(to, "</table></div></details>");
}

static bool
is_empty(const struct chart *c)
{
	unsigned most = 0;
	for (unsigned s = 0; s < c->series_n; s++)
		most = c->series[s].n > most ? c->series[s].n : most;
	return most < (c->kind == CHART_LINES ? 2 : 1);
}

void
chart_write(FILE *to, const struct chart *c)
{
	if (is_empty(c))
		return;
	struct frame f = frame_of(c);
	fprintf(to, "<figure><h2>");
	chart_put_text(to, c->title);
	fprintf(to, "</h2><p>");
	chart_put_text(to, c->says);
	fprintf(to, "</p>");
	write_legend(to, c);
	fprintf(to, "<svg viewBox='0 0 %.0f %.0f' role=img aria-label=\"", W, H);
	chart_put_text(to, c->title);
	fprintf(to, "\">");
	write_y_axis(to, c, &f);
	if (c->kind == CHART_BARS)
		write_bars(to, c, &f);
	else
		write_x_axis(to, c, &f);
	for (unsigned s = 0; s < c->series_n; s++)
		if (c->kind == CHART_LINES)
			write_line(to, c, &f, &c->series[s]);
		else if (c->kind == CHART_DOTS)
			write_dots(to, c, &f, &c->series[s]);
	write_x_title(to, c);
	fprintf(to, "</svg>");
	write_table(to, c);
	fprintf(to, "</figure>\n");
}
