#!/bin/bash
# groups.sh - a group of origins that is well, beside one that is not: the times of a client of the
# first, and what the clients of the second get.
#
#	bench/groups.sh [ROUNDS [SECONDS [KIND...]]]      # KIND: see groups.c; all of them
#
# Each round of a kind is run beside one in which the same clients ask the same group while it is well,
# so that the load is the same; hanging and slow, whose clients wait and ask next to nothing, beside the
# client alone. Every other round the two change places. A machine has worse moments than any origin, and
# a p99 is made of them: so the last lines take all rounds together, and say within which bounds each
# ratio stays when any one round is left out. On a machine that is busy with other things
# AHEAD="chrt --fifo 1" lets proxy, clients and origins go before those.
. bench/lib.sh

ROUNDS=${1:-12}
SECONDS_EACH=${2:-3}
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

run() { # kind, of which it is the round, and on which side of the ratio
	local said
	said=$($AHEAD $ASIDE "$BIN/groups" "$PORT" "$SECONDS_EACH" "$1" "$BAD_PORT" "$WORK/times") || die "groups $1 failed"
	echo "$1: $said load=$(cut -d' ' -f1 /proc/loadavg)"
	[ -z "$3" ] || sed "s/^/$round $2 $3 /" "$WORK/times" >>"$WORK/all"
	sleep 1 # for a server that was left alone
}

run well "" "" >/dev/null
for round in $(seq "$ROUNDS"); do
	for kind in $KINDS; do
		case $kind in hanging | slow) beside=alone ;; *) beside=well ;; esac
		if [ $((round % 2)) = 1 ]; then
			run $beside "$kind" beside
			run "$kind" "$kind" bad
		else
			run "$kind" "$kind" bad
			run $beside "$kind" beside
		fi
	done
done

# round kind side what us count
sort -k2,2 -k4,4 -k5,5n "$WORK/all" | awk '
	function quantile(side, share, without,   want, sum, i) {
		want = share * (n[side] - (without ? of[side, without] : 0))
		for (i = 1; i <= values; i++) {
			sum += c[side, i] - (without ? c[side, i, without] : 0)
			if (sum >= want)
				return us[i]
		}
	}
	function ratio(share,   r, all, one, least, most) {
		all = quantile("bad", share) / quantile("beside", share)
		least = most = all
		for (r in rounds) {
			one = quantile("bad", share, r) / quantile("beside", share, r)
			least = one < least ? one : least
			most = one > most ? one : most
		}
		return sprintf("%.2f (%.2f-%.2f)", all, least, most)
	}
	function close_group() {
		if (values)
			printf "%s, %s: %d and %d; us p50 %d beside %d, p99 %d beside %d; ratio p50 %s, p99 %s\n", kind, what,
				n["bad"], n["beside"], quantile("bad", 0.5), quantile("beside", 0.5), quantile("bad", 0.99),
				quantile("beside", 0.99), ratio(0.5), ratio(0.99)
		split("", c); split("", n); split("", of); split("", us); split("", rounds)
		values = 0
	}
	$2 != kind || $4 != what { close_group(); kind = $2; what = $4 }
	{
		if (!values || us[values] != $5)
			us[++values] = $5
		c[$3, values] += $6
		c[$3, values, $1] += $6
		n[$3] += $6
		of[$3, $1] += $6
		rounds[$1]
	}
	END { close_group() }'
