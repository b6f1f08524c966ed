/* fault.h - every rule a client can break, as constants compared by identity.
 *
 * A fault is at once the status to answer, the word in log and metrics, and the sentence for a
 * person. NULL means well-formed. The rows are in faults.h.
 */
#ifndef HTTP_FAULT_H
#define HTTP_FAULT_H

struct fault {
	int status;
	const char *word;
	const char *rule;
};

#define FAULT(id, status, word, rule) extern const struct fault fault_##id;
#include "proxy/http/faults.h"
#undef FAULT

#endif
