#!/bin/sh
# deb.sh OUT - builds the packages for Debian in a copy of the tree, and puts them into the folder OUT. Their version is that of
# the tree (.ci/version), and the program of the packages says the same. DEB_HOST_ARCH=arm64 builds them for another architecture
# with Debian's cross compiler; the program writes its own manual pages, so the kernel must be able to run it (qemu-user-static).
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
cross=
case ${DEB_HOST_ARCH:=$(dpkg --print-architecture)} in
"$(dpkg --print-architecture)") .ci/deps deb ;;
*) cross="-a $DEB_HOST_ARCH -Pcross,nocheck" ;;
esac
# shellcheck disable=SC2086 # a list of words
dpkg-checkbuilddeps $cross debian/control || {
	[ -z "$cross" ] || echo "apt-get build-dep $cross . installs that, behind dpkg --add-architecture $DEB_HOST_ARCH" >&2
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
# shellcheck disable=SC2086 # a list of words
dpkg-buildpackage $cross -us -uc -b --no-check-builddeps >"$work/log" 2>&1 || {
	tail -40 "$work/log"
	exit 1
}
rm -f "$out"/*.deb
mv "$work"/*.deb "$out"
ls "$out"/*.deb
