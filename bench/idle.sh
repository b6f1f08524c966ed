#!/bin/bash
# idle.sh - 10,000 idle keep-alive connections and 2,000 slow ones beside a normal client: what an
# idle connection costs in memory, and whether the normal client notices anything.
#
#	bench/idle.sh [IDLE [SLOW [REQUESTS]]]       SERVER=nginx: the same for nginx
. bench/lib.sh

IDLE=${1:-10000}
SLOW=${2:-2000}
REQUESTS=${3:-50000}
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -ge $((IDLE + SLOW + 500)) ] ||
	die "the limit of open files is $(ulimit -n); run as root or raise it (ulimit -n) above $((IDLE + SLOW + 500))"

machine
start_origin
case ${SERVER:-twice} in
twice) start_twice "$WORK/cache" 1GiB 64MiB 2 ;;
nginx) start_nginx "$WORK/cache" 1g 1 ;;
esac
load() {
	$ASIDE "$BIN/load" --port "$PORT" --connections 16 "$@" || true
}
said() { # word: waits until the crowd says it
	for _ in $(seq 600); do
		grep -q "^$1=" "$WORK/crowd.out" && break
		sleep 0.1
	done
	grep "^$1=" "$WORK/crowd.out" || die "the crowd did not get as far as \"$1\""
}

# Code and tables are touched now; but no heap was freed that idle connections could hide in.
load --same 100 --bytes 100 --requests 2000 >/dev/null
before=$(rss_kib "$PROXY")
mkfifo "$WORK/crowd.in"
$ASIDE "$BIN/idle" "$PORT" "$IDLE" "$SLOW" <"$WORK/crowd.in" >"$WORK/crowd.out" &
crowd=$!
PIDS="$PIDS $crowd"
exec 8>"$WORK/crowd.in"
said idle
after=$(rss_kib "$PROXY")
echo "RSS $before KiB before, $after KiB with idle connections:" \
	"$(awk -v a="$after" -v b="$before" -v n="$IDLE" 'BEGIN { printf "%.2f", (a - b) / n }') KiB each"
echo go >&8
said slow
echo "normal client: $(load --cdn --requests "$REQUESTS")"
echo "RSS with slow connections and traffic: $(rss_kib "$PROXY") KiB"
exec 8>&-
said slow_left
said idle_well
