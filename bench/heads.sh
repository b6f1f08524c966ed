#!/bin/bash
# heads.sh - microseconds of CPU that a cached page costs with the dearest heads that the limits allow, beside the
# same page asked for with a small one, by HTTP/1 and HTTP/2; and what share of a core a client has for each Mbit/s.
#
#	bench/heads.sh [REQUESTS [KIND...]]     # KIND: a row of kinds[] in heads.c; all of them
. bench/lib.sh

REQUESTS=${1:-500}
shift $(($# > 0))
KINDS=${*:-$("$BIN/heads" names)}
SESSIONS=$(printf 'session_%s, ' a b c d e f g h i j k l m n o p)

machine
rm -f "$WORK/origin.in"
mkfifo "$WORK/origin.in"
"$BIN/heads" origin <"$WORK/origin.in" >"$WORK/origin.out" &
PIDS="$PIDS $!"
exec 9>"$WORK/origin.in" # it serves until this closes
for _ in $(seq 100); do
	ORIGIN_PORT=$(value port "$WORK/origin.out")
	[ -n "$ORIGIN_PORT" ] && break
	sleep 0.05
done
[ -n "$ORIGIN_PORT" ] || die "the origin did not start"
H2_PORT=$(free_port)
SETTINGS="forwarded: { trust: 127.0.0.0/8 }
routes:
  - { path: /inside, deny: [ 198.51.100.0/24 ] }
  - { path: /cookies, key_cookies: [ ${SESSIONS%, } ] }
  - { path: /cookie, key_cookies: [ lang ] }
  - { path: /query, query: sort, drop_params: [ 'utm_*', utm_a, gclid, fbclid, mc_cid, mc_eid ] }
  - { path: /kept, query: sort, keep_params: [ page, per, pa, pb, pc, pd, pe, pf ] }
  - { path: /fields, key_headers: [ x-twaa, x-twbb, x-twcc, x-twdd, x-twee, x-twff, x-twgg, x-twhh ] }
  - { path: /tunnel, upgrade: [ websocket ] }"
TLS_LISTEN="h2c://127.0.0.1:$H2_PORT" start_twice "$WORK/cache" 256MiB 64MiB 1
wait_port "$H2_PORT"
for kind in $KINDS; do
	"$BIN/heads" "$PORT" "$H2_PORT" "$PROXY" "$REQUESTS" "$kind" || die "heads $kind failed"
done
exit 0
