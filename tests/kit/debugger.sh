#!/bin/sh
# debugger.sh - gdb at a breakpoint prints the functions and lines that led there: in a unit test, and in the
# proxy of a scenario (attach.sh), which goes on when gdb leaves it. TWICE=build/release/bin/twice
cd "$(dirname "$0")/../.." || exit 1
TWICE=${TWICE:-build/release/bin/twice}
B=${TWICE%/bin/twice}
export TWICE
said=$(mktemp)
trap 'rm -f "$said"' EXIT
passed=0 failed=0
left_out() {
	echo "debugger.sh: left out, $1"
	echo "0 passed, 0 failed"
	exit 0
}
shows() { # what must be shown, as a pattern
	if grep -qE "$1" "$said"; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "debugger.sh: nothing of \"$1\" in:"
		cut -c 1-160 "$said" | sed 's/^/	/'
	fi
}
command -v gdb >/dev/null || left_out "there is no gdb"
gdb -batch -ex run -ex 'print $_exitcode' /bin/true 2>&1 </dev/null | grep -q 'exited normally' ||
	left_out "gdb cannot run a program here"

CK_FORK=no gdb -nx -batch -ex 'break freshness_lifetime' -ex run -ex bt -ex kill "$B/tests/test_freshness" \
	>"$said" 2>&1 </dev/null
shows '^#0 .*freshness_lifetime \(.* at proxy/http/freshness\.c:[0-9]+'
shows '^#[1-9].* lifetime_fn \(.* at tests/unit/test_freshness\.c:[0-9]+'
shows '^#[1-9].* main \(.* at tests/unit/test_freshness\.c:[0-9]+'

KIT_ONLY="an answer other than 304 replaces the stale one" tests/kit/attach.sh "$B/scenario/conditional" -nx -batch \
	-ex 'break main' -ex continue -ex bt -ex 'delete 1' -ex 'break policy_storable' -ex continue -ex bt -ex detach \
	>"$said" 2>&1 </dev/null
shows '^#0  main \(.* at proxy/cli/main\.c:[0-9]+'
shows '^#0 .*policy_storable.* at proxy/http/policy\.c:[0-9]+'
shows '^#[1-9].* at proxy/serve/[a-z_]+\.c:[0-9]+'
shows '^#[1-9].* worker_run .* at proxy/node/worker\.c:[0-9]+'
shows ': 1 passed, 0 failed'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
