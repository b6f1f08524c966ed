#!/bin/sh
# exports.sh - what the files of the rooms export, read from the built objects: B=build/release
# tests/lint/exports.sh (STRICT= : what is unused is only said)
#
# names     what bloom.c exports begins with bloom_. A file that is known by another word has a row in
#           exports.txt; filter/ puts twice_ in front, for it is a library.
# unused    what a file exports, some other file of the program uses. What only tests use is a row of
#           unused.txt with its reason; a row that is not needed any more must go. filter/ is left
#           out: its users are elsewhere.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release}
# shellcheck disable=SC2046 # names without spaces
nm -A -g $(find "$B/config" "$B/filter" "$B/proxy" -name '*.o') 2>/dev/null | awk -v B="$B/" -v strict="${STRICT-1}" '
function complain(what) { print what; bad++ }
function unused(what) { print what; if (strict) bad++ }
FILENAME ~ /exports\.txt$/ { if ($0 !~ /^#/ && NF) for (i = 2; i <= NF && $i != "-"; i++) { word[$1, $i] = 1; row[$1] = FNR } next }
FILENAME ~ /unused\.txt$/ { if ($0 !~ /^#/ && NF) { if (NF < 2) complain(FILENAME ":" FNR ": say why"); kept[$1] = FNR } next }
{
	split($1, at, ":")
	file = substr(at[1], length(B) + 1)
	sub(/\.o$/, ".c", file)
	if ((getline line < file) < 0) # an object whose source is gone
		next
	close(file)
	symbol = $NF
	if (symbol ~ /^(__|_GLOBAL_|main$)/)
		next
	if ($(NF - 1) ~ /^[UwWv]$/)
		uses[symbol] = 1
	else
		from[symbol] = file
	files[file] = 1
}
END {
	for (symbol in from) {
		file = from[symbol]
		base = file
		sub(/.*\//, "", base)
		sub(/\.c$/, "", base)
		bare = symbol
		if (file ~ /^filter\//)
			sub(/^twice_/, "", bare)
		fits = bare == base || index(bare, base "_") == 1
		for (i = length(bare); i > 0 && !fits; i--)
			fits = (file, substr(bare, 1, i)) in word
		if (!fits)
			complain(file ": exports " symbol ": begin it with " base "_, make it static, or give the file a row in tests/lint/exports.txt")
		if (!(symbol in uses) && !(symbol in kept) && file !~ /^filter\//)
			unused(file ": exports " symbol ", and no other file uses it: make it static or remove it")
	}
	for (symbol in kept)
		if (!(symbol in from) || symbol in uses)
			print "tests/lint/unused.txt:" kept[symbol] ": " symbol " is used, or gone: remove the row"
	for (file in row)
		if (!(file in files))
			complain("tests/lint/exports.txt:" row[file] ": there is no " file ": remove the row")
	printf "exports: %s\n", bad ? bad " wrong" : "ok"
	exit bad > 0
}' tests/lint/exports.txt tests/lint/unused.txt -
