#!/bin/bash
# deb.sh [FOLDER] - tries the packages that `make deb` has put into FOLDER (build/deb) in a fresh system: install, start,
# upgrade with a changed configuration, remove, purge. It needs root, debootstrap and a mirror of Debian, and takes minutes,
# so it is no part of `make test`. DEB_BASE names a folder in which the fresh system is kept for the next time.
cd "$(dirname "$0")/.." || exit 1
debs=$(realpath "${1:-build/deb}")
skip() { echo "skipped: $1: 0 passed, 0 failed"; exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can make a fresh system"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
[ -n "$(find "$debs" -name 'twice_*.deb' 2>/dev/null)" ] || skip "there are no packages in $debs: make deb"

work=$(mktemp -d)
root=$work/root
proxy=
end() {
	[ -z "$proxy" ] || kill "$proxy" 2>/dev/null
	umount "$root/proc" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap end EXIT
passed=0 failed=0
must() { # what must be true, then a command
	local says=$1
	shift
	if "$@" >"$work/out" 2>&1; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "FAIL: $says"
		tail -15 "$work/out"
	fi
}
inside() { DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" "$@"; }
not() { ! "$@"; }
has() { grep -q -- "$1" "$root/$2"; }

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
base=${DEB_BASE:-$work/base}
[ -e "$base/bin/sh" ] || debootstrap --variant=minbase "$suite" "$base" >"$work/out" 2>&1 ||
	{ tail -3 "$work/out"; skip "no fresh system can be had"; }
cp -a "$base" "$root"
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc" || skip "proc cannot be mounted"
mkdir "$root/debs"
cp "$debs"/twice_*.deb "$debs"/libtwice-filter*.deb "$root/debs/"
rm -f "$root"/debs/*dbgsym*
inside apt-get update -q >"$work/out" 2>&1 || { tail -3 "$work/out"; skip "the mirror cannot be reached"; }
if command -v lintian >/dev/null; then
	must "lintian finds errors" lintian --allow-root --fail-on error "$root"/debs/*.deb
fi

# ---- install and start, in a system without systemd ---------------------------------------------
must "it does not install" inside apt-get install -y -q --no-install-recommends $(cd "$root" && ls debs/*.deb | sed 's,^,/,')
must "there is no user twice" inside id twice
version=$(inside dpkg-query -W -f '${Version}' twice)
must "the program says another version than its package" test "$(inside twice --version)" = "twice $version"
in_papers() { zgrep -q "$1" "$root/usr/share/doc/twice/$2"; }
must "the changelog of Debian does not begin with that version" in_papers "^twice ($version)" changelog.gz
must "CHANGELOG.md is not there" in_papers "^## ${version%%[~+]*}" CHANGELOG.md.gz
must "check finds something in the configuration of the package" inside twice check -c /etc/twice.yaml
must "the library is not found" sh -c "chroot '$root' ldconfig -p | grep -q libtwice-filter.so.0"
libdir=$(chroot "$root" dpkg -L libtwice-filter-dev | sed -n 's,/libtwice-filter\.so$,,p')
must "pkg-config would look elsewhere" grep -q "^libdir=.*${libdir#/usr}\$" "$root$libdir/pkgconfig/twice-filter.pc"

# Ports are not ours alone here: the administrator's change, which upgrades have to keep.
sed -i -e 's/127.0.0.1:8080/127.0.0.1:0/' "$root/etc/twice.yaml"
echo 'admin: off # changed here' >>"$root/etc/twice.yaml"

starts() {
	# The pipe ends with the proxy, so nobody waits for what never comes.
	mkfifo "$work/said"
	LC_ALL=C chroot "$root" twice run -c /etc/twice.yaml 2>"$work/said" >/dev/null & # no function: the pid is its own
	proxy=$!
	grep -q -m1 "listening on" "$work/said"
}
stops() {
	kill -TERM "$proxy" && wait "$proxy"
	local code=$?
	proxy=
	rm -f "$work/said"
	return $code
}
is_users() { [ "$(stat -c %u "$root$1")" = "$(chroot "$root" id -u twice)" ]; }
runs_as_user() { [ "$(awk '/^Uid:/ { print $2 }' "/proc/$proxy/status")" = "$(chroot "$root" id -u twice)" ]; }
try() {
	must "$1: it does not start" starts
	must "$1: it does not run as twice" runs_as_user
	must "$1: the admin server is not there" inside twice stats --admin unix:/run/twice/admin.sock
	must "$1: it does not end well" stops
}
try "installed"
must "the cache is not the user's" is_users /var/cache/twice/seed
must "the log is not the user's" is_users /var/log/twice/access.log

# ---- upgrade -------------------------------------------------------------------------------------
later() { # a version, then a command that changes its files
	rm -rf "$work/deb"
	dpkg-deb -R "$debs"/twice_*_*.deb "$work/deb" && sed -i "s/^Version: .*/&+$1/" "$work/deb/DEBIAN/control" &&
		(cd "$work/deb" && eval "$2" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' |
			sort -z | xargs -0 md5sum >DEBIAN/md5sums) &&
		dpkg-deb -b --root-owner-group "$work/deb" "$root/debs/later$1.deb"
}
must "no later version can be made" later 1 :
must "it does not upgrade" inside apt-get install -y -q /debs/later1.deb
must "the changed configuration is lost" has "changed here" etc/twice.yaml
must "no later version with another configuration can be made" later 2 "echo '# new' >>etc/twice.yaml"
must "it does not upgrade to another configuration" \
	inside apt-get install -y -q -o Dpkg::Options::=--force-confold /debs/later2.deb
must "the changed configuration is lost beside a new one" has "changed here" etc/twice.yaml
must "the new configuration is not beside it" has "# new" etc/twice.yaml.dpkg-dist
try "upgraded"

# ---- remove and purge ----------------------------------------------------------------------------
must "it cannot be removed" inside apt-get remove -y -q twice
must "the program is still there" not test -e "$root/usr/bin/twice"
must "the configuration is gone with the program" has "changed here" etc/twice.yaml
must "it does not come back" inside apt-get install -y -q /debs/later2.deb
must "the configuration did not wait" has "changed here" etc/twice.yaml
must "it cannot be purged" inside apt-get purge -y -q --autoremove twice libtwice-filter0 libtwice-filter-dev
left=$(find "$root" -xdev -path "$root/proc" -prune -o -path "$root/debs" -prune -o -name '*twice*' -print)
must "purge leaves: $left" test -z "$left"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
