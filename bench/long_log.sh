#!/bin/bash
# long_log.sh - does `twice simulate` keep to its memory, however long a log is? Makes a gzipped log in the
# combined format that grows from size to size, each day of it with a quarter of new URLs, and simulates it
# at each. With memory that does not grow the lines alone set how long a log of 50 GB takes.
#
#	bench/long_log.sh [GB ...]		compressed; the default is 0.1 0.5
. bench/lib.sh
[ $# -gt 0 ] || set -- 0.1 0.5
LINES_A_DAY=${LINES_A_DAY:-2000000}
MEMORY=${MEMORY:-2GiB} # what the simulation may take

day() { # number: of ten URLs asked for, six are of the popular ones of all days, one is of this day's, three are new
	mawk -v day="$1" -v n="$LINES_A_DAY" -v seed="$1" 'BEGIN {
		srand(seed)
		for (i = 0; i < 2000; i++)
			agent[i] = sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:%d.%d) Gecko/20100101 Firefox/%d.%d", rand() * 150, rand() * 9, rand() * 150, rand() * 9)
		begin = 1750000000 + day * 86400; last = -1
		for (i = 0; i < n; i++) {
			second = int(i * 86400 / n)
			if (second != last) { last = second; stamp = strftime("%d/%b/%Y:%H:%M:%S +0000", begin + second, 1) }
			r = rand()
			if (r < 0.3) { name = "new/" day "/" i; k = i }
			else if (r < 0.4) { k = int(exp(rand() * log(100000))); name = "day/" day "/" k }
			else { k = int(exp(rand() * log(20000000))); name = "all/" k }
			size = 200 + int(exp(((k * 2654435761) % 1000003) / 1000003 * 12))
			printf "%d.%d.%d.%d - - [%s] \"GET /media/%s-%x.jpg?width=%d HTTP/1.1\" 200 %d \"https://www.example.com/section/%d/page-%d.html\" \"%s\"\n", \
				rand() * 223 + 1, rand() * 256, rand() * 256, rand() * 256, stamp, name, (k * 40503) % 16777216, k % 7 * 100 + 200, size, rand() * 40, rand() * 90000, agent[int(rand() * 2000)]
		}
	}' </dev/null
}

machine
log=$WORK/access.log.gz
days=0
for gb; do
	most=$(awk -v gb="$gb" 'BEGIN { printf "%d", gb * 1e9 }')
	while [ "$(stat -c %s "$log" 2>/dev/null || echo 0)" -lt "$most" ]; do
		day $days | gzip -1 >>"$log"
		days=$((days + 1))
	done
	"$TWICE" simulate --disk 10% --use-memory "$MEMORY" --json "$log" >"$WORK/json" 2>"$WORK/says" &
	pid=$!
	began=$SECONDS peak=0
	while now=$(awk '/VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
		peak=$now
		sleep 0.2
	done
	wait $pid || die "the simulation failed: $(tail -1 "$WORK/says")"
	awk -v gb="$(stat -c %s "$log")" -v n=$((days * LINES_A_DAY)) -v s=$((SECONDS - began)) -v kib="$peak" -v days=$days 'BEGIN {
		printf "%.2f GB compressed, %d days, %.0f M lines: %d s (%.1f M lines a minute), at most %.2f GiB of memory\n",
			gb / 1e9, days, n / 1e6, s, n / 1e6 / (s > 0 ? s : 1) * 60, kib / 1048576 }'
	grep -m1 '"sample' "$WORK/json"
done
