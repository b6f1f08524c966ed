/* example.h - what a stranger reads (an example, a page of docs/) as this machine can run it.
 *
 * This is the one place where addresses, names, folders and sizes of examples and pages become those of a
 * scenario: ports become 0, origins the scripted one (%O), and folders lie below the scenario's own (%D).
 */
#ifndef KIT_EXAMPLE_H
#define KIT_EXAMPLE_H

/* A configuration with the scenario's places, as one pass: what was put in is not looked at again. */
char *example_settings(const char *yaml);
/* The folders of a command line, and the origin that it names; nothing else. */
char *example_command(const char *line);
/* Makes the folders, certificates, token and logs that an administrator has. */
void example_places(void);
char *example_read(const char *path); /* a whole file; fails where there is none */

#endif
