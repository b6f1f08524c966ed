#!/bin/bash
# coverage.sh [build/coverage] - tells what the tests reached, of the counters that a run of them left there: a
# table by room, and the files that no test reaches. `make coverage` runs it. Beside the counters it writes
#
#	rooms.txt    the table that it prints: lines of code, those reached, branches taken at least once
#	files.txt    the same by file, the least reached first
#	lines/       each source with a number before each line, as gcov writes it: proxy#http#date.c.gcov
#
# The lines are those of .c files; the functions that are inline in headers show in lines/ only.
cd "$(dirname "$0")/.." || exit 1
B=${1:-build/coverage}
[ -n "$(find "$B" -name '*.gcda' -print -quit)" ] || {
	echo "coverage.sh: nothing below $B has run: make coverage" >&2
	exit 1
}
rooms=$(find proxy filter config -name '*.c' -printf '%h\n' | sort -u)
rm -rf "$B/lines"
mkdir -p "$B/lines"
for top in proxy filter config; do ln -s "$PWD/$top" "$B/lines/$top"; done
objects=$(cd "$B" && pwd)
cd "$B/lines" || exit 1
for room in $rooms; do
	# An object whose source is gone is left out.
	notes=$(for c in "$room"/*.c; do [ -e "$objects/${c%.c}.gcno" ] && echo "$objects/${c%.c}.gcno"; done)
	[ -n "$notes" ] || continue
	# shellcheck disable=SC2086 # names without spaces
	gcov -n -b -o "$objects/$room" $notes 2>/dev/null
	# shellcheck disable=SC2086
	gcov -p -o "$objects/$room" $notes >/dev/null 2>&1
done | awk '
	function part(s) { sub(/.*:/, "", s); sub(/%.*/, "", s); return s }
	/^File / { split($0, q, "\x27"); file = q[2]; next }
	file !~ /\.c$/ { next }
	/^Lines executed:/ && file in lines { file = "" } # behind the last file: of all together
	/^Lines executed:/ && file { lines[file] = $NF; reached[file] = int(part($0) * $NF / 100 + 0.5) }
	/^Taken at least once:/ && file { branches[file] = $NF; taken[file] = int(part($0) * $NF / 100 + 0.5) }
	END { for (file in lines) print file, lines[file], reached[file], branches[file] + 0, taken[file] + 0 }' |
	sort >../numbers
cd - >/dev/null || exit 1

table() { # what the first column is; "NAME LINES REACHED BRANCHES TAKEN" on stdin
	awk -v what="$1" '
		function percent(a, b) { return b ? sprintf("%.1f%%", 100 * a / b) : "-" }
		BEGIN { printf "%-36s %7s %7s %7s %9s %7s %7s\n", what, "lines", "reached", "", "branches", "taken", "" }
		{ printf "%-36s %7d %7d %7s %9d %7d %7s\n", $1, $2, $3, percent($3, $2), $4, $5, percent($5, $4) }'
}
{
	sed 's|/[^/ ]*\.c | |' "$B/numbers" | awk '
		{ for (i = 2; i <= 5; i++) { n[$1, i] += $i; n["all", i] += $i }; rooms[$1] = 1 }
		END {
			for (r in rooms)
				print r, n[r, 2], n[r, 3], n[r, 4], n[r, 5] | "sort"
			close("sort")
			print "all", n["all", 2], n["all", 3], n["all", 4], n["all", 5]
		}' | table room
} >"$B/rooms.txt"
awk '{ print $3 / ($2 ? $2 : 1), $0 }' "$B/numbers" | sort -n | cut -d ' ' -f 2- | table file >"$B/files.txt"
cat "$B/rooms.txt"
echo
awk '$2 > 0 && $3 == 0 { if (!n++) print "No test reaches these files:"; print "  " $1 } END { if (!n) print "Each file is reached." }' "$B/numbers"
echo "By file: $B/files.txt; by line: $B/lines/"
# Counters that could not be merged. A process that may not open the files says so on its stderr instead.
! grep -qs profiling "$B/errors" || {
	echo "Counters of some processes are lost ($B/errors):"
	sed 's/:[^:]*:/:/' "$B/errors" | sort | uniq -c | sort -rn | head -5
}
