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
/* Before the end, when a thread in the kernel keeps the process from being gone. */
void process_close_sockets(void);
/* As many open files as this process may have. */
void process_raise_file_limit(void);
uint64_t process_file_limit(void); /* so many */
/* So many of them, or half where there are fewer than twice that, are not for clients and origins: the files
 * of the cache, the log, the admin server, an upgrade. Once, before there is a second thread. */
void process_reserve_files(uint64_t n);
/* The system gives the lowest number that is free: who is a client or an origin and gets one from this on
 * has to go. */
int process_files_for_peers(void);

#endif
