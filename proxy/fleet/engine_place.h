/* engine_place.h - where an engine is: one entry of the setting fleet.engine.
 *
 *	redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]      a server
 *	rediss://...                                          the same by TLS
 *	unix:PATH                                             a server at a socket of this machine
 *	sentinel://[[USER]:PASSWORD@]HOST[:PORT]/NAME[/DATABASE]  a Sentinel, and the service that it is asked for
 *
 * Pure. User and password are those of the server, with %XX for what they cannot hold.
 */
#ifndef FLEET_ENGINE_PLACE_H
#define FLEET_ENGINE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum { ENGINE_PLACE_TEXT = 400, ENGINE_PLACE_WORD = 128 };

struct engine_place {
	bool tls, sentinel;
	char url[ENGINE_PLACE_TEXT];  /* as an origin's: http[s]://HOST:PORT or unix:PATH */
	char name[ENGINE_PLACE_TEXT]; /* as it was written, without user and password */
	char user[ENGINE_PLACE_WORD], password[ENGINE_PLACE_WORD]; /* "": none */
	char service[ENGINE_PLACE_WORD];			   /* of a Sentinel */
	unsigned database;
};

/* -1: a sentence in err says what is wrong. */
int engine_place_parse(const char *text, struct engine_place *out, char *err, size_t err_bytes);
/* The same server at another address, "HOST:PORT"; -1: it is none. */
int
engine_place_move(const struct engine_place *from, const char *address, struct engine_place *out);

#endif
