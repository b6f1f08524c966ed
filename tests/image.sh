#!/bin/bash
# image.sh - builds the Dockerfile with buildah, on a base of Debian's packages alone, and tries the image: what its user may, its
# configuration, the proxy before an origin, its health check, its end. It needs root, buildah, debootstrap and a mirror of Debian,
# and takes minutes, so it is no part of `make test`. IMAGE_BASE names a folder in which the fresh system is kept for the next time.
cd "$(dirname "$0")/.." || exit 1
skip() { echo "skipped: $1: 0 passed, 0 failed"; exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can make a fresh system"
for tool in buildah debootstrap python3 curl git; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done

work=$(mktemp -d)
container= pids=
buildah() { command buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
end() {
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	[ -z "$container" ] || buildah umount "$container" >/dev/null 2>&1
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
not() { ! "$@"; }

# ---- the base that the file names, from the mirror ------------------------------------------------
suite=$(sed -n 's/^FROM debian:\([0-9]*\)-slim AS build$/\1/p' Dockerfile)
case $suite in 12) suite=bookworm ;; *) skip "the Dockerfile is made from another base than this script knows" ;; esac
base=${IMAGE_BASE:-$work/base}
[ -e "$base/bin/sh" ] || debootstrap --variant=minbase $suite "$base" >"$work/out" 2>&1 ||
	{ tail -3 "$work/out"; skip "no fresh system can be had"; }
scratch=$(buildah from scratch) && buildah add -q "$scratch" "$base" / >/dev/null &&
	buildah commit -q "$scratch" docker.io/library/debian:12-slim >/dev/null 2>&1 || skip "buildah cannot make a base here"

# ---- the image, from a clean copy of the tree -----------------------------------------------------
git clone -q . "$work/tree"
version=$("$work/tree/.ci/version")
must "the image is not built" buildah bud -q --build-arg "VERSION=$version" --format docker --isolation chroot --network host --pull-never --layers=false -t twice "$work/tree"
[ "$failed" = 0 ] || { echo "$passed passed, $failed failed"; exit 1; }
buildah inspect --type image twice >"$work/image.json"
config() { python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["Docker"]["config"]; print(eval(sys.argv[2]))' "$work/image.json" "$1"; }
is() { [ "$(config "$1")" = "$2" ]; }
must "it runs as another user" is 'c["User"]' twice
must "it does not begin with twice" is 'c["Entrypoint"] + c["Cmd"]' "['twice', 'run', '-c', '/etc/twice.yaml']"
must "another signal stops it" is 'c["StopSignal"]' SIGTERM
must "the cache is no volume" is 'list(c["Volumes"])' "['/var/cache/twice']"
must "another port is named" is 'list(c["ExposedPorts"])' "['8080/tcp']"
container=$(buildah from --pull-never twice)
root=$(buildah mount "$container")
must "a compiler is in it" not test -e "$root/usr/bin/gcc"
must "packages' lists are in it" not ls "$root"/var/lib/apt/lists/*_Packages
must "there is no licence in it" test -s "$root/usr/share/doc/twice/copyright"
must "something of the tree is in it" not test -e "$root/src"

# ---- a container of it, as its user ---------------------------------------------------------------
# What a runtime adds: the network, and /proc; buildah's own isolation ends nothing that it starts.
inside() { LC_ALL=C chroot --userspec=8080:8080 "$root" "$@"; }
mount -t proc proc "$root/proc" && trap 'umount "$root/proc"; end' EXIT
mount --bind /dev "$root/dev" && trap 'umount "$root/proc" "$root/dev"; end' EXIT
must "its program does not run, or says another version" test "$(inside twice --version)" = "twice $version"
must "its user may write to the system" not inside touch /etc/x
must "its user may not write to the cache" inside touch /var/cache/twice/x
rm -f "$root/var/cache/twice/x"
inside twice check -c /etc/twice.yaml >"$work/check" 2>&1
must "its configuration is wrong" sh -c "! grep -v 'origin' '$work/check' | grep -q 'twice.yaml:'"

mkdir "$work/www" && head -c 100000 /dev/urandom >"$work/www/file"
touch -d "100 days ago" "$work/www/file" # so that it is fresh for a while
python3 -u -m http.server --bind 127.0.0.1 --directory "$work/www" 0 >"$work/origin" 2>&1 &
pids=$!
until grep -q "Serving HTTP" "$work/origin"; do sleep 0.05; done
origin=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$work/origin")
mkfifo "$work/said"
LC_ALL=C chroot --userspec=8080:8080 "$root" twice run -c /etc/twice.yaml --listen 127.0.0.1:0 --admin 127.0.0.1:0 \
	--origin "http://127.0.0.1:$origin" 2>"$work/said" >"$work/log" & # the pid is its own
proxy=$!
pids="$pids $proxy"
: >"$work/words"
tee "$work/words" <"$work/said" >/dev/null &
until grep -q "listening on" "$work/words"; do kill -0 $proxy || break; sleep 0.05; done
port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$work/words")
admin=$(sed -n 's/.*admin on .*:\([0-9]*\)$/\1/p' "$work/words")
gets() { curl -s -D "$work/head" "http://127.0.0.1:$port/file" | cmp - "$work/www/file"; }
for i in 1 2 3; do must "answer $i is wrong" gets; done
must "the third answer is no hit" grep -qi '^cache-status:.*hit' "$work/head"
must "nothing is in its volume" test -s "$root/var/cache/twice/format"
must "lines of the log do not come out" grep -q "GET /file" "$work/log"
must "the health check fails" inside sh -c "$(config '" ".join(c["Healthcheck"]["Test"][1:])')"
kill -TERM $proxy
wait $proxy
must "it does not end well" test $? = 0
pids=${pids% *}
must "the health check does not see that" not inside sh -c "$(config '" ".join(c["Healthcheck"]["Test"][1:])')"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
