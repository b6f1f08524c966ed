#!/bin/bash
# mix.sh - the main claim: the CDN mix through twice and nginx, cache at 40% of the distinct bytes,
# memory at 10% of the cache. What the disk got is the operating system's count.
#
#	bench/mix.sh [REQUESTS [RUN...]]     runs: twice2 twice1 nginx1 nginx2 (sightings, min_uses)
. bench/lib.sh
need nginx "apt-get install nginx"

REQUESTS=${1:-200000}
shift
RUNS=${*:-twice2 twice1 nginx1 nginx2}
SEED=${SEED:-1}
CONNECTIONS=${CONNECTIONS:-32}

facts=$("$BIN/load" --facts --requests "$REQUESTS" --seed "$SEED")
distinct=$(value distinct_bytes <<<"$facts")
disk=$((distinct * 4 / 10))
memory=$((disk / 10))

run_one() { # name
	local log="$WORK/$1.load" cache="$WORK/$1"
	case $1 in
	twice*) start_twice "$cache" "$disk" "$memory" "${1#twice}" ;;
	nginx*) start_nginx "$cache" "$disk" "${1#nginx}" ;;
	esac
	local cpu written
	cpu=$(cpu_us "$PROXY") written=$(write_bytes "$PROXY")
	$ASIDE "$BIN/load" --port "$PORT" --cdn --requests "$REQUESTS" --seed "$SEED" \
		--connections "$CONNECTIONS" >"$log" || echo "# $1: see wrong_bodies and failures"
	cpu=$(($(cpu_us "$PROXY") - cpu))
	sleep 1 # what is still on its way to the disk
	written=$(($(write_bytes "$PROXY") - written))
	printf '%-8s %9.1f%% %12.1f MB %9.1f us %7s wrong %7s failed %8.1f s' "$1" \
		"$(awk -v h="$(value hit_ratio "$log")" 'BEGIN { print 100 * h }')" \
		"$(awk -v w="$written" 'BEGIN { print w / 1e6 }')" \
		"$(awk -v c="$cpu" -v n="$REQUESTS" 'BEGIN { print c / n }')" \
		"$(value wrong_bodies "$log")" "$(value failures "$log")" "$(value seconds "$log")"
	case $1 in
	twice*)
		awk -v own="$(stats written_bytes)" -v base="$(stats baseline_bytes)" \
			-v ratio="$(stats saved_ratio)" -v extra="$(stats extra_requests)" 'BEGIN {
			printf "   /stats: written %.1f MB, baseline %.1f MB, saved_ratio %.3f, extra %d",
				own / 1e6, base / 1e6, ratio, extra }'
		;;
	esac
	echo
	eval "written_$1=$written"
	stop "$PROXY"
	rm -rf "$cache"
}

machine
echo "# $facts"
echo "# disk $((disk / 1000000)) MB, memory $((memory / 1000000)) MB, $CONNECTIONS connections, one worker each"
echo "# run    hit ratio       written   CPU/request"
start_origin
for run in $RUNS; do run_one "$run"; done

compare() { # words, fewer, more
	[ -n "${2:-}" ] && [ -n "${3:-}" ] && [ "$3" -gt 0 ] &&
		awk -v a="$2" -v b="$3" -v w="$1" 'BEGIN { printf "# %s: %.1f%% fewer bytes written\n", w, 100 * (1 - a / b) }'
}
compare "twice, second sighting against first" "${written_twice2:-}" "${written_twice1:-}"
compare "nginx, min_uses 2 against 1" "${written_nginx2:-}" "${written_nginx1:-}"
exit 0
