#!/bin/bash
# mix.sh - the main claim: the CDN mix through twice and nginx, cache at 40% of the distinct bytes
# (SHARE), memory at 10% of the cache. What the disk got is the operating system's count.
#
#	bench/mix.sh [REQUESTS [RUN...]]     runs: twice2 twice1 nginx1 nginx2 (sightings, min_uses)
#
# More runs: ats1 ats2 (Traffic Server, its plugin cache_promote), haproxy and varnish, which have no disk: their memory is
# as large as the others' disk. Their hits are the requests that the origin did not see.
. bench/lib.sh
. bench/peers.sh

REQUESTS=${1:-200000}
shift
RUNS=$(only_here "${*:-twice2 twice1 nginx1 nginx2}")
SEED=${SEED:-1}
CONNECTIONS=${CONNECTIONS:-32}

facts=$("$BIN/load" --facts --requests "$REQUESTS" --seed "$SEED")
distinct=$(value distinct_bytes <<<"$facts")
disk=$((distinct * ${SHARE:-40} / 100))
memory=$((disk / 10))

run_one() { # name
	local log="$WORK/$1.load" cache="$WORK/$1"
	start_origin
	case $1 in
	twice*) start_twice "$cache" "$disk" "$memory" "${1#twice}" ;;
	nginx*) start_nginx "$cache" "$disk" "${1#nginx}" ;;
	ats*) start_ats "$cache" "$disk" "$memory" "${1#ats}" ;;
	haproxy) start_haproxy "$disk" ;;
	varnish) start_varnish "$disk" ;;
	*) die "no such run: $1" ;;
	esac
	local cpu written
	cpu=$(cpu_us "$PROXY") written=$(write_bytes "$PROXY")
	$ASIDE "$BIN/load" --port "$PORT" --cdn --requests "$REQUESTS" --seed "$SEED" \
		--connections "$CONNECTIONS" >"$log" || echo "# $1: see wrong_bodies and failures"
	cpu=$(($(cpu_us "$PROXY") - cpu))
	sleep 1 # what is still on its way to the disk
	written=$(($(write_bytes "$PROXY") - written))
	stop_origin
	case $1 in
	ats* | haproxy | varnish)
		awk -v m="$(value requests "$WORK/origin.out")" -v n="$REQUESTS" 'BEGIN { printf "hit_ratio=%.4f\n", 1 - m / n }' >>"$log"
		;;
	esac
	printf '%-8s %9.1f%% %12.1f MB %9.1f us %7s wrong %7s failed %8.1f s' "$1" \
		"$(awk -v h="$(value hit_ratio "$log")" 'BEGIN { print 100 * h }')" \
		"$(awk -v w="$written" 'BEGIN { print w / 1e6 }')" \
		"$(awk -v c="$cpu" -v n="$REQUESTS" 'BEGIN { print c / n }')" \
		"$(value wrong_bodies "$log")" "$(value failures "$log")" "$(value seconds "$log")"
	eval "written_$1=$written hit_$1=$(value hit_ratio "$log")"
	case $1 in
	twice*)
		eval "own_$1=$(stats written_bytes) saved_$1=$(stats saved_ratio)"
		awk -v own="$(stats written_bytes)" -v base="$(stats baseline_bytes)" \
			-v ratio="$(stats saved_ratio)" -v extra="$(stats extra_requests)" 'BEGIN {
			printf "   /stats: written %.1f MB, baseline %.1f MB, saved_ratio %.3f, extra %d",
				own / 1e6, base / 1e6, ratio, extra }'
		;;
	esac
	echo
	stop "$PROXY"
	rm -rf "$cache"*
}

machine
echo "# $facts"
echo "# disk $((disk / 1000000)) MB, memory $((memory / 1000000)) MB, $CONNECTIONS connections, one worker each"
echo "# run    hit ratio       written   CPU/request"
for run in $RUNS; do run_one "$run"; done

fewer() { # words, fewer, more
	[ -n "$2" ] && [ -n "$3" ] && awk -v a="$2" -v b="$3" -v w="$1" 'BEGIN {
		printf "# %s: %.1f%% fewer bytes written\n", w, 100 * (1 - a / b) }'
}
fewer "twice, second sighting against first" "${written_twice2:-}" "${written_twice1:-}"
fewer "nginx, min_uses 2 against 1" "${written_nginx2:-}" "${written_nginx1:-}"
if [ -n "${written_twice1:-}" ] && [ -n "${written_twice2:-}" ]; then
	awk -v w1="$written_twice1" -v w2="$written_twice2" -v saved="$saved_twice2" -v h1="$hit_twice1" \
		-v h2="$hit_twice2" -v o1="$own_twice1" -v o2="$own_twice2" 'BEGIN {
		measured = 1 - w2 / w1
		printf "# saved_ratio says %.1f%%, measured %.1f%%: %+.1f points (aim: within 2)\n",
			100 * saved, 100 * measured, 100 * (saved - measured)
		printf "# hit ratio %.1f%% against %.1f%%: %+.1f points (aim: at most 1 lower)\n",
			100 * h2, 100 * h1, 100 * (h2 - h1)
		printf "# own count against the kernel: %+.1f%% and %+.1f%% (aim: within 5%%)\n",
			100 * (o2 / w2 - 1), 100 * (o1 / w1 - 1) }'
fi
exit 0
