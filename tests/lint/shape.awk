# shape.awk - the shape of functions: none over 100 lines, none with over 20 branches, but for flat tables
# that say so (a comment "flat: why" in the lines above the name). Prints the five longest.
#
# A branch is an if, a loop, a case, a && or || and a ?: (strings and comments do not count). Needs the
# house style: a function's name in column 0, its braces in column 0 too.
function strip(s) {
	gsub(/\\./, "", s)
	gsub(/"[^"]*"/, "", s)
	gsub(/'[^']*'/, "", s)
	gsub(/\/\*[^*]*\*\//, "", s)
	sub(/\/\*.*/, "", s)
	return s
}
function count(s, what,    n) {
	n = gsub(what, "&", s)
	return n
}
FNR == 1 { start = 0; name = ""; flat = 0; inside = 0 }
/^\/\*/ { flat = 0 }
!start && /flat: / { flat = 1 }
/^[a-z_][a-z_0-9]*\(/ || /^START_TEST\(/ || /^SCENARIO/ { name = $0; sub(/\(.*/, "", name) }
/^\{/ { start = FNR; branches = 0; next }
start && !/^\}/ {
	line = $0
	if (line ~ /^[ \t]*\/\*/ && line !~ /\*\//)
		inside = 1
	if (!inside) {
		line = strip(line)
		branches += count(line, "(^|[^a-z_])(if|for|while|case|wait_until) *[(]?") \
			+ count(line, "&&") + count(line, "\\|\\|") + count(line, "\\?")
	}
	if (line ~ /\*\//)
		inside = 0
}
/^\}/ && start {
	n = FNR - start - 1
	lines[++total] = n
	where[total] = FILENAME ":" start ": " name
	if (name != "" && !flat && (n > 100 || branches > 20)) {
		printf "%s:%d: %s has %d lines and %d branches; name the second function within it, or " \
			"say above it why it is flat (\"flat: ...\")\n", FILENAME, start, name, n, branches
		bad++
	}
	start = 0; name = ""; flat = 0; inside = 0
}
END {
	for (k = 1; k <= 5 && k <= total; k++) {
		best = 1
		for (i = 2; i <= total; i++)
			if (lines[i] > lines[best])
				best = i
		printf "%5d lines  %s\n", lines[best], where[best]
		lines[best] = -1
	}
	exit bad > 0
}
