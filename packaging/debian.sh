#!/bin/bash
# debian.sh SUITE [ARCHITECTURE] - builds and tests the commit that is checked out in a fresh system of that release of Debian (trixie), as
# somebody would who has only README.md: .ci/deps, make, make test, make deb. It needs root, debootstrap and a mirror of
# Debian, takes half an hour, and prints a transcript. It is no part of .ci/run. DEB_BASE names a folder in which the fresh
# system is kept for the next time.
#
# With arm64 as ARCHITECTURE, on a machine of another one, Debian's cross compiler builds, and an emulator (qemu-user) runs what
# was built: the unit tests, the seeds of the fuzzers, the scenarios, and the program of the package. The kernel learns of the emulator
# in a namespace of its own (Linux 6.7), so that nothing changes for the rest of the machine. An emulator does not show in which
# order a weakly ordered processor lets memory be seen.
set -u
cd "$(dirname "$0")/.." || exit 1
suite=${1:?the name of a release, as trixie}
arch=${2:-}
case $arch in '' | arm64) ;; *)
	echo "debian.sh: $arch is not known, only arm64 is" >&2
	exit 1
	;;
esac
work=$(mktemp -d)
root=$work/root
holder=
enter=()
tools=()
end() {
	[ -z "$holder" ] || kill "$holder" 2>/dev/null
	umount -l "$root/dev" "$root/proc" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap end EXIT
inside() { # a command, in the fresh system, from the tree
	"${enter[@]}" chroot "$root" /usr/bin/env -i -C /twice HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "${tools[@]}" "$@" </dev/null
}
step() {
	local start=$SECONDS code
	echo "\$ $*"
	inside "$@" >"$work/out" 2>&1
	code=$?
	if [ "$code" = 0 ]; then
		grep -E '^FAIL|^[0-9]+ passed|skipped' "$work/out"
		tail -1 "$work/out"
	else
		grep -vE '^(ok   |cc |clang |aarch64-linux-gnu-gcc )' "$work/out" | tail -400
	fi
	echo "# exit code $code, $((SECONDS - start)) s"
	return "$code"
}
say_system() {
	inside "${1}gcc" --version | sed -n '1s/^/# /p'
	inside dpkg-query -W -f '# ${Package} ${Version} ${Architecture}\n' libevent-dev libcurl4-openssl-dev libnghttp2-dev libssl-dev
}

# The kernel starts programs of arm64 by the emulator, for the processes of the holder's namespaces.
begin_emulation() {
	local head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
	local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
	unshare --user --mount sleep infinity &
	holder=$!
	until [ "$(cat "/proc/$holder/comm")" = sleep ]; do :; done
	echo "0 0 65536" >"/proc/$holder/uid_map"
	echo "0 0 65536" >"/proc/$holder/gid_map"
	enter=(nsenter -t "$holder" --user --mount)
	inside mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || return 1
	printf '%s' ":arm64:M::$head:$mask:/usr/bin/qemu-aarch64:FP" >"$work/register"
	cp "$work/register" "$root/tmp/"
	inside sh -c 'cat /tmp/register >/proc/sys/fs/binfmt_misc/register'
}

base=${DEB_BASE:-$work/base}
[ -e "$base/bin/sh" ] || debootstrap --variant=minbase "$suite" "$base" >"$work/out" 2>&1 || {
	tail -3 "$work/out"
	exit 1
}
cp -a "$base" "$root"
cp /etc/resolv.conf "$root/etc/"
mkdir "$root/twice"
git archive HEAD | tar -x -C "$root/twice"
.ci/version >"$root/twice/.version"
mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
echo "# twice $(.ci/version) on Debian $(cat "$root/etc/debian_version") ($suite), ${arch:+$arch on }$(uname -m), $(date -u +%F)"

test_natively() {
	local tested
	step .ci/deps all
	say_system ''
	step make -j2 WERROR=1 || return 1
	step make test
	tested=$?
	step make deb || return 1
	return "$tested"
}

test_foreign() {
	local failed=0
	step dpkg --add-architecture "$arch" && step apt-get update -q &&
		step apt-get install -y -q --no-install-recommends "crossbuild-essential-$arch" dpkg-dev debhelper \
			qemu-user "check:$arch" openssl curl &&
		step apt-get build-dep -y -q --no-install-recommends -a "$arch" -Pcross,nocheck . || return 1
	say_system aarch64-linux-gnu-
	begin_emulation || return 1
	tools=(CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar PKG_CONFIG=aarch64-linux-gnu-pkg-config
		OBJDUMP=aarch64-linux-gnu-objdump JOBS=4 KIT_TIME=30 CK_TIMEOUT_MULTIPLIER=20)
	echo "# ${tools[*]}"
	step make -j2 WERROR=1 build/twice test-programs || return 1
	step tests/lint/hardened.sh || failed=1
	step build/twice --version || failed=1
	step make unit || failed=1
	step sh -c 'tests/kit/run.sh $(find build/release/fuzz -type f -perm -u+x)' || failed=1
	step make scenario || failed=1
	step make deb "DEB_HOST_ARCH=$arch" || return 1
	step sh -c 'apt-get install -y -q --no-install-recommends ./build/deb/twice_*.deb' || return 1
	step dpkg-query -W twice
	step twice check -c /etc/twice.yaml || failed=1
	return "$failed"
}

if [ -z "$arch" ]; then test_natively; else test_foreign; fi
