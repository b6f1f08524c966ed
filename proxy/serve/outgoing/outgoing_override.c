/* outgoing_override.c - the fields by which a request speaks of another URL, host, scheme, method
 * or client. */
#include "proxy/serve/outgoing/outgoing_inside.h"

#include "proxy/http/credential.h"
#include "proxy/http/syntax.h"

/* From the literature on cache poisoning (J. Kettle 2018, 2020, 2024; Nguyen, Lo Iacono, Federrath
 * 2019; the word list of Param Miner) and the manuals of the frameworks that read them. */
/* clang-format off */
const struct str outgoing_overrides[] = {
	/* URL */
	STR_INIT("x-original-*"), STR_INIT("x-rewrite-*"), STR_INIT("x-override-url"),
	STR_INIT("x-envoy-original-*"), STR_INIT("x-replaced-path"), STR_INIT("x-request-uri"),
	STR_INIT("x-http-path-override"), STR_INIT("x-http-destinationurl"), STR_INIT("x-url"),
	STR_INIT("x-uri"), STR_INIT("request-uri"), STR_INIT("base-url"), STR_INIT("http-url"),
	STR_INIT("url"), STR_INIT("uri"), STR_INIT("redirect"), STR_INIT("x-amz-website-redirect-location"),
	/* host */
	STR_INIT("x-forwarded-*"), STR_INIT("x-forward-*"), STR_INIT("x-forwarded"), STR_INIT("x-host"),
	STR_INIT("x-host-*"), STR_INIT("x-http-host-override"), STR_INIT("x-backend-*"),
	STR_INIT("x-server-name"), STR_INIT("x-proxy-*"), STR_INIT("proxy-host"), STR_INIT("proxy-url"),
	STR_INIT("proxy"), /* HTTP_PROXY of CGI, CVE-2016-5385 */
	/* scheme */
	STR_INIT("x-scheme"), STR_INIT("x-url-scheme"), STR_INIT("x-https"), STR_INIT("x-ssl"),
	STR_INIT("front-end-https"), STR_INIT("x-client-scheme"), STR_INIT("cloudfront-forwarded-proto"),
	STR_INIT("x-proto"), STR_INIT("cf-visitor"), STR_INIT("fastly-ssl"), STR_INIT("x-arr-ssl"),
	/* method */
	STR_INIT("x-http-method"), STR_INIT("x-http-method-override"), STR_INIT("x-method-override"),
	STR_INIT("x-method"),
	/* what a framework's own parts say to one another */
	STR_INIT("x-middleware-*"), STR_INIT("x-nextjs-*"), STR_INIT("x-now-*"), STR_INIT("x-invoke-*"),
	STR_INIT("x-matched-path"), STR_INIT("x-accel-*"), STR_INIT("x-sendfile-type"),
	/* who asks */
	STR_INIT("x-real-ip"), STR_INIT("real-ip"), STR_INIT("x-client-ip"), STR_INIT("client-ip"),
	STR_INIT("true-client-ip"), STR_INIT("cf-connecting-ip"), STR_INIT("fastly-client-ip"),
	STR_INIT("x-cluster-client-ip"), STR_INIT("x-remote-*"), STR_INIT("x-originating-ip"),
	STR_INIT("x-custom-ip-authorization"),
	/* what another cache in front of us could do (ESI) */
	STR_INIT("surrogate-capability"), STR_INIT("x-surrogate-capability"),
	/* what origins fetch and answer by: UAProf (WAP-248), and its form with a number */
	STR_INIT("x-wap-*"), STR_INIT("profile"), STR_INIT("wap-profile"),
	/* of other methods (WebDAV, RFC 4918 10): GET and HEAD have no use for them */
	STR_INIT("destination"), STR_INIT("depth"), STR_INIT("overwrite"), STR_INIT("lock-token"),
	STR_INIT("if"), STR_INIT("translate"),
	/* which store errors or nothing at all: cache-poisoned denial of service, 2019 */
	STR_INIT("x-oss-*"),
};
/* clang-format on */
const unsigned outgoing_overrides_count = sizeof outgoing_overrides / sizeof outgoing_overrides[0];

/* Those of a trusted forwarder that differ from client to client; they are in no key. */
bool
outgoing_says_who_asks(struct str name)
{
	static const struct str names[] = {
		STR_INIT("x-real-ip"),	      STR_INIT("real-ip"),
		STR_INIT("x-client-ip"),      STR_INIT("client-ip"),
		STR_INIT("true-client-ip"),   STR_INIT("cf-connecting-ip"),
		STR_INIT("fastly-client-ip"), STR_INIT("x-cluster-client-ip"),
		STR_INIT("x-remote-addr"),    STR_INIT("x-remote-ip"),
		STR_INIT("x-remote-port"),    STR_INIT("x-originating-ip"),
		STR_INIT("x-forwarded-by"),   STR_INIT("x-forwarded-client-cert"),
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (str_ieq(name, names[i]))
			return true;
	return false;
}

static unsigned
initial(char c)
{
	c = byte_lower(c);
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') : OUTGOING_INITIALS - 1;
}

void
outgoing_settings_init(struct outgoing_settings *s)
{
	memset(s->drop_of, 0, sizeof s->drop_of);
	for (unsigned i = 0; i < s->drop_count; i++) {
		unsigned of = s->drop[i].n ? initial(s->drop[i].p[0]) : OUTGOING_INITIALS - 1;
		if (!s->drop_of[of].to)
			s->drop_of[of].from = i;
		s->drop_of[of].to = i + 1;
	}
}

static bool
begins(struct str name, struct str with)
{
	return name.n >= with.n && strncasecmp(name.p, with.p, with.n) == 0;
}

static bool
matches(struct str pattern, struct str name)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return begins(name, (struct str){pattern.p, pattern.n - 1});
	return str_ieq(pattern, name);
}

bool
outgoing_is_override(const struct outgoing *o, struct str name)
{
	char first = byte_lower(name.p[0]);
	unsigned of = initial(first);
	for (unsigned i = o->set->drop_of[of].from; i < o->set->drop_of[of].to; i++) {
		struct str pattern = o->set->drop[i];
		if (pattern.n && byte_lower(pattern.p[0]) == first && matches(pattern, name))
			return true;
	}
	return false;
}

bool
outgoing_is_harmless(const struct outgoing *o, struct str name)
{
	if (!o->set->harmless_count)
		return !credential_is_name(name);
	for (unsigned i = 0; i < o->set->harmless_count; i++)
		if (matches(o->set->harmless[i], name))
			return true;
	return false;
}

bool
outgoing_is_in_key(const struct outgoing *o, struct str name)
{
	for (unsigned i = 0; i < o->rules->header_count; i++)
		if (str_ieq(o->rules->headers[i], name))
			return true;
	for (unsigned i = 0; i < o->rules->header_star_count; i++)
		if (begins(name, o->rules->header_stars[i]))
			return true;
	return false;
}
