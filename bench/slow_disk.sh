#!/bin/bash
# slow_disk.sh - what hits in RAM take while every read of the disk takes 200 ms: strace holds each read
# for that long, and says that the page cache has nothing. 16 clients ask for objects that only the disk has;
# one client asks for what RAM has, and its times are told, without and with the others.
#
#	bench/slow_disk.sh [REQUESTS [MILLISECONDS]]
. bench/lib.sh

REQUESTS=${1:-20000}
MS=${2:-200}
HOT=20 COLD=1500 COLD_BYTES=30000 READERS=16
need strace "apt-get install strace"
need curl "apt-get install curl"

machine
start_origin
start_twice "$WORK/cache" 1GiB 8MiB 2 "$PIN strace -D -f --seccomp-bpf -qq -o $WORK/strace
	-e trace=pread64,preadv2,mincore -e inject=pread64:delay_enter=${MS}000 -e inject=preadv2:error=EAGAIN
	-e inject=mincore:error=ENOMEM"

urls() { # count, of, first number, bytes: a list for curl
	awk -v n="$1" -v of="$2" -v first="$3" -v bytes="$4" -v port="$PORT" -v dir="$WORK" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "url = http://127.0.0.1:%d/cdn/%016x/%d\noutput = /dev/null\n", port, first + i % of, bytes }'
}
times() { # name: of the hits in RAM, in milliseconds
	curl -s -K "$WORK/hot" -w '%{time_total} %header{cache-status}\n' >"$WORK/times"
	[ "$(grep -c 'hit.*detail=ram' "$WORK/times")" -eq "$REQUESTS" ] || die "not all of them were hits in RAM"
	sort -n "$WORK/times" | awk -v what="$1" '{ t[NR] = $1 * 1000 } END {
		printf "%s: %d hits in RAM, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, longest %.2f ms\n", what,
			NR, t[int(NR * .5)], t[int(NR * .99)], t[int(NR * .999)], t[NR] }'
}

# Twice, so that it is on disk; the RAM tier has room for a sixth of it.
urls $COLD $COLD 100000 $COLD_BYTES >"$WORK/cold"
urls "$REQUESTS" $HOT 1 1000 >"$WORK/hot"
curl -s -K "$WORK/cold" && curl -s -K "$WORK/cold"
curl -s -K "$WORK/hot"
times "quiet"
readers=
for r in $(seq $READERS); do
	shuf -n 400 --random-source=<(yes "$r") <(grep '^url' "$WORK/cold") |
		sed 'a output = /dev/null' >"$WORK/cold.$r"
	curl -s -K "$WORK/cold.$r" -w '%{stderr}%{time_total} %header{cache-status}\n' 2>"$WORK/cold.out.$r" &
	readers="$readers $!"
done
PIDS="$PIDS $readers"
times "beside $READERS clients of a disk whose reads take $MS ms"
kill $readers 2>/dev/null
wait $readers 2>/dev/null
sort -n "$WORK"/cold.out.* | grep 'detail=disk' | awk '{ t[NR] = $1 * 1000 } END {
	printf "their hits on disk: %d, p50 %.0f ms, longest %.0f ms\n", NR, t[int(NR * .5 + .5)], t[NR] }'
