#!/bin/bash
# groups.sh - a group of origins that is well, beside one that is not: the times of a client of the
# first, and what the clients of the second get.
#
#	bench/groups.sh [ROUNDS [SECONDS [KIND...]]]      # KIND: see groups.c; all of them
#
# Each round of a kind is run behind one in which the same clients ask the same group while it is well,
# so that the load is the same. The last lines are medians of the ratios within a round, of hanging and
# slow, whose clients wait and ask next to nothing, to the client alone. On a machine
# that is busy with other things AHEAD="chrt --fifo 1" lets proxy, clients and origins go before those.
. bench/lib.sh

ROUNDS=${1:-5}
SECONDS_EACH=${2:-5}
shift $(($# > 2 ? 2 : $#))
KINDS=${*:-dead hanging resetting slow flapping}

machine
echo "# bench/groups.sh $ROUNDS $SECONDS_EACH $KINDS${AHEAD:+  AHEAD=\"$AHEAD\"}"
ASIDE="${AHEAD:-} $ASIDE" start_origin
BAD_PORT=$(free_port) PORT=$(free_port)
cat >"$WORK/twice.yaml" <<-EOF
	listen: [ "127.0.0.1:$PORT" ]
	admin: off
	workers: 1
	origins:
	  - { name: good, url: "http://127.0.0.1:$ORIGIN_PORT" }
	  - name: bad
	    url: http://127.0.0.1:$BAD_PORT
	    connect_timeout: 1s
	    first_byte_timeout: 2s
	    queue: 64
	routes:
	  - { path: /bad/, origin: bad }
	cache: { dir: $WORK/cache, disk: 256MiB, memory: 64MiB }
EOF
mkdir -p "$WORK/cache"
AHEAD=${AHEAD:-}
$AHEAD $PIN "$TWICE" run -c "$WORK/twice.yaml" 9>&- 2>"$WORK/twice.log" &
PROXY=$!
PIDS="$PIDS $PROXY"
wait_port "$PORT"

run() { # kind
	local said
	said=$($AHEAD $ASIDE "$BIN/groups" "$PORT" "$SECONDS_EACH" "$1" "$BAD_PORT") || die "groups $1 failed"
	echo "$1: $said load=$(cut -d' ' -f1 /proc/loadavg)" | tee -a "$WORK/lines"
	sleep 1 # for a server that was left alone
}

run well >/dev/null
for round in $(seq "$ROUNDS"); do
	run alone
	for kind in $KINDS; do
		run well
		run "$kind"
	done
done

awk '
	{
		kind = $1; sub(":", "", kind)
		for (i = 2; i <= NF; i++) { split($i, w, "="); v[w[1]] = w[2] }
		if (kind == "well" || kind == "alone") {
			for (k in v) ref[kind, k] = v[k]
			next
		}
		n[kind]++
		to[kind] = kind == "hanging" || kind == "slow" ? "alone" : "well"
		split("hit_p50 hit_p99 miss_p50 miss_p99", names, " ")
		for (i = 1; i <= 4; i++) ratio[kind, names[i], n[kind]] = v[names[i]] / ref[to[kind], names[i]]
		failed[kind] += v["failed"]
	}
	function median(kind, name,   c, i, j, t, a) {
		c = n[kind]
		for (i = 1; i <= c; i++) a[i] = ratio[kind, name, i]
		for (i = 1; i <= c; i++) for (j = i + 1; j <= c; j++) if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t }
		return sprintf("%.2f (%.2f-%.2f)", c % 2 ? a[(c + 1) / 2] : (a[c / 2] + a[c / 2 + 1]) / 2, a[1], a[c])
	}
	END {
		for (kind in n)
			printf "ratio to %s, %s: hit p50 %s, p99 %s; miss p50 %s, p99 %s; failed %d\n", to[kind], kind,
				median(kind, "hit_p50"), median(kind, "hit_p99"),
				median(kind, "miss_p50"), median(kind, "miss_p99"), failed[kind]
	}' "$WORK/lines"
