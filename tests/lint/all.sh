#!/bin/sh
# all.sh FILE... - everything that `make lint` holds against the sources: B=build/release tests/lint/all.sh FILE...
# The files named are those that `make format` keeps in form.
cd "$(dirname "$0")/../.." || exit 1
status=0
tests/lint/layers.sh || status=1
tests/lint/pure.sh || status=1
tests/lint/exports.sh || status=1
tests/lint/circles.sh || status=1
tests/lint/gates.sh || status=1
tests/lint/pages.sh || status=1
tests/lint/calls.sh || status=1
tests/lint/commits.sh || status=1
# shellcheck disable=SC2046 # names without spaces
awk -f tests/lint/shape.awk $(printf '%s\n' "$@" | grep '\.c$') || status=1
wrong=$(clang-format --dry-run "$@" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning.*//p' | sort -u)
[ -z "$wrong" ] || {
	echo "make format would change:" $wrong
	status=1
}
# Each of these can say no.
tests/lint/can_fail.sh || status=1
[ $status = 0 ] || echo "lint: failed, see above"
exit $status
