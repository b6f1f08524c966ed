#!/bin/bash
# loop.sh [ROUNDS [BURNERS]] - runs the tests again and again beside a load, and reports what ever failed:
#
#	tests/loop.sh 50            # 50 rounds beside two busy processes per core, and one that writes
#	T="stale log" tests/loop.sh 100
#	JOBS=8 tests/loop.sh 50 0   # eight programs at once: they are each other's load
#
# The load: BURNERS processes that only compute (twice the cores), and one that writes and syncs a file in
# the temporary folder; with BURNERS 0 neither. JOBS programs run at once (1); each has ports and folders of its own. T names scenarios
# or unit tests; without it, all. What failed is kept whole in the folder that the last lines name. Exit
# code 1 when anything failed.
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-50} burners=${2:-$(($(nproc) * 2))}
mode=${MODE:-release}
folder=$(mktemp -d)
export mode folder
pids=
trap 'kill $pids 2>/dev/null; wait $pids 2>/dev/null; rm -f "$folder/ballast"' EXIT

programs=()
for name in ${T:-}; do
	for program in "build/$mode/tests/test_$name" "build/$mode/scenario/$name"; do
		[ -x "$program" ] && programs+=("$program")
	done
done
if [ -z "${T:-}" ]; then
	make -s MODE="$mode" -j"$(nproc)" test-programs || exit 1
	programs=(build/"$mode"/tests/test_* build/"$mode"/scenario/*)
	programs=("${programs[@]%.d}")
fi
[ ${#programs[@]} -gt 0 ] || { echo "loop.sh: nothing is built by that name; make test T=name builds it" >&2; exit 2; }
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | sort -u)

for ((i = 0; i < burners; i++)); do
	(while :; do :; done) &
	pids="$pids $!"
done
if [ "$burners" -gt 0 ]; then
	(while :; do dd if=/dev/zero of="$folder/ballast" bs=1M count=64 conv=fsync 2>/dev/null; done) &
	pids="$pids $!"
fi

# A program that fails leaves its log; and all, how long they took.
run_one() {
	local log=$folder/$round.${1##*/} begun=${EPOCHREALTIME/./}
	if TWICE=build/$mode/bin/twice KIT_TIME=${KIT_TIME:-3} "$1" >"$log" 2>&1 </dev/null; then
		# Run once more, for the disk hung: that is told.
		grep -a '^void' "$log" | sed "s/^/round $round: ${1##*/}: /"
		rm -f "$log"
	fi
	echo "$((${EPOCHREALTIME/./} - begun)) $1" >>"$folder/took"
}
export -f run_one

declare -A failed
for ((round = 1; round <= rounds; round++)); do
	export round
	start=$SECONDS
	# Programs that took long in the last round begin first, so that none is left alone in the end.
	[ -s "$folder/took" ] && mapfile -t programs < <(sort -rn "$folder/took" | cut -d' ' -f2-)
	: >"$folder/took"
	printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "${JOBS:-1}" bash -c 'run_one "$1"' run_one
	bad=0
	for log in "$folder/$round".*; do
		[ -e "$log" ] || continue
		name=${log##*/"$round".}
		failed[$name]=$((${failed[$name]:-0} + 1))
		bad=$((bad + 1))
		grep -aE '^FAIL|^[^ ]*:[0-9]+:[FE]:' "$log" | sed "s/^/round $round: /"
	done
	echo "round $round: $([ $bad -eq 0 ] && echo all well || echo "$bad failed"), $((SECONDS - start)) s"
done

echo "$rounds rounds of ${#programs[@]} programs ${JOBS:-1} at once, beside $burners burners, MODE=$mode"
for name in "${!failed[@]}"; do echo "  $name failed ${failed[$name]} times"; done
[ ${#failed[@]} -eq 0 ] && { rm -rf "$folder"; exit 0; }
echo "what they said: $folder"
exit 1
