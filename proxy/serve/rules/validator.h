/* validator.h - what tells one version of a representation from another, well enough to put bytes
 * of two answers together (RFC 9110 8.8, 15.3.7.3). Pure.
 */
#ifndef SERVE_VALIDATOR_H
#define SERVE_VALIDATOR_H

#include "proxy/http/message.h"

/* False: no file that is served is that old. Its time was set to one that all files have, as by what builds
 * the same from the same: then its tag, which is made of time and length, or often is, tells nothing. */
bool validator_is_time(int64_t last_modified); /* -1: there is none, and nothing is wrong with it */
/* A strong tag; where there is no tag at all, a date that is strong (RFC 9110 8.8.2.2). Empty:
 * nobody can tell, or it lies beside a Last-Modified that is no time. A view into the fields. */
struct str validator_strong(const struct fields *f, int64_t now_s);
/* Whether the heads of two servers, whose tags differ, say that a file was written at the same time, long
 * before either was asked. With equal lengths that tells what the tags do not. */
bool validator_is_of_time(const struct fields *ours, const struct fields *theirs, int64_t now_s);
/* Whether an answer with these fields is of the version that `ours` (not empty) tells. */
bool validator_is_of(struct str ours, const struct fields *f);

#endif
