#!/bin/bash
# abuse.sh - attacks by HTTP/2 on one worker, each beside a client that asks for a cached object every
# millisecond: that client's times, how soon each connection of the attacker was ended and by which
# counter, and how many fetches it caused at the origin.
#
#	bench/abuse.sh [ROUNDS [SECONDS [KIND...]]]      # KIND: a row of kinds[] in abuse.c; all of them
#
# A line for each kind and round; "nobody" is the client alone on the same machine. "stalled" is ended by
# timeouts.send (30 s), and has a run of 40 s.
. bench/lib.sh

ROUNDS=${1:-3}
SECONDS_EACH=${2:-5}
shift $(($# > 2 ? 2 : $#))
KINDS=${*:-nobody reset reset-miss window-overflow window-zero body-too-long self-priority malformed settings ping \
	ping-unread priority window-1 empty-data unknown continuation empty-continuation hpack-bomb stalled}

machine
start_origin
H2_PORT=$(free_port)
TLS_LISTEN="h2c://127.0.0.1:$H2_PORT" start_twice "$WORK/cache" 256MiB 64MiB 2
wait_port "$H2_PORT"
for _ in 1 2 3; do curl -s -o /dev/null "http://127.0.0.1:$PORT/cdn/0123456789abcdef/1024" -H 'Host: a'; done

numbers() { # NAME VALUE of what may have ended a connection, and of what was asked of the origin
	curl -s "http://127.0.0.1:$ADMIN/metrics" |
		sed -n 's/^twice_\(http2_ended_[a-z]*\|http2_refused\|connections_too_slow\|origin_requests\)_total\({.*}\)\? \([0-9]*\)$/\1 \3/p'
}
for round in $(seq "$ROUNDS"); do
	for kind in $KINDS; do
		seconds=$SECONDS_EACH
		[ "$kind" = stalled ] && seconds=40
		numbers >"$WORK/before"
		said=$($ASIDE "$BIN/abuse" "$H2_PORT" "$PORT" "$seconds" "$kind") || die "abuse $kind failed"
		numbers >"$WORK/after"
		echo "$kind: $said $(join "$WORK/before" "$WORK/after" |
			awk '$3 != $2 { printf "%s=+%d ", $1, $3 - $2 }')"
	done
done
