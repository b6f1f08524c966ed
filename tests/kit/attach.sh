#!/bin/bash
# attach.sh SCENARIO [GDB-ARGUMENT...] - runs a scenario whose proxy waits for a debugger, and gdb on that proxy:
#
#	KIT_ONLY="fresh hit" TWICE=build/debug/bin/twice tests/kit/attach.sh build/debug/scenario/basics
#
# The proxy has been loaded and has not run: without arguments gdb lets it run to main. What leaves gdb goes on
# by itself. The limits of time of the scenario are lifted (KIT_TIME), those of the proxy are not. A program
# of several scenarios starts several proxies, and gdb gets one after the other; KIT_ONLY names one of them.
program=$1
shift
[ $# -gt 0 ] || set -- -q -ex 'tbreak main' -ex continue
log=$(mktemp)
scenario=
trap 'rm -f "$log"; [ -z "$scenario" ] || kill "$scenario" 2>/dev/null' EXIT

KIT_ATTACH=1 KIT_TIME=${KIT_TIME:-1000} "$program" >"$log" 2>&1 </dev/null &
scenario=$!
seen=0
while :; do
	over=$(kill -0 "$scenario" 2>/dev/null || echo yes) # asked for before the log is read
	pid=$(sed -n 's/^the proxy waits for a debugger: gdb -p //p' "$log" | sed -n "$((seen + 1))p")
	if [ -n "$pid" ]; then
		seen=$((seen + 1))
		gdb -ex 'handle SIGSTOP nostop noprint nopass' -p "$pid" "$@" # it is stopped already
		kill -CONT "$pid" 2>/dev/null # where gdb could not
	elif [ -n "$over" ]; then
		break
	else
		sleep 0.1
	fi
done
wait "$scenario"
code=$?
scenario=
grep -v '^the proxy waits' "$log"
exit $code
