/* credential.h - does a request say who asks, or is it signed?
 *
 * Authorization and Cookie have rules of their own (RFC 9111 3.5, policy.h). Applications authenticate by
 * other fields as well: Api-Key, X-Auth-Token, X-CSRF-Token, X-Session-Id, X-Amz-Security-Token. No
 * registry has them, so their names are all there is to go by.
 *
 * Threads   pure.
 */
#ifndef HTTP_CREDENTIAL_H
#define HTTP_CREDENTIAL_H

#include "proxy/http/message.h"

/* Whether the name of a field speaks of a credential. */
bool credential_is_name(struct str name);

/* Whether somebody has signed the request, or could have: it has Authorization (AWS4-HMAC-SHA256 and its
 * like are in it), a field whose name speaks of a signature (Signature and Signature-Input of RFC 9421,
 * X-Amz-Signature, X-Shopify-Hmac-Sha256), or such a parameter in its query (X-Amz-Signature,
 * X-Goog-Signature, Signature; sig, sign and hmac beside an expiry, as in se=, exp= and Expires=). Its
 * maker alone knows which bytes a signature covers: one that is changed on the way may void it. */
bool credential_signs(const struct request *rq);

#endif
