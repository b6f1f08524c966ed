#!/bin/sh
# install.sh - `make install` puts everything below PREFIX, and `make uninstall` leaves nothing there.
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
must() { # what must be true, then a command
	what=$1
	shift
	if "$@"; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "install.sh: $what"
	fi
}

must "make install failed" make -s install DESTDIR="$place" PREFIX=/opt/t
must "the program is not there, or does not run" "$place/opt/t/bin/twice" --version
for paper in README.md CHANGELOG.md LICENSE docs/*; do
	must "$paper is not there" test -s "$place/opt/t/share/doc/twice/$paper"
done
outside=$(find "$place" ! -type d ! -path "$place/opt/t/*")
must "files outside of PREFIX: $outside" test -z "$outside"
must "make uninstall failed" make -s uninstall DESTDIR="$place" PREFIX=/opt/t
left=$(find "$place" ! -type d)
must "make uninstall leaves: $left" test -z "$left"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
