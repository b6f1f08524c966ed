/* browser.h - a page in a real browser, one for each scenario, which ends with it.
 *
 * Say needs("chromium") before.
 */
#ifndef KIT_BROWSER_H
#define KIT_BROWSER_H

#include <stdbool.h>

/* Starts the browser, and goes there. */
void browser_open(const char *url);
/* Whether an expression of JavaScript is true in the page. */
bool browser_is(const char *expression);
/* The text of the element of that id. */
const char *browser_words(const char *id);
void browser_set_width(int width, int height);
/* A key, by its name and its code of Windows: "Tab", 9. */
void browser_press(const char *key, int code);
/* scheme: "light" or "dark". */
void browser_expect_contrast(const char *scheme);
/* Nor exceptions: what the console said so far. */
void browser_expect_no_errors(void);

#endif
