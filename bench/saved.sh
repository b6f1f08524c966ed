#!/bin/bash
# saved.sh - is what the report says is saved what a second run shows? Each setting is played twice
# with the same requests, with sightings: 2 and with sightings: 1. Written bytes are the kernel's
# count, origin requests those of /stats.
#
#	bench/saved.sh [REQUESTS [SETTING...]]
#
# Off: more than 2 points, or a net that is off by 10% and by 0.5% of all origin requests (two runs of
# one setting differ by as much).
#
# Settings: disk5 disk10 disk20 disk40 (per cent of the distinct bytes), short, purges, prefixes (each
# purges a 256th of the paths), restart, warm, ranges. About three minutes with 60000 requests.
. bench/lib.sh
need curl "apt-get install curl"

REQUESTS=${1:-60000}
shift
RUNS=${*:-disk5 disk10 disk20 disk40 short purges prefixes restart warm ranges}
SEED=${SEED:-1}
# Two, so that the disk keeps up as it would: at full speed a log of 32 MB turns over ten times a
# second, and then more of it goes than the policy says.
CONNECTIONS=${CONNECTIONS:-2}

mix() { # words of load
	$ASIDE "$BIN/load" --port "$PORT" --cdn --requests "$REQUESTS" --seed "$SEED" \
		--connections "$CONNECTIONS" "$@" >>"$WORK/load.out" || echo "# wrong or failed: $(tail -1 "$WORK/load.out")"
}

number() { # group.key of /stats
	curl -s "http://127.0.0.1:$ADMIN/stats" | awk -v group="\"${1%.*}\"" -v key="\"${1##*.}\"" '
		/^  "/ { here = ($1 == group ":") }
		here && $1 == key ":" { gsub(/[,"]/, "", $2); print $2; exit }'
}

again() { # ends twice and starts it with the same directory
	stop "$PROXY"
	start_twice "$WORK/cache" "$disk" "$memory" "$1"
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
	restart)
		mix --take $((REQUESTS / 2))
		again "$2"
		mix --skip $((REQUESTS / 2))
		;;
	warm)
		mix --same 400 --bytes 30000 --take 1200
		sleep 1.5
		again "$2"
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

run_one() { # setting, sightings: sets written_N, origin_N, said, net, own_N
	start_twice "$WORK/cache" "$disk" "$memory" "$2"
	play "$1" "$2"
	sleep 2.5 # what is still on its way to the disk
	eval "written_$2=$(write_bytes "$PROXY") origin_$2=$(number origin.requests)" \
		"own_$2=$(number disk.written_bytes) said_$2=$(number disk.saved_ratio)" \
		"net_$2=$(number origin.net_requests) dropped_$2=$(number baseline.dropped)"
	[ -z "${STATS:-}" ] || curl -s "http://127.0.0.1:$ADMIN/stats" >"$STATS.$1.$2"
	stop "$PROXY"
	rm -rf "$WORK/cache"
}

machine
facts=$("$BIN/load" --facts --requests "$REQUESTS" --seed "$SEED")
distinct=$(value distinct_bytes <<<"$facts")
echo "# $facts"
echo "# saved_ratio and net origin requests (below zero: fewer than admitting all): said, and true by a second run"
echo "# setting    saved: said    true  points    net: said      true    off   written 2, 1 (MB)  said by 1  dropped"
for setting in $RUNS; do
	share=20 age=86400
	case $setting in
	disk*) share=${setting#disk} ;;
	short) age=6 ;;
	esac
	disk=$((distinct * share / 100)) memory=$((distinct * share / 1000))
	[ "$memory" -ge 1048576 ] || memory=1048576
	start_origin "$age"
	run_one "$setting" 1
	run_one "$setting" 2
	exec 9>&- # the origin ends
	awk -v s="$setting" -v said="$said_2" -v w2="$written_2" -v w1="$written_1" -v net="$net_2" \
		-v o2="$origin_2" -v o1="$origin_1" -v ghost1="$said_1" -v lost="$dropped_2" 'BEGIN {
		saved = w1 > 200000 ? 1 - w2 / w1 : 0; truth = o2 - o1
		off = truth ? 100 * (net - truth) / (truth < 0 ? -truth : truth) : (net ? 100 : 0)
		wrong = (said - saved) ^ 2 > 0.0004 || (off ^ 2 > 100 && (net - truth) ^ 2 > (0.005 * o1) ^ 2)
		printf "%-10s %10.3f %9.3f %+7.1f %12d %9d %+5.0f%% %9.1f %9.1f %9.3f %7d%s\n", s, said, saved,
			100 * (said - saved), net, truth, off, w2 / 1e6, w1 / 1e6, ghost1, lost,
			wrong ? "  <-- off" : "" }'
done
exit 0
