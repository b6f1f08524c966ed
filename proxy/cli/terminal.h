/* terminal.h - is there a terminal to show progress on?
 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

/* Columns of the terminal on stderr; 0: it is none. */
int terminal_columns(void);
/* Rows of the one on stdout; 24: it does not say. */
int terminal_rows(void);

#endif
