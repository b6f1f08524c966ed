/* parts.c - how far the parts differ. */
#include "proxy/simulate/parts.h"

#include <math.h>

double
parts_error(const double parts[PARTS])
{
	double sum = 0, squares = 0;
	for (int i = 0; i < PARTS; i++)
		sum += parts[i];
	for (int i = 0; i < PARTS; i++) {
		double off = parts[i] - sum / PARTS;
		squares += off * off;
	}
	return sqrt(squares * PARTS / (PARTS - 1));
}
