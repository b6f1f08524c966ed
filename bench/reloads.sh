#!/bin/bash
# reloads.sh - 2,000 new connections a second and 200 clients with kept ones, while the configuration
# is changed once a second, and then while the program is replaced: failed requests, connections closed,
# hits before and behind.
#
#	bench/reloads.sh [SECONDS [RATE [KEPT]]]      # AHEAD="chrt --fifo 1": see groups.sh; UPGRADES=10
#
# First without a change, then with one each second: each one adds or removes routes and rules for
# header fields. The server closes no connection by itself meanwhile (timeouts.idle is 10 minutes). Then
# UPGRADES processes take each other's place, and the clients of each are sent to the next.
. bench/lib.sh

SECONDS_EACH=${1:-60}
RATE=${2:-2000}
KEPT=${3:-200}
AHEAD=${AHEAD:-}
UPGRADES=${UPGRADES:-10}

machine
echo "# bench/reloads.sh $SECONDS_EACH $RATE $KEPT${AHEAD:+  AHEAD=\"$AHEAD\"}"
ASIDE="$AHEAD $ASIDE" start_origin
start_twice "$WORK/cache" 256MiB 64MiB 2 "$AHEAD $PIN"
cp "$WORK/twice.yaml" "$WORK/one.yaml"
cat "$WORK/one.yaml" - >"$WORK/other.yaml" <<-EOF
	routes:
	  - { path: /api/, request_headers: { set: { X-Edge: bench } } }
	  - { path: /old/, redirect: { to: "http://bench.example/new/" } }
	response_headers: { set: { X-Served-By: bench } }
EOF

clients() { # seconds
	$AHEAD $ASIDE "$BIN/reloads" "$PORT" "$1" "$RATE" "$KEPT"
}

change() { # until $WORK/done is there: one each second
	local n=0 next
	while [ ! -e "$WORK/done" ]; do
		[ $((n % 2)) = 0 ] && next=other || next=one
		cp "$WORK/$next.yaml" "$WORK/twice.yaml"
		$ASIDE "$TWICE" reload --admin "127.0.0.1:$ADMIN" >>"$WORK/reloads.out" 2>&1 && n=$((n + 1))
		sleep 0.9
	done
	echo "$n" >"$WORK/changes"
}

clients 5 >/dev/null # the cache fills
echo "no changes: $(clients "$SECONDS_EACH") load=$(cut -d' ' -f1 /proc/loadavg)"
change &
CHANGER=$!
said=$(clients "$SECONDS_EACH")
touch "$WORK/done"
wait $CHANGER
echo "changes: $said changes=$(cat "$WORK/changes") load=$(cut -d' ' -f1 /proc/loadavg)"

[ "$UPGRADES" -gt 0 ] || exit 0
upgrade() { # evenly over the time
	local n=0 said last=$PROXY
	for _ in $(seq "$UPGRADES"); do
		sleep "$(awk -v s="$SECONDS_EACH" -v n="$UPGRADES" 'BEGIN { print s / (n + 1) }')"
		said=$($ASIDE "$TWICE" upgrade --admin "127.0.0.1:$ADMIN" 2>>"$WORK/upgrades.err") && n=$((n + 1))
		last=$(sed -n 's/^process \([0-9]*\) (.*/\1/p' <<<"$said" | grep . || echo "$last")
		echo "$last" >"$WORK/last"
	done
	echo "$n" >"$WORK/upgrades"
}
trap 'kill "$(cat "$WORK/last" 2>/dev/null)" 2>/dev/null; sleep 0.5; clean_up' EXIT # it is no child of this shell
upgrade &
UPGRADER=$!
said=$(clients "$SECONDS_EACH")
wait $UPGRADER
echo "upgrades: $said upgrades=$(cat "$WORK/upgrades") load=$(cut -d' ' -f1 /proc/loadavg)"
cat "$WORK/upgrades.err"
