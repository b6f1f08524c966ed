#!/bin/bash
# traces.sh - twice simulate on logs that are not in the repository: its table for each, and its LRU beside one
# that was written anew (exact_lru.awk). Off: more than half a point of hits, or 0.5% of the bytes.
#
#	bench/traces.sh FOLDER
#
# FOLDER holds nasa_19950801.tsv.gz (TSV with a header) and apache-combined.log.gz; what is missing is skipped.
set -u
TWICE=${TWICE:-build/twice}
FOLDER=${1:-traces}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

of_json() { # key, row of the policies
	awk -v key="\"$1\":" -v row="$2" '$1 == "\"policy\":" { n++ } n == row && $1 == key { gsub(",", "", $2); print $2; exit }'
}

# "time id size" of what a cache may keep, each URL with its largest size, as simulate takes logs of sent bytes.
nasa() { zcat "$1" | awk -F'\t' 'NR > 1 && $4 == "GET" && ($6 == 200 || $6 == 304) { print $3, $5, $6 == 304 ? 0 : $7 }' | largest; }
apache() { zcat "$1" | awk '$6 == "\"GET" && ($9 == 200 || $9 == 304) { split($4, t, ":"); print NR, $7, $9 == 304 || $10 == "-" ? 0 : $10 }' | largest; }
largest() { awk '{ line[NR] = $1 " " $2; id[NR] = $2; if ($3 + 0 > size[$2]) size[$2] = $3 + 0 } END { for (i = 1; i <= NR; i++) print line[i], size[id[i]] + 0 }'; }

compare() { # name, lines, disk in per cent of the distinct bytes, sightings
	local distinct disk
	distinct=$(awk '!s[$2]++ { n += $3 } END { printf "%.0f", n }' "$2")
	disk=$((distinct * $3 / 100))
	awk -v disk=$disk -v sightings="$4" -f bench/exact_lru.awk "$2" >"$WORK/exact"
	"$TWICE" simulate --json --format triple --eviction lru --disk $disk --policies "$([ "$4" = 1 ] && echo all || echo 2+filter=exact)" "$2" >"$WORK/json" || return
	awk -v name="$1" -v share="$3" -v n="$4" -v h="$(of_json hit_ratio 1 <"$WORK/json")" -v w="$(of_json written_bytes 1 <"$WORK/json")" '{
		off = (h - $1) ^ 2 > 0.005 ^ 2 || (w / $2 - 1) ^ 2 > 0.005 ^ 2
		printf "%-8s disk %2d%%, sightings %d: exact %6.2f%% %12.0f bytes, simulate %6.2f%% %12.0f bytes: %+.2f points, %+.2f%%%s\n",
			name, share, n, 100 * $1, $2, 100 * h, w, 100 * (h - $1), 100 * (w / $2 - 1), off ? "  <-- off" : "" }' "$WORK/exact"
}

for name in nasa apache; do
	case $name in
	nasa) log=$FOLDER/nasa_19950801.tsv.gz ;;
	apache) log=$FOLDER/apache-combined.log.gz ;;
	esac
	[ -e "$log" ] || { echo "# $log is not there: skipped"; continue; }
	echo "# $name: twice simulate"
	"$TWICE" simulate "$log" | sed -n "1,/^Suggested\\|^All of it\\|^Nothing is/p" | sed "\$d" | sed "s#$FOLDER/##"
	$name "$log" >"$WORK/lines"
	for share in 5 10 40; do for n in 1 2; do compare "$name" "$WORK/lines" $share $n; done; done
	echo
done
