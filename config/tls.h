/* tls.h - settings of `tls`: certificates, tickets, and where plain HTTP is sent.
 *
 * Memory    strings and lists are owned by the config.
 */
#ifndef CONFIG_TLS_H
#define CONFIG_TLS_H

#include <stdbool.h>
#include <stdint.h>

enum config_redirect { CONFIG_REDIRECT_OFF, CONFIG_REDIRECT_HTTPS };

struct config_tls {
	char **certificates; /* files and directories */
	unsigned certificate_count;
	bool self_signed;  /* one of our own, for a first try */
	char *min_version; /* "1.2" or "1.3" */
	char *client_ca;   /* NULL: clients are not asked for certificates */
	bool client_required;
	bool strict_host;
	char *kernel;	  /* "auto" or "off": whether the kernel may encrypt */
	char *ticket_key; /* file; NULL: random keys */
	uint64_t ticket_period_s;
	unsigned handshakes, handshakes_per_address; /* under way; the second 0: no limit */
	enum config_redirect redirect;		     /* of what comes by http */
	unsigned redirect_port;
	char *acme_challenges; /* directory; NULL: none */
};

#endif
