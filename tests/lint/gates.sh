#!/bin/sh
# gates.sh - faults of the sources that there may only be fewer of. Each row of gates.txt is what there is of
# one today: a kind, a place and a number. More than the row says is an error, and so is less, for then the
# row is lowered or removed. tests/lint/gates.sh [all] (all: prints the rows that today's sources need)
#
# headless  FOLDER      comments that open headless (headless.awk says what that is)
# lines     FILE        a file of the program with over 500 lines; the number is rounded up to the next ten
# members   FILE:STRUCT a struct of the program with over 30 members
# bools     FILE:STRUCT a struct of the program with ten bools or more
#
# A row that ends with "- why" is a bound that something else gave: the number may be below it.
#
# Nobody adds rows to gates.txt or unused.txt, nor comments to a folder: where git knows what has landed
# (BASE, origin/main), the lists are held against those that have. A row may move with what it is about.
cd "$(dirname "$0")/../.." || exit 1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

own=$(ls -d proxy filter config 2>/dev/null)
# shellcheck disable=SC2086 # names without spaces
find $own -name '*.[ch]' | sort >"$place/program"
find Makefile .ci bench tests packaging $own -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' \
	-o -name '*.mk' -o -name Makefile -o -path '.ci/*' \) 2>/dev/null | sort >"$place/all"
xargs awk -f tests/lint/headless.awk <"$place/all" >"$place/headless"
{
	sed 's/:.*//; s|^[^/]*$|./&|; s|/[^/]*$||; s/^/headless /; s/$/ 1/' "$place/headless"
	xargs wc -l <"$place/program" | awk '$2 != "total" && $1 > 500 { print "lines", $2, int(($1 + 9) / 10) * 10 }'
	xargs awk -f tests/lint/structs.awk <"$place/program" | awk '
		$3 > 30 { print "members", $1 ":" $2, $3 }
		$4 >= 10 { print "bools", $1 ":" $2, $4 }'
} | awk '{ n[$1 " " $2] += $3 } END { for (what in n) print what, n[what] }' | sort >"$place/found"
if [ "${1:-}" = all ]; then
	cat "$place/found"
	exit
fi

# Comments of files that were changed since are told first, for one of them is new.
base=$(git merge-base HEAD "${BASE:-origin/main}" 2>/dev/null || git rev-parse --verify -q HEAD 2>/dev/null)
[ -z "$base" ] || {
	git diff --name-only "$base"
	git ls-files -o --exclude-standard
} >"$place/changed" 2>/dev/null
touch "$place/changed"

status=0
awk -v headless="$place/headless" -v changed="$place/changed" '
function complain(what) { print what; bad++ }
# The comments of a folder: those of files that were changed, else all.
function tell(folder, all,    line, at, name, told) {
	while ((getline line < headless) > 0) {
		at = line
		sub(/:.*/, "", at)
		name = at
		if (at !~ /\//)
			at = "./" at
		sub(/\/[^\/]*$/, "", at)
		if (at == folder && (all || name in is_changed)) {
			print "  " line
			told++
		}
	}
	close(headless)
	if (!all && !told)
		tell(folder, 1)
}
BEGIN {
	while ((getline name < changed) > 0)
		is_changed[name] = 1
}
FILENAME ~ /gates\.txt$/ {
	if ($0 ~ /^#/ || !NF)
		next
	if (NF < 3 || $3 !~ /^[1-9][0-9]*$/ || (NF > 3 && ($4 != "-" || NF < 5)))
		complain(FILENAME ":" FNR ": not a kind, a place, a number, and perhaps \"- why\"")
	most[$1, $2] = $3
	row[$1, $2] = FILENAME ":" FNR
	given[$1, $2] = NF > 3
	next
}
{
	seen[$1, $2] = 1
	if ($3 > most[$1, $2] + 0) {
		complain($2 ": " $1 " " $3 (most[$1, $2] ? ", over the " most[$1, $2] " of " row[$1, $2] : ", and no row in tests/lint/gates.txt allows it"))
		if ($1 == "headless")
			tell($2)
	} else if ($3 < most[$1, $2] && !given[$1, $2])
		complain(row[$1, $2] ": " $1 " of " $2 " is " $3 " now: lower the row")
}
END {
	for (key in row)
		if (!(key in seen))
			complain(row[key] ": there is no such thing any more: remove the row")
	printf "gates: %s\n", bad ? bad " wrong" : "ok"
	exit bad > 0
}' tests/lint/gates.txt "$place/found" || status=1

# rows_of LIST: "KIND NUMBER" of what may not rise.
rows_of() {
	awk -v list="$1" '
		/^#/ || !NF { next }
		list !~ /gates/ { n["rows"]++; next }
		$1 == "headless" { n[$1] += $3; next }
		{ n[$1 " (rows)"]++ }
		END { for (kind in n) print n[kind], kind }' | sort -k 2
}
for list in tests/lint/gates.txt tests/lint/unused.txt; do
	git show "${BASE:-origin/main}:$list" >"$place/landed" 2>/dev/null || continue
	rows_of $list <$list >"$place/now"
	rows_of $list <"$place/landed" | awk -v list=$list '
		{ n = $1; sub(/^[0-9]+ /, "") }
		FILENAME == "-" { landed[$0] = n; next }
		n > landed[$0] + 0 { print list ": " $0 ": " n ", and what has landed has " landed[$0] + 0 ": it may only shrink"; bad++ }
		END { exit bad > 0 }' - "$place/now" || status=1
done
exit $status
