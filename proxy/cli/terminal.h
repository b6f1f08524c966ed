/* terminal.h - is there a terminal to show progress on?
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

/* Columns of the terminal on stderr; 0: it is none. */
int terminal_columns(void);

#endif
