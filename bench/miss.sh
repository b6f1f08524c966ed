#!/bin/bash
# miss.sh - CPU of the proxy for a URL that nobody asked for before and whose 1 KiB answer is not
# written to disk: twice, nginx with proxy_cache_min_uses 2, nginx without a cache, and a relay that
# copies bytes and looks at none (relay.c). SERVERS="relay twice plain nginx1 nginx haproxy varnish ats1 ats2"
# takes more in: nginx1 and ats1 write all (to disk), ats2 as nginx what is asked for twice; HAProxy and Varnish keep
# all in memory.
#
#	bench/miss.sh [ROUNDS [REQUESTS]]
. bench/lib.sh
. bench/peers.sh

ROUNDS=${1:-5}
REQUESTS=${2:-60000}
CONNECTIONS=${CONNECTIONS:-32}
SERVERS=$(only_here "${SERVERS:-relay plain twice nginx}")

start_origin
for s in $SERVERS; do
	case $s in
	relay) start_relay ;;
	plain) start_nginx "" 0 0 ;;
	twice) start_twice "$WORK/twice" 1GiB 64MiB 2 ;;
	nginx) start_nginx "$WORK/nginx-cache" 1g 2 ;;
	nginx1) start_nginx "$WORK/nginx1-cache" 1g 1 ;;
	haproxy) start_haproxy 67108864 ;;
	varnish) start_varnish 67108864 ;;
	ats[12]) start_ats "$WORK/$s" 1073741824 67108864 "${s#ats}" ;;
	*) die "no such server: $s" ;;
	esac
	eval "pid_$s=$PROXY port_$s=$PORT"
done

SEED=0
one_round() { # server: prints microseconds of CPU per request
	local pid port cpu log="$WORK/load.out"
	eval "pid=\$pid_$1 port=\$port_$1"
	cpu=$(cpu_us "$pid")
	$ASIDE "$BIN/load" --port "$port" --unique 1024 --requests "$REQUESTS" \
		--connections "$CONNECTIONS" --seed "$((++SEED))$RANDOM" >"$log" || cat "$log" >&2
	cpu=$(($(cpu_us "$pid") - cpu))
	awk -v c="$cpu" -v n="$(value requests "$log")" 'BEGIN { printf "%.3f\n", c / n }'
}

machine
echo "# CPU microseconds per miss of a unique URL, 1 KiB; $CONNECTIONS connections, $REQUESTS requests a round"
echo "# nginx: proxy_cache_min_uses 2; plain: nginx without a cache; upstream keep-alive on"
rounds "$ROUNDS" "$SERVERS"
