#!/bin/bash
# smoke.sh - runs each bench once, small, so that none rots: each must end with 0, print numbers, and complain of
# nothing. The numbers themselves say nothing at this size. What is not installed (nginx, wrk, strace, valgrind
# and the like) is left out, and the last line names it. BIN and TWICE as in lib.sh.
#
#	make bench-smoke        # T=name: one of them
#	bench/smoke.sh [NAME...]
cd "$(dirname "$0")/.." || exit 1
export BIN=${BIN:-build/release/bench} TWICE=${TWICE:-build/twice}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0 left_out=

# A line for each: the name, the programs that it needs, "-", the command.
benches() {
	cat <<-'LIST'
		abuse curl - bench/abuse.sh 1 1 nobody reset ping
		beats - $BIN/beats 10
		cdn_cache - $BIN/cdn_cache 4000
		cells - env ONLY=nasa bench/cells.sh $folder
		coding - $BIN/coding 0.01
		course - $BIN/filter_course
		family - $BIN/family 20000
		fleet redis-server - env REQUESTS=2000 NODES=2 SECONDS=3 RATE=200 bench/fleet.py mix saved kill
		fleet_zones redis-server redis-cli - env REQUESTS=2000 RATE=250 bench/fleet.py zones
		fetch - $BIN/fetch 2000 1 8
		filter - $BIN/filter 1e5
		flight - $BIN/flight 2
		front h2load openssl curl - env REQUESTS=10000 bench/front.sh 1
		groups - bench/groups.sh 1 1 dead
		held curl - bench/held.sh 2
		heads curl - bench/heads.sh 20 plain cookies query-mixed
		hit curl - bench/hit.sh 1 1
		idle - bench/idle.sh 200 50 2000
		idle_tls openssl - bench/idle_tls.sh 100
		instructions valgrind curl - bench/instructions.sh 200 hit
		kinds - $BIN/kinds 20000 20000 $folder/lines
		large curl - bench/large.sh 1 1
		long_log mawk - env LINES_A_DAY=20000 bench/long_log.sh 0.001
		miss - bench/miss.sh 1 5000
		mix curl - bench/mix.sh 3000
		packed - find docs bench -type f | $BIN/packed
		policy - $BIN/policy --requests 20000
		purge - $BIN/purge 1000
		ram - $BIN/ram 8 5000
		ranges - bench/ranges.py 100
		own_logs - bench/own_logs.py 200 vary two
		reloads curl - env UPGRADES=1 bench/reloads.sh 2 100 10
		saved curl - bench/saved.sh 10000 disk40
		schemes - $BIN/schemes 20000 1
		simulate curl - env PARTS=1 SHARES=40 bench/simulate.sh 10000 20000
		slow curl - bench/slow.sh 2 20000000
		slow_disk strace curl - bench/slow_disk.sh 200 2
		store - $BIN/store 2000
		three - env MIX=20000 SHARES=40 bench/three.sh $folder
		text_mix - bench/text_mix.py 500
		traces - bench/traces.sh $folder
		whatif - $BIN/whatif
		workers - env COUNTS="1 2" bench/workers.sh 1 5000
	LIST
}

# Logs of the two forms that traces.sh takes, small.
make_traces() {
	awk 'BEGIN { print "host\tlogname\ttime\tmethod\turl\tresponse\tbytes"
		for (i = 0; i < 2000; i++) { k = i * i % 97
			printf "h%d\t-\t%d\tGET\t/a/%d.gif\t200\t%d\n", k % 7, 807249601 + i, k, 1000 + k } }' |
		gzip >"$folder/nasa_19950801.tsv.gz"
	awk 'BEGIN { for (i = 0; i < 2000; i++) { k = i * i % 97
		printf "10.0.0.%d - - [01/Aug/2025:%02d:%02d:%02d +0000] \"GET /b/%d.css HTTP/1.1\" 200 %d \"-\" \"x\"\n",
			k % 7, i / 3600, i / 60 % 60, i % 60, k, 2000 + k } }' |
		gzip >"$folder/apache-combined.log.gz"
	awk 'BEGIN { for (i = 0; i < 2000; i++) print i, i * i % 97 }' >"$folder/lines"
}

run_one() { # name, command
	local name=$1 begun=$SECONDS code why=
	shift
	# Far more than any takes: in .ci/run they go at a low priority beside whole suites, and valgrind starts twice in one.
	eval "timeout 180 $*" >"$folder/said" 2>&1 </dev/null
	code=$?
	if [ $code -ne 0 ]; then
		why="exit code $code"
	elif ! grep -v '^#' "$folder/said" | grep -q '[0-9]'; then
		why="it prints no number"
	elif grep -qwE 'nan|inf|division by zero|command not found|wrong or failed|see wrong_bodies|No such file' "$folder/said"; then
		why="what it prints is wrong"
	fi
	sed -n 's/^# \(.*\) is not installed: left out$/\1/p' "$folder/said" >>"$folder/missing"
	if [ -n "$why" ]; then
		failed=$((failed + 1))
		echo "FAIL  $name ($why): $*"
		tail -20 "$folder/said" | sed 's/^/       /'
	else
		passed=$((passed + 1))
		echo "ok    $name ($((SECONDS - begun)) s)"
	fi
}

: >"$folder/missing"
make_traces
while read -r line <&3; do
	name=${line%% *} needs=${line%% - *} command=${line#* - }
	needs=${needs#"$name"}
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	for program in $needs; do
		command -v "$program" >/dev/null && continue
		left_out+=" $name (needs $program)"
		continue 2
	done
	run_one "$name" "$command"
done 3< <(benches)

# Each script and program of bench/ is in the list, or is used by one that is.
for file in bench/*.sh bench/*.c; do
	name=${file##*/} name=${name%.*}
	grep -qE "(^|/)$name( |\.sh|$)" <(benches) || grep -qE "[\"/ ]$name\"?( |\$)|bench/$name\.sh" bench/*.sh ||
		{
			failed=$((failed + 1))
			echo "FAIL  $file: nothing here runs it"
		}
done
missing=$(sort -u "$folder/missing" | tr '\n' ' ')
echo "$SECONDS s; not installed: ${missing:-nothing} left out:${left_out:- none}"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
