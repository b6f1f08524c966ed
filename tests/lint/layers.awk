# layers.awk - awk -f layers.awk layers.txt FILE...: every #include "room/file.h" must be allowed by
# the floor plan, as a room or as this one file of it; libyaml only in reading_inside.h.
function room_of(path) { sub(/\/[^\/]*$/, "", path); return path }
function name_of(path) { sub(/.*\//, "", path); return path }
FNR == 1 && NR != 1 { here = room_of(FILENAME); seen[here] = 1 }
NR == FNR {
	if ($0 ~ /^#/ || !NF)
		next
	rooms[$1] = 1
	short = $1; sub(/^proxy\//, "", short)
	full[short] = $1
	for (i = 2; i <= NF; i++)
		plan[$1, $i] = 1
	next
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, part, "\"")
	there = room_of(part[2])
	short = there; sub(/^proxy\//, "", short)
	if (there == here)
		next
	if (!(there in rooms))
		complain("\"" part[2] "\" is not written from the top of the repository")
	else if (!((here, short) in plan) && !((here, short "/" name_of(part[2])) in plan))
		complain(here " may not include " part[2])
}
/^[ \t]*#[ \t]*include[ \t]*<yaml/ && FILENAME !~ /^config\/reading_inside\.h$/ {
	complain("YAML is the affair of config: reading_inside.h")
}
function complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what; bad++ }
END {
	for (room in rooms)
		if (!(room in seen))
			complain("tests/lint/layers.txt: there is no " room ": remove the row")
	printf "layers: %s\n", bad ? bad " wrong" : "ok"
	exit bad > 0
}
