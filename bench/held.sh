#!/bin/bash
# held.sh - how much a connection of HTTP/2 keeps in memory at most: 40 connections with 98 requests each, of four
# kinds (bench/held.c), and what the proxy takes for them.
#
#	bench/held.sh [COUNT [KIND...]]        # KIND: heads uploads windowless plain; all of them
#
# A line for each kind: RSS before and with them, for each connection and each request, and how many were refused.
. bench/lib.sh
need curl "apt-get install curl"

COUNT=${1:-40} REQUESTS=98
shift $(($# > 0))
ulimit -n "$(ulimit -Hn)"

machine
start_origin
ANSWERS=$ORIGIN_PORT
mkfifo "$WORK/mute.in"
"$BIN/held" 0 0 mute <"$WORK/mute.in" >"$WORK/mute.out" &
PIDS="$PIDS $!"
exec 7>"$WORK/mute.in"
for _ in $(seq 100); do
	MUTE=$(value port "$WORK/mute.out")
	[ -n "$MUTE" ] && break
	sleep 0.05
done
metric() { # its name without twice_
	curl -s "http://127.0.0.1:$ADMIN/metrics" | awk -v name="twice_$1" '$1 == name { print $2 }'
}
for kind in ${*:-heads uploads windowless plain}; do
	H2_PORT=$(free_port) ORIGIN_PORT=$ANSWERS
	case $kind in heads | uploads) ORIGIN_PORT=$MUTE ;; esac
	TLS_LISTEN="h2c://127.0.0.1:$H2_PORT" start_twice "$WORK/cache.$kind" 256MiB 16MiB 2
	wait_port "$H2_PORT"
	curl -m 1 -s -o /dev/null --http2-prior-knowledge "http://127.0.0.1:$H2_PORT/cdn/0123456789abcdef/100" # code is touched
	before=$(rss_kib "$PROXY")
	rm -f "$WORK/crowd.in"
	mkfifo "$WORK/crowd.in"
	$ASIDE "$BIN/held" "$H2_PORT" "$COUNT" "$kind" <"$WORK/crowd.in" >"$WORK/crowd.out" &
	PIDS="$PIDS $!"
	exec 8>"$WORK/crowd.in"
	for _ in $(seq 600); do
		grep -q "^held=" "$WORK/crowd.out" && break
		sleep 0.1
	done
	grep -q "^held=" "$WORK/crowd.out" || die "the crowd did not ask"
	sleep 2
	after=$(rss_kib "$PROXY")
	awk -v kind="$kind" -v b="$before" -v a="$after" -v n="$COUNT" -v r="$REQUESTS" \
		-v refused="$(metric http2_refused_total)" 'BEGIN {
		printf "%s: RSS %d KiB before, %d KiB with %d connections: %.0f KiB each, %.1f KiB a request; %d of %d refused\n",
			kind, b, a, n, (a - b) / n, (a - b) / n / r, refused, n * r }'
	exec 8>&-
	stop "$PROXY"
done
