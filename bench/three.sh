#!/bin/bash
# three.sh - what do three sightings write and cost beside two? `twice simulate` on the CDN mix, on draws from a table of
# popularities, and on logs that are not in the repository; RAM a tenth of the disk. Hits and bytes that were
# hit in per cent, and what was written, of each policy; and the means of differences and ratios to `2`.
#
#	bench/three.sh FOLDER [POLICY...]     2, 3, 3+filter=counting and 3+rotate=24h
#
# FOLDER may hold nasa_19950801.tsv.gz, apache-combined.log.gz and akamai-tc.popularity.txt.gz (a number of requests in a
# line, behind it lines "KB share" of objects); what is missing is skipped. SHARES: disks in per cent of the distinct bytes;
# MIX: requests of the mixes.
set -u
BIN=${BIN:-build/release/bench}
TWICE=${TWICE:-build/twice}
FOLDER=${1:-traces}
shift $(($# > 0))
POLICIES=("${@:-}")
[ -n "${POLICIES[0]}" ] || POLICIES=(2 3 3+filter=counting 3+rotate=24h)
SHARES=${SHARES:-5 10 20 40}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# "time id size", a thousand requests a second. The mix's paths end with the size.
mix() { # requests, seed
	"$BIN/load" --paths --requests "$1" --seed "$2" | awk '{ n = split($1, part, "/"); print int(NR / 1000), $1, part[n] }'
}
popularity() { # objects, seed: each with its requests, in any order
	zcat "$FOLDER/akamai-tc.popularity.txt.gz" | awk -v n="$1" -v seed="$2" '
		NF == 1 { p = $1; next }
		{ row++; popular[row] = p; size[row] = $1 * 1000; sum += $2; upto[row] = sum }
		END {
			srand(seed)
			for (i = 0; i < n; i++) {
				r = rand() * sum; lo = 1; hi = row
				while (lo < hi) { mid = int((lo + hi) / 2); if (upto[mid] < r) lo = mid + 1; else hi = mid }
				for (k = 0; k < popular[lo]; k++) printf "%.9f %d %d\n", rand(), i, size[lo]
			}
		}' | sort -k1,1 | awk '{ print int(NR / 1000), $2, $3 }'
}
largest() { # each URL with its largest size
	awk '{ line[NR] = $1 " " $2; id[NR] = $2; if ($3 + 0 > size[$2]) size[$2] = $3 + 0 } END { for (i = 1; i <= NR; i++) print line[i], size[id[i]] + 0 }'
}
nasa() { # factor of sizes
	zcat "$FOLDER/nasa_19950801.tsv.gz" | awk -F'\t' -v by="$1" 'NR > 1 && $4 == "GET" && ($6 == 200 || $6 == 304) { print $3, $5, $6 == 304 ? 0 : $7 * by }' | largest
}
apache() {
	zcat "$FOLDER/apache-combined.log.gz" | awk '$6 == "\"GET" && ($9 == 200 || $9 == 304) { print int(NR / 10), $7, $9 == 304 || $10 == "-" ? 0 : $10 }' | largest
}

of_json() { # key: of each policy, a line each
	awk -v key="\"$1\":" '$1 == key { gsub(",", "", $2); print $2 }' "$WORK/json"
}

show() { # name, lines in $WORK/lines
	local distinct share
	distinct=$(awk '!s[$2]++ { n += $3 } END { printf "%.0f", n }' "$WORK/lines")
	for share in $SHARES; do
		[ $((distinct * share / 100)) -ge 8388608 ] || continue # the least that the proxy takes
		"$TWICE" simulate --json --format triple --disk $((distinct * share / 100)) --memory $((distinct * share / 1000)) \
			--policies "$(IFS=,; echo "${POLICIES[*]}")" "$WORK/lines" >"$WORK/json" 2>"$WORK/says" || { tail -1 "$WORK/says"; exit 1; }
		paste -d ' ' <(of_json hit_ratio) <(of_json byte_hit_ratio) <(of_json written_bytes) | head -${#POLICIES[@]} |
			awk -v name="$1" -v share="$share" -v policies="${POLICIES[*]}" -v rows="$WORK/rows" 'BEGIN { split(policies, of, " "); printf "%-16s %3d%%", name, share }
				{ printf "  %5.2f / %5.2f %8.1f MB", 100 * $1, 100 * $2, $3 / 1e6
				  if (NR == 1) { h = $1; b = $2; w = $3 }
				  else print of[NR], 100 * ($1 - h), 100 * ($2 - b), w ? $3 / w : 1 >>rows }
				END { printf "\n" }'
	done
}

printf '%-21s' "trace, disk"; printf '  %-25s' "${POLICIES[@]}"; echo
for n in ${MIX:-1000000 200000}; do mix $n 1 >"$WORK/lines"; show "mix $n"; done
if [ -e "$FOLDER/akamai-tc.popularity.txt.gz" ]; then
	for seed in 1 2; do popularity 60000 $seed >"$WORK/lines"; show "popularity $seed"; done
fi
if [ -e "$FOLDER/nasa_19950801.tsv.gz" ]; then
	for by in 1 4; do nasa $by >"$WORK/lines"; show "nasa x$by"; done
fi
if [ -e "$FOLDER/apache-combined.log.gz" ]; then apache >"$WORK/lines"; show apache; fi
for policy in "${POLICIES[@]:1}"; do
	awk -v policy="$policy" '$1 == policy { n++; h += $2; b += $3; w += $4; if (n == 1 || $2 < least) least = $2 }
		END { printf "%s: %+.2f points of hits (at worst %+.2f), %+.2f of bytes, x%.2f written, means of %d cells\n", policy, h / n, least, b / n, w / n, n }' "$WORK/rows"
done
