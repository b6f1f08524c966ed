#!/bin/bash
# systemd.sh [FOLDER] - tries the package that `make deb` has put into FOLDER (build/deb) as a service of a real systemd: a fresh
# Debian with its own kernel boots in a virtual machine, without a disk or a network. Start, sandbox, reload, upgrade,
# kill -9, watchdog, sockets of a unit, log rotation, stop.
#
# It needs root, debootstrap, qemu-system-x86 and a mirror of Debian, and takes minutes, so it is no part of `make test`.
# SYSTEMD_BASE names a folder in which the fresh system is kept for the next time.
cd "$(dirname "$0")/.." || exit 1
debs=$(realpath "${1:-build/deb}")
skip() { echo "skipped: $1: 0 passed, 0 failed"; exit 0; }
[ "$(id -u)" = 0 ] || skip "only root can make a fresh system"
for tool in debootstrap qemu-system-x86_64 cpio; do
	command -v $tool >/dev/null || skip "$tool is missing: apt-get install debootstrap qemu-system-x86 cpio"
done
[ -n "$(find "$debs" -name 'twice_*.deb' 2>/dev/null)" ] || skip "there are no packages in $debs: make deb"

work=$(mktemp -d)
root=$work/root
trap 'umount "$root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT

# ---- a fresh system, with the package ------------------------------------------------------------
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
base=${SYSTEMD_BASE:-$work/base}
[ -e "$base/sbin/init" ] || debootstrap --variant=minbase \
	--include=systemd,systemd-sysv,dbus,ca-certificates,curl,logrotate,procps "$suite" "$base" >"$work/out" 2>&1 ||
	{ tail -3 "$work/out"; skip "no fresh system can be had"; }
cp -a "$base" "$root"
cp /etc/resolv.conf "$root/etc/"
mount -t proc proc "$root/proc" || skip "proc cannot be mounted"
mkdir "$root/debs"
cp "$debs"/twice_*.deb "$root/debs/"
rm -f "$root"/debs/*dbgsym*
inside() { DEBIAN_FRONTEND=noninteractive LC_ALL=C chroot "$root" "$@"; }
inside apt-get update -q >"$work/out" 2>&1 || { tail -3 "$work/out"; skip "the mirror cannot be reached"; }
inside apt-get install -y -q --no-install-recommends $(cd "$root" && ls debs/*.deb | sed 's,^,/,') >"$work/out" 2>&1 ||
	{ tail -5 "$work/out"; echo "it does not install: 0 passed, 1 failed"; exit 1; }
umount "$root/proc"
package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1)
(cd "$work" && apt-get download -q "${package:?no linux-image-cloud-amd64 is known: apt-get update}" >out 2>&1 &&
	dpkg -x linux-image-*.deb kernel) || { tail -3 "$work/out"; skip "no kernel can be had"; }

# ---- what is tried there -------------------------------------------------------------------------
cat >"$root/etc/twice.yaml" <<'E2'
listen: [ "127.0.0.1:80" ]
origins: [ { url: "http://127.0.0.1:8000" } ]
user: twice
cache: { dir: /var/cache/twice, disk: 64MiB, memory: 16MiB, default_ttl: 1h }
access_log: /var/log/twice/access.log
admin_socket: /run/twice/admin.sock
E2
cat >"$root/etc/origin.yaml" <<'E2'
listen: [ "127.0.0.1:8000" ]
origins: [ { url: "http://127.0.0.1:9" } ]
admin: off
cache: { dir: none, memory: 8MiB }
routes: [ { path: /, answer: { status: 200, body: "from the origin", content_type: text/plain } } ]
E2
cat >"$root/etc/systemd/system/origin.service" <<'E2'
[Service]
Type=notify
ExecStart=/usr/bin/twice run -c /etc/origin.yaml
DynamicUser=yes
E2
cat >"$root/etc/systemd/system/try.service" <<'E2'
[Unit]
After=multi-user.target
[Service]
ExecStart=/try
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
E2
cat >"$root/try" <<'E2'
#!/bin/bash
passed=0 failed=0
must() { # what is wrong otherwise, then a command
	local says=$1
	shift
	if "$@" >/tmp/out 2>&1; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "FAIL: $says"
		tail -5 /tmp/out
	fi
}
of() { systemctl show twice -p "$1" --value; }
is() { [ "$(of "$1")" = "$2" ] || { echo "$1 is $(of "$1")"; false; }; }
answers() { curl -s -m 60 "http://127.0.0.1/$1" | grep -qx "from the origin"; }
is_there() { curl -s -m 60 -D - -o /dev/null "http://127.0.0.1/$1" | grep -qi "^cache-status: .*hit"; }
stats() { twice stats --admin unix:/run/twice/admin.sock "$@"; }
until_it() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; false; }
logged() { journalctl -u twice --no-pager | grep -q -- "$1"; }
not() { ! "$@"; }
other_main() { [ "$(of MainPID)" != "$1" ] && [ "$(of MainPID)" != 0 ] && is ActiveState active; }

systemctl start origin || journalctl -u origin --no-pager | tail
must "the service does not start at boot" until_it is ActiveState active
must "it does not run as its user" [ "$(stat -c %U /proc/"$(of MainPID)")" = twice ]
must "the kernel's sandbox is off" grep -q "^Seccomp:.*2" /proc/"$(of MainPID)"/status
must "it may gain privileges" grep -q "^NoNewPrivs:.*1" /proc/"$(of MainPID)"/status
must "a low port is not served" answers a
for _ in 1 2 3; do answers b; done
must "a hit is none" is_there b
must "nothing is written to the disk" until_it sh -c 'twice stats --admin unix:/run/twice/admin.sock --json | grep -q "\"objects\": *[1-9]"'
must "the access log is not written" until_it grep -q "GET /b" /var/log/twice/access.log
must "systemd does not know the sockets" [ "$(of NFileDescriptorStore)" -gt 0 ]

# Reload.
main=$(of MainPID)
echo 'response_headers: { set: [ "X-New: yes" ] }' >>/etc/twice.yaml
must "reload fails" systemctl reload twice
has_new() { curl -s -D - -o /dev/null http://127.0.0.1/b | grep -q "X-New: yes"; }
must "a reload is not seen" until_it has_new
must "a reload made another process" is MainPID "$main"
cp /etc/twice.yaml /etc/good.yaml
echo 'no_such_setting: 1' >>/etc/twice.yaml
systemctl reload twice
must "a bad file is not named" until_it logged no_such_setting
must "a bad file ends the service" answers b
cp /etc/good.yaml /etc/twice.yaml
systemctl reload twice

# Upgrade, in the service's control group.
must "twice upgrade fails" twice upgrade --admin unix:/run/twice/admin.sock
must "systemd does not follow the upgrade" until_it other_main "$main"
must "systemd counts an upgrade as a restart" is NRestarts 0
must "the object is lost" is_there b
must "the upgraded one does not reload" systemctl reload twice
must "the upgraded one does not serve" answers c

# kill -9 with clients on their way.
main=$(of MainPID)
for i in $(seq 200); do curl -s -m 60 -o /dev/null -w '%{http_code}\n' "http://127.0.0.1/k$i" >"/tmp/k$i" & [ "$i" != 60 ] || kill -9 "$main"; sleep 0.02; done
must "it is not started again" until_it other_main "$main"
wait
refused=$(cat /tmp/k* | grep -c '^000')
echo "of 200 clients that came around kill -9, $refused lost their connection"
must "clients were refused" [ "$refused" -le 2 ] # those that the dead process had accepted
must "the object is lost by kill -9" is_there b

# The watchdog ends a process that hangs.
mkdir -p /etc/systemd/system/twice.service.d
printf '[Service]\nWatchdogSec=5s\n' >/etc/systemd/system/twice.service.d/try.conf
systemctl daemon-reload
systemctl restart twice
main=$(of MainPID)
kill -STOP "$main"
must "the watchdog does not see a process that hangs" until_it other_main "$main"
must "nothing is served after that" answers b

# Log rotation.
must "logrotate fails" logrotate -f /etc/logrotate.d/twice
must "the log is not rotated" until_it test -s /var/log/twice/access.log.1
answers after_rotation
must "the new log is not written" until_it grep -q after_rotation /var/log/twice/access.log

# Sockets of a unit, and the first client starts the service.
must "it does not stop well" systemctl stop twice
must "the stop was no success" is Result success
must "the socket unit does not start" systemctl start twice.socket
must "it runs before the first client" not is ActiveState active
must "the first client is not served" answers first
must "the first client has not started it" is ActiveState active
must "systemd's own judgement is bad" sh -c 'systemd-analyze security twice --no-pager --threshold=30'
systemd-analyze security twice --no-pager | tail -1
must "the system refused it something" not logged "not permitted"
journalctl -u twice --no-pager -p warning | tail -20
echo "$passed passed, $failed failed"
systemctl poweroff
E2
chmod +x "$root/try"
sed 's/^ListenStream=.*/ListenStream=127.0.0.1:80/' packaging/twice.socket >"$root/etc/systemd/system/twice.socket"
ln -sf /etc/systemd/system/try.service "$root/etc/systemd/system/multi-user.target.wants/try.service"
rm -rf "$root"/debs "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
ln -sf sbin/init "$root/init"
(cd "$root" && find . -xdev | cpio -o -H newc --quiet) >"$work/initrd"
rm -rf --one-file-system "$root"
timeout 1500 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 6G -smp 2 -nographic -no-reboot -nic none \
	-kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" \
	-append "console=ttyS0 quiet panic=1 systemd.show_status=false rdinit=/sbin/init" </dev/null 2>&1 |
	sed -u 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\r//' | tee "$work/said"
grep -q "^[0-9]* passed, 0 failed" "$work/said"
