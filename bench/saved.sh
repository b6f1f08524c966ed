#!/bin/bash
# saved.sh - is what the report says is saved what a second run shows? Each setting is played twice
# with the same requests, with sightings: 2 (SIGHTINGS: another number, or auto) and with sightings: 1. Written bytes are the kernel's
# count, origin requests those of /stats.
#
#	[REPEAT=2] bench/saved.sh [REQUESTS [SETTING...]]
#
# REPEAT: so many runs of each; said and true are their means then, and "spread" is by how much the
# difference of two real runs varies by itself: the least and the most origin requests with 2, and those
# with 1, lie so far apart, together. Off: more than 2 points, or a net that is off by more than 10% and
# the spread (with a single run nobody knows it: 0.5% of all origin requests), or more than 2 points of hits.
#
# Settings: disk5 disk10 disk20 disk40 (per cent of the distinct bytes), short, purges, prefixes (each
# purges a 256th of the paths), restart, kill (a restart by kill -9), warm, ranges. About three minutes with 60000
# requests.
. bench/lib.sh
need curl "apt-get install curl"

REQUESTS=${1:-60000}
shift
RUNS=${*:-disk5 disk10 disk20 disk40 short purges prefixes restart kill warm ranges}
SEED=${SEED:-1}
SIGHTINGS=${SIGHTINGS:-2}
# Two, so that the disk keeps up as it would: at full speed a log of 32 MB turns over ten times a
# second, and then more of it goes than the policy says.
CONNECTIONS=${CONNECTIONS:-2}
REPEAT=${REPEAT:-1}

mix() { # words of load
	$ASIDE "$BIN/load" --port "$PORT" --cdn --requests "$REQUESTS" --seed "$SEED" \
		--connections "$CONNECTIONS" "$@" >>"$WORK/load.out" || echo "# wrong or failed: $(tail -1 "$WORK/load.out")"
}

number() { # group.key of /stats
	curl -s "http://127.0.0.1:$ADMIN/stats" | awk -v group="\"${1%.*}\"" -v key="\"${1##*.}\"" '
		/^  "/ { here = ($1 == group ":") }
		here && $1 == key ":" { gsub(/[,"]/, "", $2); print $2; exit }'
}

again() { # ends twice and starts it with the same directory; sightings, setting
	[ "$2" != kill ] || kill -KILL "$PROXY"
	stop "$PROXY" # a second TERM would save nothing
	AT=$PORT start_twice "$WORK/cache" "$disk" "$memory" "$1" # the host is in the keys
}

purge_some() { # how many requests from where on to take paths of, every how-manieth, url or prefix
	"$BIN/load" --paths --cdn --requests "$REQUESTS" --seed "$SEED" --skip "$2" --take "$1" |
		awk -v every="$3" -v what="$4" -v admin="$ADMIN" -v host="127.0.0.1:$PORT" 'NR % every == 0 {
			printf "next\nurl = \"http://127.0.0.1:%s/purge?%s=http://%s%s\"\nrequest = POST\noutput = /dev/null\n",
				admin, what, host, what == "prefix" ? substr($0, 1, 7) : $0 }' | sed 1d >"$WORK/purges"
	curl -sS -K "$WORK/purges"
}

players() { # address: a probe, then play, then seeks, of every how-manieth object
	"$BIN/load" --paths --cdn --requests "$REQUESTS" --seed "$SEED" --take 1200 |
		awk -v every="$2" -v port="$PORT" -v from="$1" 'NR % every == 0 {
			split("0-1 0- 2000-3999 5000-", range, " ")
			for (i = 1; i <= 4; i++)
				printf "next\nurl = \"http://127.0.0.1:%s%s\"\nrange = \"%s\"\ninterface = %s\noutput = /dev/null\n",
					port, $0, range[i], from }' | sed 1d >"$WORK/players"
	curl -sS -K "$WORK/players"
}

play() { # setting, sightings
	case $1 in
	disk*) mix ;;
	short)
		for _ in 1 2 3; do
			mix --take $((REQUESTS / 10)) # within their lifetime, 6 s
			sleep 6.5 # beyond it: two runs agree on what is fresh
		done
		;;
	purges | prefixes)
		for part in 0 1 2 3; do
			mix --skip $((part * REQUESTS / 4)) --take $((REQUESTS / 4))
			[ "$1" = purges ] && purge_some $((REQUESTS / 4)) $((part * REQUESTS / 4)) 8 url
			[ "$1" = prefixes ] && purge_some $((REQUESTS / 4)) $((part * REQUESTS / 4)) 80 prefix
		done
		;;
	restart | kill)
		mix --take $((REQUESTS / 2))
		sleep "${KILL_AFTER:-0}"
		again "$2" "$1"
		mix --skip $((REQUESTS / 2))
		;;
	warm)
		mix --same 400 --bytes 30000 --take 1200
		sleep 1.5
		again "$2" "$1"
		mix --same 400 --bytes 30000 --take 4000
		;;
	ranges)
		players 127.0.0.2 1
		players 127.0.0.3 2
		mix --take $((REQUESTS / 10))
		players 127.0.0.4 3
		;;
	esac
}

run_one() { # setting, 1 or 2 (SIGHTINGS): a line of runs: sightings written origin said net dropped hits hits-of-all
	local sightings=$2
	[ "$2" = 1 ] || sightings=$SIGHTINGS
	start_twice "$WORK/cache" "$disk" "$memory" "$sightings"
	play "$1" "$sightings"
	for _ in $(seq 100); do
		[ "$(number disk.pending_bytes)" != 0 ] || break
		sleep 0.1
	done
	echo "$2 $(write_bytes "$PROXY") $(number origin.requests) $(number disk.saved_ratio)" \
		"$(number origin.net_requests) $(number baseline.dropped)" \
		"$(number requests.hit_ratio) $(number requests.baseline_hit_ratio)" >>"$WORK/runs"
	[ -z "${STATS:-}" ] || curl -s "http://127.0.0.1:$ADMIN/stats" >"$STATS.$1.$2"
	stop "$PROXY"
	rm -rf "$WORK/cache"
}

machine
facts=$("$BIN/load" --facts --requests "$REQUESTS" --seed "$SEED")
distinct=$(value distinct_bytes <<<"$facts")
echo "# $facts"
echo "# saved_ratio and net origin requests (below zero: fewer than admitting all): said, and true by a second run"
echo "# setting    saved: said    true  points    net: said      true    off spread  written 2, 1 (MB)  said by 1  hits: said  true  dropped"
for setting in $RUNS; do
	share=20 age=86400
	case $setting in
	disk*) share=${setting#disk} ;;
	short) age=6 ;;
	esac
	disk=$((distinct * share / 100)) memory=$((distinct * share / 1000))
	[ "$memory" -ge 1048576 ] || memory=1048576
	start_origin "$age"
	: >"$WORK/runs"
	for _ in $(seq "$REPEAT"); do
		run_one "$setting" 1
		run_one "$setting" 2
	done
	exec 9>&- # the origin ends
	awk -v s="$setting" '
		function larger(a, b) { return a > b ? a : b }
		{ n[$1]++; w[$1] += $2; o[$1] += $3; said[$1] += $4; net[$1] += $5; lost += $6; hits[$1] += $7; all[$1] += $8
		  if (n[$1] == 1 || $3 < least[$1]) least[$1] = $3
		  if ($3 > most[$1]) most[$1] = $3 }
		END {
		for (i = 1; i <= 2; i++) { w[i] /= n[i]; o[i] /= n[i]; said[i] /= n[i]; net[i] /= n[i]; hits[i] /= n[i]; all[i] /= n[i] }
		saved = w[1] > 200000 ? 1 - w[2] / w[1] : 0; truth = o[2] - o[1]; size = larger(truth, -truth)
		spread = n[1] > 1 ? most[1] - least[1] + most[2] - least[2] : 0.005 * o[1]
		error = larger(net[2] - truth, truth - net[2])
		allowed = n[1] > 1 ? 0.1 * size + spread + 0.5 : larger(0.1 * size, spread)
		wrong = (said[2] - saved) ^ 2 > 0.0004 || error > allowed || (all[2] - hits[1]) ^ 2 > 0.0004
		off = size ? 100 * (net[2] - truth) / size : (net[2] ? 100 : 0)
		printf "%-10s %10.3f %9.3f %+7.1f %12.0f %9.0f %+5.0f%% %6s %9.1f %9.1f %9.3f %9.2f%% %5.2f%% %7d%s\n", s, said[2],
			saved, 100 * (said[2] - saved), net[2], truth,
			off, (n[1] > 1 ? spread : "-"),
			w[2] / 1e6, w[1] / 1e6, said[1], 100 * all[2], 100 * hits[1], lost, wrong ? "  <-- off" : "" }' "$WORK/runs"
done
exit 0
