#!/bin/sh
# circles.sh - calls inside a room go down: no file uses a name of another one that uses, directly or
# through others, a name of its own. Read from the built objects: B=build/release tests/lint/circles.sh
#
# What is printed of a room that has circles is each arrow that is part of one, or lies between two.
# A call through a pointer is none: that is how news reaches a higher file.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build/release}
NM=$(command -v gcc-nm || echo nm) # of objects for gcc's optimization as a whole, too
status=0
for room in filter config proxy/*/; do
	room=${room%/}
	# shellcheck disable=SC2046 # names without spaces
	found=$($NM -A -g $(find "$room" -name '*.c' | sed "s|^|$B/|; s|c\$|o|") 2>/dev/null | awk -v room="$B/$room/" '
	{
		file = substr($1, length(room) + 1)
		sub(/\.o:.*/, "", file)
		if ($(NF - 1) ~ /^[UwWv]$/)
			uses[file, $NF] = 1
		else
			home[$NF] = file
	}
	END {
		for (use in uses) {
			split(use, p, SUBSEP)
			to = home[p[2]]
			if (to != "" && to != p[1])
				names[p[1], to] = names[p[1], to] " " p[2]
		}
		do { # a file that calls none of those left, or that none calls, is in no circle
			split("", calls)
			split("", called)
			for (arrow in names) {
				split(arrow, p, SUBSEP)
				calls[p[1]] = called[p[2]] = 1
			}
			gone = 0
			for (arrow in names) {
				split(arrow, p, SUBSEP)
				if (!(p[2] in calls) || !(p[1] in called)) {
					delete names[arrow]
					gone++
				}
			}
		} while (gone)
		for (arrow in names) {
			split(arrow, p, SUBSEP)
			print "  " p[1] " -> " p[2] ":" names[arrow]
		}
	}' | sort)
	[ -z "$found" ] || {
		echo "circles in $room:"
		echo "$found"
		status=1
	}
done
[ $status = 0 ] && echo "circles: ok"
exit $status
