#!/bin/bash
# workers.sh - does a request cost more when there are more workers? CPU per hit, per unique miss and in the CDN mix with
# 1, 2, 4 and 16 workers, and how many of their locks were contended: a mutex that is taken calls the
# kernel (futex) only when somebody else holds it, so futex calls per 1,000 requests count just that.
# With fewer cores than workers, contention is what preemption makes of it: a lock that is held when its
# thread loses the core.
#
#	bench/workers.sh [ROUNDS [REQUESTS]]     KINDS="hit miss mix", COUNTS="1 2 4 16"
. bench/lib.sh
PIN= ASIDE=

ROUNDS=${1:-3}
REQUESTS=${2:-60000}
COUNTS=${COUNTS:-"1 2 4 16"}

start_origin
for w in $COUNTS; do
	WORKERS=$w start_twice "$WORK/twice-$w" 1GiB 64MiB 2
	eval "pid_$w=$PROXY port_$w=$PORT"
done

SEED=0
play() { # port, kind: the load, from as many threads as there are cores
	local what="--same 2000 --bytes 1024"
	[ "$2" = miss ] && what="--unique 1024"
	[ "$2" = mix ] && what=--cdn
	"$BIN/load" --port "$1" $what --requests "$REQUESTS" --connections 64 --threads "$(nproc)" \
		--seed "$((++SEED))$RANDOM" >"$WORK/load.out" || cat "$WORK/load.out" >&2
}

cost() { # workers, kind: microseconds of CPU per request
	local pid port cpu
	eval "pid=\$pid_$1 port=\$port_$1"
	cpu=$(cpu_us "$pid")
	play "$port" "$2"
	awk -v c="$(($(cpu_us "$pid") - cpu))" -v n="$(value requests "$WORK/load.out")" \
		'BEGIN { printf "%.2f", c / n }'
}

futexes() { # workers, kind: futex calls per 1,000 requests
	local pid port
	eval "pid=\$pid_$1 port=\$port_$1"
	strace -f -c -e trace=futex -o "$WORK/strace" -p "$pid" 2>/dev/null &
	local tracer=$!
	until grep -q "^TracerPid:.*$tracer" "/proc/$pid/status" 2>/dev/null; do kill -0 $tracer || return; done
	play "$port" "$2"
	kill -INT $tracer
	wait $tracer
	awk -v n="$(value requests "$WORK/load.out")" '/futex/ { printf "%.1f", $4 * 1000 / n }' "$WORK/strace"
}

machine
echo "# CPU microseconds per request by number of workers; futex calls per 1,000 requests"
for kind in ${KINDS:-hit miss mix}; do
	for w in $COUNTS; do # warm
		eval "port=\$port_$w costs_$w="
		play "$port" $kind
	done
	for _ in $(seq "$ROUNDS"); do # by turns: what the disk does meanwhile meets all
		for w in $COUNTS; do eval "costs_$w=\"\$costs_$w $(cost "$w" $kind)\""; done
	done
	for w in $COUNTS; do
		eval "costs=\$costs_$w"
		# shellcheck disable=SC2086,SC2154 # numbers
		printf '%-5s %2d workers  us %s' $kind "$w" "$(printf '%s\n' $costs | sort -n | tr '\n' ' ')"
		command -v strace >/dev/null && printf ' futexes/1000 %s' "$(futexes "$w" $kind)"
		echo
	done
done
