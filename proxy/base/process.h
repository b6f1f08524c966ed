/* process.h - what the system says of this process, as Prometheus names it.
 *
 * Errors    what cannot be read is 0.
 * Threads   any.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stdint.h>

struct process_facts {
	double cpu_s, start_s; /* start: unix time */
	uint64_t resident_bytes, virtual_bytes, open_fds, most_fds, threads;
	uint64_t written_bytes; /* to storage, by the kernel's count (/proc/self/io) */
};

void process_read(struct process_facts *out);
/* As many open files as this process may have. */
void process_raise_file_limit(void);

#endif
