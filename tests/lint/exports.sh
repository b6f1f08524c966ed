#!/bin/sh
# exports.sh - what the files of the rooms export, read from the built objects: B=build/release
# tests/lint/exports.sh
#
# names     what bloom.c exports begins with bloom_ (blooms_, where it is about many of them). A file
#           bloom_text.c beside bloom.c or bloom.h is a part of it and may use its prefix too, and
#           cache_ is for every file of cache/, whose door is cache.h. A file that is known by another
#           word has a row in exports.txt. filter/ puts twice_ in front, for it is a library.
# unused    what a file exports, some other file of the program uses. What only bench/ uses, and the
#           invariants that only tests ask for, are rows of unused.txt. filter/ is left out: its
#           users are elsewhere.
#
# A row of either list that is not needed any more is an error too, and unused.txt gets no new ones
# (gates.sh). gcc-nm reads objects that hold nothing but what gcc keeps for its optimization as a whole.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release}
NM=$(command -v gcc-nm || echo nm)
# shellcheck disable=SC2046 # names without spaces
$NM -A -g $(find "$B/config" "$B/filter" "$B/proxy" -name '*.o') 2>/dev/null | awk -v B="$B/" '
function complain(what) { print what; bad++ }
function exists(path,    line) {
	if (!(path in there)) {
		there[path] = (getline line < path) >= 0
		close(path)
	}
	return there[path]
}
# May a file of that name in that room export it?
function fits(room, base, bare,    door, i) {
	if (bare == base || index(bare, base "_") == 1 || index(bare, base "s_") == 1)
		return 1
	door = room
	sub(/.*\//, "", door)
	if (index(bare, door "_") == 1 && exists(room "/" door ".h"))
		return 1
	for (i = length(base) - 1; i > 0; i--)
		if (substr(base, i + 1, 1) == "_" && index(bare, substr(base, 1, i + 1)) == 1 &&
		    (exists(room "/" substr(base, 1, i) ".c") || exists(room "/" substr(base, 1, i) ".h")))
			return 1
	return 0
}
function word_fits(file, bare,    i) {
	for (i = length(bare); i > 0; i--)
		if ((file, substr(bare, 1, i)) in word) {
			delete idle[file, substr(bare, 1, i)]
			return 1
		}
	return 0
}
FILENAME ~ /exports\.txt$/ {
	if ($0 ~ /^#/ || !NF)
		next
	for (i = 2; i <= NF && $i != "-"; i++)
		word[$1, $i] = idle[$1, $i] = FNR
	if (i >= NF)
		complain(FILENAME ":" FNR ": say why")
	next
}
FILENAME ~ /unused\.txt$/ {
	if ($0 ~ /^#/ || !NF)
		next
	if (NF < 2)
		complain(FILENAME ":" FNR ": say why")
	kept[$1] = FNR
	next
}
{
	split($1, at, ":")
	file = substr(at[1], length(B) + 1)
	sub(/\.o$/, ".c", file)
	symbol = $NF
	if (!exists(file) || symbol ~ /^(__|_GLOBAL_|main$)/)
		next # an object whose source is gone
	if ($(NF - 1) ~ /^[UwWv]$/)
		uses[symbol] = 1
	else
		from[symbol] = file
}
END {
	for (symbol in from) {
		file = room = base = from[symbol]
		sub(/\/[^\/]*$/, "", room)
		sub(/.*\//, "", base)
		sub(/\.c$/, "", base)
		bare = symbol
		if (file ~ /^filter\//)
			sub(/^twice_/, "", bare)
		if (!fits(room, base, bare) && !word_fits(file, bare))
			complain(file ": exports " symbol ": begin it with " base "_, make it static, or give the file a row in tests/lint/exports.txt")
		if (!(symbol in uses) && !(symbol in kept) && file !~ /^filter\//)
			complain(file ": exports " symbol ", and no other file uses it: make it static or remove it")
	}
	for (symbol in kept)
		if (!(symbol in from) || symbol in uses)
			complain("tests/lint/unused.txt:" kept[symbol] ": " symbol " is used, or gone: remove the row")
	for (key in idle) {
		split(key, part, SUBSEP)
		complain("tests/lint/exports.txt:" idle[key] ": " part[1] " needs no row for " part[2] ": remove it")
	}
	for (symbol in from)
		any = 1
	if (!any)
		complain("exports.sh: no object below " B " was read: build them first")
	printf "exports: %s\n", bad ? bad " wrong" : "ok"
	exit bad > 0
}' tests/lint/exports.txt tests/lint/unused.txt -
