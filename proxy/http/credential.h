/* credential.h - does the name of a request's field speak of who asks?
 *
 * Authorization and Cookie have rules of their own (RFC 9111 3.5, policy.h). Applications authenticate by
 * other fields as well: Api-Key, X-Auth-Token, X-CSRF-Token, X-Session-Id, X-Amz-Security-Token. No
 * registry has them, so their names are all there is to go by.
 *
 * Threads   pure.
 */
#ifndef HTTP_CREDENTIAL_H
#define HTTP_CREDENTIAL_H

#include "proxy/base/str.h"

#include <stdbool.h>

bool credential_is_name(struct str name);

#endif
