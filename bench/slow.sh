#!/bin/bash
# slow.sh - a 5 GB object: first to a client that reads 1 MB/s, then to one that reads as fast as it
# can and checks every byte. Memory must stay bounded, and the origin must be read no faster than
# the client reads.
#
#	bench/slow.sh [SECONDS [BYTES]]
. bench/lib.sh

SLOW_SECONDS=${1:-15}
BYTES=${2:-5368709120}

machine
start_origin
start_twice "$WORK/cache" 1GiB 64MiB 2
curl -s -o /dev/null "http://127.0.0.1:$PORT/cdn/0000000000000001/100000"
before=$(rss_kib "$PROXY")

watch_peak() { # pid: the highest RSS while that process runs
	local peak=0 now
	while kill -0 "$1" 2>/dev/null; do
		now=$(rss_kib "$PROXY")
		[ "${now:-0}" -gt "$peak" ] && peak=$now
		sleep 0.2
	done
	echo "$peak"
}
grown() {
	awk -v a="$1" -v b="$before" 'BEGIN { printf "%.1f MiB above the %.1f MiB of an idle proxy", (a - b) / 1024, b / 1024 }'
}

curl -s -o "$WORK/slow.out" -m "$SLOW_SECONDS" --limit-rate 1M \
	"http://127.0.0.1:$PORT/cdn/0000000000000002/$BYTES" &
reader=$!
PIDS="$PIDS $reader"
echo "slow reader, ${SLOW_SECONDS} s: peak $(grown "$(watch_peak "$reader")");" \
	"read $(($(stat -c %s "$WORK/slow.out") / 1000000)) MB, from the origin $(($(stats from_origin) / 1000000)) MB"
rm -f "$WORK/slow.out"

$ASIDE "$BIN/load" --port "$PORT" --same 1 --bytes "$BYTES" --requests 1 --connections 1 >"$WORK/fast" &
reader=$!
PIDS="$PIDS $reader"
echo "fast reader: peak $(grown "$(watch_peak "$reader")");" "$(cat "$WORK/fast")"
