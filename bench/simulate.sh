#!/bin/bash
# simulate.sh - is `twice simulate` right, and how fast is it? The CDN mix goes through the real proxy, which
# logs it; the log then goes through the simulation with the same disk and memory. After that, a log
# that is repeated to LINES lines goes through ten policies; 0: not. SIGHTINGS: of "2 1 3 auto"; SHARES: of "40 10 5".
#
#	bench/simulate.sh [REQUESTS [LINES]]
#
# Off: more than a point of hits, or 2% of the bytes. With few requests the disk is so small that one large
# object, which just stays or just goes, is some hundredths of all bytes. Two connections, so that the disk keeps up: what it
# refuses is counted, and a run in which it refused much says nothing.
. bench/lib.sh
REQUESTS=${1:-300000}
LINES=${2:-3000000}
SEED=${SEED:-1}
CONNECTIONS=${CONNECTIONS:-2}
# Once a second the proxy looks whether the log has stopped growing, from when on generations of the filter end
# with its turns. So the requests are spread over some seconds: each of that many parts is followed by one.
PARTS=${PARTS:-40}

facts=$("$BIN/load" --facts --requests "$REQUESTS" --seed "$SEED")
distinct=$(value distinct_bytes <<<"$facts")

of_json() { # key, row: of the policies
	awk -v key="\"$1\":" -v row="$2" '$1 == "\"policy\":" { n++ } n == row && $1 == key { gsub(",", "", $2); print $2; exit }'
}

# The sample origin names no validators, so large bodies do not lie in slices.
compare() { # name, disk, memory, sightings
	local cache="$WORK/cache" log="$WORK/access.log" disk=$2 memory=$3
	rm -f "$log"
	SETTINGS="access_log: $log" start_twice "$cache" "$disk" "$memory" "$4"
	for part in $(seq 0 $((PARTS - 1))); do
		$ASIDE "$BIN/load" --port "$PORT" --cdn --requests "$REQUESTS" --seed "$SEED" --connections "$CONNECTIONS" \
			--skip $((part * REQUESTS / PARTS)) --take $((REQUESTS / PARTS)) >>"$WORK/load"
		sleep 1.1
	done
	local hit written refused
	sleep 2.5 # what is still on its way to the disk
	hit=$(stats hit_ratio) written=$(stats written_bytes) refused=$(stats refused_writes)
	stop "$PROXY" # the log is complete
	"$TWICE" simulate --json --disk "$disk" --memory "$memory" --policies "$4+slices=off" "$log" >"$WORK/json" ||
		die "the simulation failed"
	awk -v name="$1" -v refused="$refused" -v h="$hit" -v w="$written" -v sh="$(of_json hit_ratio 1 <"$WORK/json")" \
		-v sw="$(of_json written_bytes 1 <"$WORK/json")" 'BEGIN {
		off = (sh - h) ^ 2 > 0.0001 || (sw / w - 1) ^ 2 > 0.0004
		printf "%-22s real %6.2f%% %9.1f MB   simulated %6.2f%% %9.1f MB   %+5.2f points %+5.2f%% of bytes%s%s\n",
			name, 100 * h, w / 1e6, 100 * sh, sw / 1e6, 100 * (sh - h), 100 * (sw / w - 1),
			refused ? "; " refused " writes refused" : "", off ? "  <-- off" : "" }'
	rm -rf "$cache"
}

machine
echo "# $facts"
start_origin
echo "# disk as a share of the distinct bytes, memory a tenth of it"
for share in ${SHARES:-40 10 5}; do
	for sightings in ${SIGHTINGS:-2 1 3 auto}; do
		compare "disk $share%, sightings $sightings" $((distinct * share / 100)) $((distinct * share / 1000)) "$sightings"
	done
done

[ "$LINES" -gt 0 ] || exit 0
# The same requests again and again under other paths, so that there are ever more URLs.
rounds=$((LINES / REQUESTS))
for round in $(seq "$rounds"); do
	sed "s#/cdn/#/cdn/$round/#" "$WORK/access.log"
done >"$WORK/long.log"
policies=all,2,2+capacity=1%,2+capacity=10%,3,4,bound,2+ram=5%,2+ram=20%,2+exp=64KiB
for way in "clf $WORK/long.log"; do
	TIMEFORMAT="%U %S %R"
	took=$({ time "$TWICE" simulate --disk 10% --policies "$policies" "${way#* }" >"$WORK/out"; } 2>&1)
	lines=$(wc -l <"${way#* }")
	awk -v n="$lines" -v took="$took" -v what="${way%% *}" 'BEGIN {
		split(took, t, " "); cpu = t[1] + t[2]
		printf "%s: %.1f M lines, 10 policies, 2 passes: %.2f us of CPU a line = %.1f M lines a minute and core; %.1f s\n",
			what, n / 1e6, cpu / n * 1e6, n / cpu * 60 / 1e6, t[3] }'
done
tail -1 "$WORK/out"
