# shape.awk - the five longest functions, as a report. Needs the house style: a function's name in
# column 0, its braces in column 0 too.
/^[a-z_][a-z_0-9]*\(/ { name = $0; sub(/\(.*/, "", name) }
/^\{/ { start = FNR }
/^\}/ && start && name != "" {
	n = FNR - start - 1
	lines[++count] = n
	where[count] = FILENAME ":" start ": " name
	start = 0; name = ""
}
END {
	for (k = 1; k <= 5 && k <= count; k++) {
		best = 1
		for (i = 2; i <= count; i++)
			if (lines[i] > lines[best])
				best = i
		printf "%5d lines  %s\n", lines[best], where[best]
		lines[best] = -1
	}
}
