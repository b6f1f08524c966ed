#!/bin/sh
# deb.sh OUT - builds the packages for Debian in a copy of the tree, and puts them into the folder OUT. Their version is that of
# the tree (.ci/version), and the program of the packages says the same.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
missing=$(dpkg-checkbuilddeps debian/control 2>&1) || {
	echo "$missing; install it: apt-get install debhelper, and .ci/deps build" >&2
	exit 1
}
version=$(.ci/version)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/twice"
{ [ -e .git ] && git ls-files -z 2>/dev/null || find . -path ./build -prune -o ! -type d -print0; } |
	tar -c --null -T - | tar -x -C "$work/twice"
cd "$work/twice"
echo "$version" >.version
sed -i "1s/(.*)/($version)/" debian/changelog
dpkg-buildpackage -us -uc -b --no-check-builddeps >"$work/log" 2>&1 || {
	tail -40 "$work/log"
	exit 1
}
rm -f "$out"/*.deb
mv "$work"/*.deb "$out"
ls "$out"/*.deb
