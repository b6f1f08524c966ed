/* fault.c - the rows of faults.h as constants. */
#include "proxy/http/fault.h"

#define FAULT(id, status, word, rule) const struct fault fault_##id = {status, word, rule};
#include "proxy/http/faults.h"
#undef FAULT
