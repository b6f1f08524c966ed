#!/bin/bash
# cells.sh - hits, byte hits and bytes written by `twice simulate` on logs of FOLDER, the CDN mix and draws from a
# popularity table: one row for each log, disk (5 to 40% of the distinct bytes) and RAM (10 and 1% of the disk).
#
#	bench/cells.sh FOLDER [BEFORE]
#
# FOLDER holds nasa_19950801.tsv.gz, apache-combined.log.gz and akamai-tc.popularity.txt.gz; what is missing is
# skipped. BEFORE: an earlier output; each row says how many points more than that one it has, and its multiple of
# the bytes written, and the last lines have the means. TWICE: the program. LOGS: a folder that keeps the logs that
# are made, to be used again. ONLY: names of logs. BOUNDS=1: instead, three caches of the
# same disks without RAM: an LRU by bytes that admits all, one that admits what was asked for before, and one that
# knows the future (clairvoyant.c). POLICY: another one than 2.
set -u
TWICE=${TWICE:-build/twice}
BIN=${BIN:-build/release/bench}
FOLDER=${1:-traces}
BEFORE=${2:-}
POLICY=${POLICY:-2}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
LOGS=${LOGS:-$WORK}
ONLY=${ONLY:-nasa apache mix-200k mix-300k mix-1M akamai-60k akamai-150k}

make_logs() { # one name and path a line
	local table=$FOLDER/akamai-tc.popularity.txt.gz
	[ -e "$FOLDER/nasa_19950801.tsv.gz" ] && echo "nasa $FOLDER/nasa_19950801.tsv.gz"
	[ -e "$FOLDER/apache-combined.log.gz" ] && echo "apache $FOLDER/apache-combined.log.gz"
	while read -r name kind n seed; do
		local log=$LOGS/$name
		[[ " $ONLY " == *" $name "* ]] || continue
		[ "$kind" = mix ] || [ -e "$table" ] || continue
		[ -s "$log" ] || if [ "$kind" = mix ]; then "$BIN/draw" mix "$n" "$seed"; else zcat "$table" | "$BIN/draw" table "$n" "$seed"; fi >"$log"
		echo "$name $log"
	done <<-END
		mix-200k mix 200000 1
		mix-300k mix 300000 7
		mix-1M mix 1000000 1
		akamai-60k table 60000 3
		akamai-150k table 150000 2
	END
}

table() { # name, what is said of it: the rows of one answer
	awk -v name="$1" -v ram="$2" '{ gsub(",", "", $2) } $1 == "\"policy\":" { n++ }
		n && $1 == "\"hit_ratio\":" { hits = $2 } n && $1 == "\"byte_hit_ratio\":" { bytes = $2 }
		n && $1 == "\"written_bytes\":" {
			printf "%-12s %3d%% %11s %8.2f %8.2f %10.1f\n", name, 5 * 2 ^ (n - 1), ram, 100 * hits, 100 * bytes, $2 / 1e6 }' "$WORK/json"
}

rows() { # name, log
	for ram in 10% 1%; do
		"$TWICE" simulate --json --sample off --packing off --disk 5%,10%,20%,40% --memory $ram --policies "$POLICY" --curves "$POLICY" "$2" >"$WORK/json" || return
		table "$1" $ram
	done
}

# "time id size" of what a cache may keep, each URL with its largest size, as simulate takes logs of sent bytes.
lines_of() { # name, log
	case $1 in
	nasa) zcat "$2" | awk -F'\t' 'NR > 1 && $4 == "GET" && ($6 == 200 || $6 == 304) { print $3, $5, $6 == 304 ? 0 : $7 }' | largest ;;
	apache) zcat "$2" | awk '$6 == "\"GET" && ($9 == 200 || $9 == 304) { print NR, $7, $9 == 304 || $10 == "-" ? 0 : $10 }' | largest ;;
	*) cat "$2" ;;
	esac
}
largest() { awk '{ if (!($2 in id)) id[$2] = ++n; line[NR] = $1; of[NR] = id[$2]; if ($3 + 0 > size[id[$2]]) size[id[$2]] = $3 + 0 }
	END { for (i = 1; i <= NR; i++) print line[i], of[i], size[of[i]] + 0 }'; }

bounds() { # name, log
	lines_of "$1" "$2" >"$WORK/lines"
	for policy in all 2+filter=exact; do
		"$TWICE" simulate --json --sample off --format triple --eviction lru --disk 5%,10%,20%,40% --policies $policy --curves $policy "$WORK/lines" >"$WORK/json" || return
		table "$1" "lru:${policy%+*}"
	done
	"$BIN/clairvoyant" <"$WORK/lines" | awk -v name="$1" '{ printf "%-12s %4s %11s %8.2f %8.2f %10.1f\n", name, $1, "clairvoyant", $2, $3, $4 }'
}

compare() { # with the rows of an earlier output
	awk 'NF < 6 || $1 ~ /^#/ { next }
		FNR == NR { hits[$1 $2 $3] = $4; bytes[$1 $2 $3] = $5; written[$1 $2 $3] = $6; next }
		($1 $2 $3) in hits && $6 > 0 {
			k = $1 $2 $3; h = $4 - hits[k]; b = $5 - bytes[k]; w = $6 / written[k]
			printf "%s   %+6.2f %+6.2f %6.3f\n", $0, h, b, w
			split("all " $1 " ram=" $3 " disk=" $2, of, " ")
			for (i = 1; i <= 4; i++) {
				m = of[i]; n[m]++; hs[m] += h; bs[m] += b; ws[m] += w
				if (n[m] == 1) order[++means] = m
				if (n[m] == 1 || h < least[m]) least[m] = h
				if (n[m] == 1 || b < least_b[m]) least_b[m] = b
			}
		}
		END {
			printf "# means of %d cells: points of hits, of byte hits, multiple of the bytes written; least of the points\n", n["all"]
			for (i = 1; i <= means; i++) {
				m = order[i]
				printf "# %-14s %+6.2f %+6.2f %6.3f   %+6.2f %+6.2f\n", m, hs[m] / n[m], bs[m] / n[m], ws[m] / n[m], least[m], least_b[m]
			}
		}' "$1" -
}

all_rows() { # rows or bounds
	make_logs | while read -r name log; do
		[[ " $ONLY " != *" $name "* ]] || $1 "$name" "$log"
	done
}

echo "# log, disk, RAM: object hits %, byte hits %, MB written; behind them: points and multiple of BEFORE's"
if [ "${BOUNDS:-0}" = 1 ]; then
	all_rows bounds
elif [ -n "$BEFORE" ]; then
	all_rows rows | compare "$BEFORE"
else
	all_rows rows
fi
