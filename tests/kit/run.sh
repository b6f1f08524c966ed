#!/bin/sh
# run.sh PROGRAM... - runs test programs one after the other: a line for each, all that a failing one
# said, and at the end "N passed, N failed" over their single tests. What is no program fails too.
# By default a program under ThreadSanitizer sleeps for a second before it exits; a scenario is two of them.
TSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp atexit_sleep_ms=0 $TSAN_OPTIONS"
export TSAN_OPTIONS
passed=0 failed=0
said=$(mktemp)
trap 'rm -f "$said"' EXIT
for program; do
	start=$(date +%s.%N)
	$program >"$said" 2>&1 </dev/null
	code=$?
	took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
	# check says "95%: Checks: 20, Failures: 1, Errors: 0"; the others "N passed, N failed"
	counts=$(awk '/^[0-9]+%: Checks: / { gsub(/,/, ""); p = $3 - $5 - $7; f = $5 + $7 }
		/[0-9]+ passed, [0-9]+ failed/ { for (i = 2; i <= NF; i++) {
			if ($i ~ /^passed,?$/) p = $(i - 1); if ($i ~ /^failed,?$/) f = $(i - 1) } }
		END { if (p == "") p = '"$code"' == 0; print p + 0, f + 0 }' "$said")
	p=${counts% *} f=${counts#* }
	[ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	if [ "$f" -gt 0 ]; then
		cat "$said"
		echo "FAIL  ${program##*/} ($f of $((p + f)), ${took}s, exit code $code)"
	else
		echo "ok    ${program##*/} ($p, ${took}s)"
	fi
	passed=$((passed + p)) failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
