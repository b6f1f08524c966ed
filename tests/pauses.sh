#!/bin/bash
# pauses.sh [ROUNDS [BURNERS]] - runs scenarios and unit tests while their processes stand still now and then:
#
#	tests/pauses.sh                # one round of all that is built, beside two busy processes
#	T="limits health" tests/pauses.sh 5
#	MODE=asan tests/pauses.sh
#
# Three times a second one process of the tests, whichever, is frozen for 0.5 to 1.5 s, by the freezer of
# cgroups (of either version; as root): what it stops does not see it, unlike SIGSTOP, of which a parent
# hears. JOBS programs run at once (twice the cores). The last lines tell how many pauses there were and
# which programs failed; what those said is kept in the folder that is named. Exit code 1 when one failed.
cd "$(dirname "$0")/.." || exit 1
rounds=${1:-1} burners=${2:-2}
build=build/${MODE:-release}
folder=$(mktemp -d)
name=twice-pauses.$$
export build folder

programs=()
for test in ${T:-}; do
	for program in "$build/tests/test_$test" "$build/scenario/$test"; do
		[ -x "$program" ] && programs+=("$program")
	done
done
[ -n "${T:-}" ] || programs=("$build"/tests/test_* "$build"/scenario/*)
mapfile -t programs < <(printf '%s\n' "${programs[@]}" | grep -v '\.[do]$' | sort -u)
[ -x "${programs[0]}" ] || { echo "pauses.sh: nothing is built by that name; make test-programs builds it" >&2; exit 2; }

# A group of processes for all tests, and three beside it, in each of which one process at a time is frozen.
pids=cgroup.procs
if [ -d /sys/fs/cgroup/freezer ]; then
	group=/sys/fs/cgroup/freezer/$name freezer=freezer.state frozen=FROZEN thawed=THAWED
else
	group=/sys/fs/cgroup/$name freezer=cgroup.freeze frozen=1 thawed=0
fi
mkdir -p "$group/run" "$group/still1" "$group/still2" "$group/still3" || exit 2

thaw() { # GROUP: what is in it goes on, in the group of all
	local pid
	echo "$thawed" >"$1/$freezer"
	while read -r pid; do echo "$pid" >"$group/run/$pids"; done 2>/dev/null <"$1/$pids"
}

others=
end() {
	kill $others 2>/dev/null
	wait $others 2>/dev/null
	for i in 1 2 3; do thaw "$group/still$i"; done
	# Processes of the last test may still be ending.
	for i in {1..50}; do
		rmdir "$group"/still? "$group/run" "$group" 2>/dev/null
		[ -d "$group" ] || break
		sleep 0.1
	done
}
trap end EXIT

for ((i = 0; i < burners; i++)); do
	(while :; do :; done) &
	others="$others $!"
done

# One process into the group GROUP, which is frozen for a while and lets it go again. Of three processes
# one stands still at most: who tests a single program would hardly see it move.
pause_one() { # GROUP NUMBER
	local all pid
	mapfile -t all <"$group/run/$pids"
	[ ${#all[@]} -ge $((3 * $2)) ] || return
	pid=${all[RANDOM % ${#all[@]}]}
	# The shells that start programs are none of the tests.
	[[ $(readlink "/proc/$pid/exe" 2>/dev/null) == "$PWD/$build"/* ]] || return
	echo "$pid" >"$1/$pids" || return
	echo "$frozen" >"$1/$freezer"
	sleep "$(awk -v r=$RANDOM 'BEGIN { print 0.5 + r / 32768 }')"
	thaw "$1"
	echo >>"$folder/pauses"
}
for i in 1 2 3; do
	(while sleep 0.02; do pause_one "$group/still$i" "$i" 2>/dev/null; done) &
	others="$others $!"
done

# A program that fails leaves its log.
run_one() {
	local log=$folder/$round.${1##*/}
	if (
		echo "$BASHPID" >"$group/run/$pids"
		TWICE=$build/bin/twice KIT_TIME=${KIT_TIME:-8} exec "$1" >"$log" 2>&1 </dev/null
	); then
		rm -f "$log"
	fi
}
export -f run_one
export group pids
export TSAN_OPTIONS="suppressions=$PWD/tests/kit/tsan.supp atexit_sleep_ms=0 ${TSAN_OPTIONS:-}"

for ((round = 1; round <= rounds; round++)); do
	export round
	start=$SECONDS
	printf '%s\0' "${programs[@]}" |
		xargs -0 -n 1 -P "${JOBS:-$(($(nproc) * 2))}" bash -c 'run_one "$1"' run_one
	echo "round $round: $((SECONDS - start)) s"
done

echo "$rounds rounds of ${#programs[@]} programs, $(cat "$folder/pauses" 2>/dev/null | wc -l) pauses, beside $burners busy processes, $build"
failed=$(find "$folder" -name '[0-9]*.*' | sort)
[ -n "$failed" ] || { echo "none failed"; rm -rf "$folder"; exit 0; }
for log in $failed; do
	echo "FAILED ${log##*/}"
	grep -aE -A2 '^FAIL|^[^ ]*:[0-9]+:[FE]:' "$log"
done
echo "what they said: $folder"
exit 1
