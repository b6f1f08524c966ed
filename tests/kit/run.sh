#!/bin/bash
# run.sh PROGRAM... - runs test programs, JOBS at once (twice the cores): a line for each as
# it ends, all that a failing one said, the ten slowest, and at the end "N passed, N failed" over their single
# tests. What is no program fails too. Checks (*.sh) come first, one by one, for they call make. Then comes what took longest when
# it ran last (build/took, of any mode), so that nothing long is left alone in the end; what never ran comes first.
# By default a program under ThreadSanitizer sleeps for a second before it exits; a scenario is two of them.
TSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp atexit_sleep_ms=0 $TSAN_OPTIONS"
folder=$(mktemp -d)
export TSAN_OPTIONS folder
trap 'rm -rf "$folder"' EXIT
mkdir -p build && touch build/took

run_one() {
	local said start code took counts p f
	said=$(mktemp -p "$folder" said.XXXXXX)
	start=$(date +%s.%N)
	"$1" >"$said" 2>&1 </dev/null
	code=$?
	took=$(echo "$(date +%s.%N) $start" | awk '{ printf "%.1f", $1 - $2 }')
	# check says "95%: Checks: 20, Failures: 1, Errors: 0"; the others "N passed, N failed"
	counts=$(awk '/^[0-9]+%: Checks: / { gsub(/,/, ""); p = $3 - $5 - $7; f = $5 + $7 }
		/[0-9]+ passed, [0-9]+ failed/ { for (i = 2; i <= NF; i++) {
			if ($i ~ /^passed,?$/) p = $(i - 1); if ($i ~ /^failed,?$/) f = $(i - 1) } }
		END { if (p == "") p = '"$code"' == 0; print p + 0, f + 0 }' "$said")
	p=${counts% *} f=${counts#* }
	[ "$code" -eq 0 ] || [ "$f" -gt 0 ] || f=1
	{
		flock 9
		if [ "$f" -gt 0 ]; then
			cat "$said"
			echo "FAIL  ${1##*/} ($f of $((p + f)), ${took}s, exit code $code)"
		else
			grep -a '^void' "$said" # and was run again, for the disk hung
			grep -a 'needs redis-server\|no redis-server' "$said" | sort -u # and was skipped
			echo "ok    ${1##*/} ($p, ${took}s)"
		fi
		echo "$p $f" >>"$folder/counts"
		echo "$took ${1##*/}" >>"$folder/took"
	} 9>>"$folder/lock"
	rm -f "$said"
}
export -f run_one

longest_first() {
	printf '%s\n' "$@" | awk '!programs { took[$2] = $1; next }
		{ n = $0; sub(/.*\//, "", n); print (n in took) ? took[n] : 1e6, $0 }' build/took programs=1 - |
		sort -s -k 1,1nr | cut -d ' ' -f 2-
}

programs=()
for program; do
	case $program in
	*.sh) run_one "$program" ;;
	*) programs+=("$program") ;;
	esac
done
[ ${#programs[@]} -eq 0 ] || longest_first "${programs[@]}" | tr '\n' '\0' |
	xargs -0 -n 1 -P "${JOBS:-$(($(nproc) * 2))}" bash -c 'run_one "$1"' run_one
touch "$folder/counts" "$folder/took"
[ $# -le 10 ] || echo "slowest: $(sort -rn "$folder/took" | awk 'NR <= 10 { printf("%s%s %s s", (NR > 1 ? ", " : ""), $2, $1) }')"
sort -k 2,2 -s -u "$folder/took" build/took >"$folder/all" && mv "$folder/all" build/took
awk '{ p += $1; f += $2 } END { print p + 0 " passed, " f + 0 " failed"; exit !(p > 0 && f == 0 && NR == '$#') }' "$folder/counts"
