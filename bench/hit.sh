#!/bin/bash
# hit.sh - CPU of the proxy for a cached answer (BYTES, 1024) on a keep-alive connection, beside nginx and
# beside a server that does nothing else (bare.c). Rounds are interleaved; the ratios are to bare
# and to nginx of the same round. SERVERS="bare twice nginx haproxy varnish ats" (Traffic Server) takes more
# peers in; that theirs were hits is their own count. "routes" is twice with 5,000 routes of 1,000 hosts, asked for
# the last of them; "auto" is twice with sightings: auto; "before" is another build of it, BEFORE=/path/to/twice. The client is wrk, or h2load where that is not installed.
#
#	bench/hit.sh [ROUNDS [SECONDS]]
. bench/lib.sh
. bench/peers.sh
command -v wrk >/dev/null || need h2load "apt-get install wrk, or nghttp2-client"

ROUNDS=${1:-5}
SECONDS_EACH=${2:-4}
CONNECTIONS=${CONNECTIONS:-32}
SERVERS=$(only_here "${SERVERS:-bare twice nginx}")
SHM=$(mktemp -d /dev/shm/twice-bench.XXXXXX) # nginx reads its hits from a tmpfs: no disk in the way
chmod 755 "$SHM"
trap 'clean_up_peers; rm -rf "$SHM"' EXIT

many_routes() { # YAML: five for each host, of which the last is asked for
	awk 'BEGIN { print "routes:"; for (i = 1; i <= 1000; i++) for (k = 1; k <= 5; k++)
		printf "  - { host: site%d.example.com, path: %s, admit: always }\n", i, k < 5 ? "/path" k "/" : "/cdn/" }'
}
host=site1000.example.com

start_origin
BYTES=${BYTES:-1024}
path=/cdn/0123456789abcdef/$BYTES
if [ -n "${HITS_DIR:-}" ]; then # on another file system
	rmdir "$SHM"
	SHM=$(mktemp -d "$HITS_DIR/twice-bench.XXXXXX")
	chmod 755 "$SHM"
fi
for s in $SERVERS; do
	case $s in
	bare) start_bare "$BYTES" ;;
	twice) start_twice "$SHM/twice" "${DISK:-256MiB}" "${MEMORY:-64MiB}" 2 ;;
	auto) start_twice "$SHM/auto" "${DISK:-256MiB}" "${MEMORY:-64MiB}" auto ;;
	routes)
		SETTINGS=$(many_routes) # not before the command: it is too long for the environment of others
		start_twice "$SHM/routes" "${DISK:-256MiB}" "${MEMORY:-64MiB}" 2
		SETTINGS=
		;;
	before) TWICE=$BEFORE start_twice "$SHM/before" "${DISK:-256MiB}" "${MEMORY:-64MiB}" 2 ;;
	nginx) start_nginx "$SHM/nginx" 1g 1 ;;
	haproxy) start_haproxy 67108864 ;;
	varnish) start_varnish 67108864 ;;
	ats) start_ats "$SHM/ats" 268435456 67108864 1 ;;
	*) die "no such server: $s" ;;
	esac
	eval "pid_$s=$PROXY port_$s=$PORT stats_$s=${STATS_PORT:-0}"
	for _ in 1 2 3; do curl -s -H "Host: $host" -o /dev/null "http://127.0.0.1:$PORT$path"; done
	case $s in haproxy | varnish | ats) continue ;; esac # these count
	curl -s -H "Host: $host" -D- -o /dev/null "http://127.0.0.1:$PORT$path" | grep -qi '^cache-status:.*; hit' ||
		die "$s does not answer $path from its cache"
done

ask() { # seconds, port: one thread, CONNECTIONS connections
	local url="http://127.0.0.1:$2$path"
	if command -v wrk >/dev/null; then
		$ASIDE wrk -t1 -c"$CONNECTIONS" -H "Host: $host" -d"$1s" "$url"
	else
		$ASIDE h2load --h1 -t1 -c"$CONNECTIONS" -H ":authority: $host" -D"$1" "$url"
	fi
}

one_round() { # server: prints microseconds of CPU per request
	local pid port stats hits cpu requests log="$WORK/wrk.out"
	eval "pid=\$pid_$1 port=\$port_$1 stats=\$stats_$1"
	ask 1 "$port" >/dev/null
	hits=$(own_hits "$1" "$stats")
	cpu=$(cpu_us "$pid")
	ask "$SECONDS_EACH" "$port" >"$log"
	cpu=$(($(cpu_us "$pid") - cpu))
	grep 'Non-2xx\|Socket errors\|[1-9][0-9]* \(failed\|[345]xx\)' "$log" >&2
	requests=$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p; s/^requests:.* \([0-9]*\) succeeded.*/\1/p' "$log")
	[ -z "$hits" ] || [ $(($(own_hits "$1" "$stats") - hits)) -ge "$requests" ] ||
		echo "# $1 counted fewer hits than $requests" >&2
	awk -v c="$cpu" -v n="$requests" 'BEGIN { printf "%.3f\n", c / n }'
}

machine
echo "# CPU microseconds per cached hit of $BYTES bytes; $(command -v wrk >/dev/null && echo wrk || echo h2load) -t1 -c$CONNECTIONS, ${SECONDS_EACH} s a round"
rounds "$ROUNDS" "$SERVERS"
