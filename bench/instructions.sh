#!/bin/bash
# instructions.sh - instructions of the proxy's worker, without the kernel's, per hit and per miss of 1 KiB on a
# keep-alive connection, counted by valgrind: what a busy machine does not change. Other threads are left
# out: what they do goes by time, of which valgrind takes much. One request comes after the other, and each
# that valgrind makes slow enough is a sample of `twice top`, which costs about 1,600: about 500 a second are, so a
# busy machine counts more. Compare builds where nothing else runs. What hardening costs is the difference to a
# build without:
#
#	make && bench/instructions.sh; make clean; make HARDEN= && bench/instructions.sh
#
#	bench/instructions.sh [REQUESTS [WHAT...]]     WHAT: hit miss; both. SIGHTINGS: 2
. bench/lib.sh
need curl "apt-get install curl"
need valgrind "apt-get install valgrind"

REQUESTS=${1:-4000}
shift $(($# > 0))

count() { # requests, what the URLs differ in: a fragment (hits) or a query (misses)
	rm -f "$WORK"/counted*
	start_twice "$WORK/cache" 64MiB 32MiB "${SIGHTINGS:-2}" "valgrind --tool=callgrind --separate-threads=yes --callgrind-out-file=$WORK/counted"
	curl -s -o /dev/null "http://127.0.0.1:$PORT/cdn/0123456789abcdef/1024#[1-3]"
	curl -s -o /dev/null "http://127.0.0.1:$PORT/cdn/0123456789abcdef/1024$2[1-$1]"
	callgrind_control --dump "$PROXY" >/dev/null 2>&1 # what saves and frees at the end is no request's
	dumped=$(grep -l h1_parse_request "$WORK"/counted.1-*)
	stop "$PROXY"
	rm -rf "$WORK/cache"
	awk '/^(totals|summary):/ { n = $2 } END { print n }' "$dumped"
}

machine
start_origin
for what in ${*:-hit miss}; do
	mark='#'
	[ $what = hit ] || mark='?'
	few=$(count 500 "$mark") many=$(count $((REQUESTS + 500)) "$mark")
	echo "$what $(((many - few) / REQUESTS)) instructions"
done
exit 0
