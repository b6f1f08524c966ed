#!/bin/bash
# kernel_tls.sh [SCENARIO...] - scenarios by TLS that the kernel encrypts (KIT_TLS=kernel), in a virtual
# machine with Debian's own kernel, which has TLS as a module; default: kernel_tls files protocol ranges.
# For machines whose kernel has none; on others KIT_TLS=kernel before a scenario does the same.
#
# Needs qemu-system-x86 cpio kmod openssl, a mirror of Debian, and the scenarios and build/twice, built.
# Everything lies in one temporary directory; the machine has no disk, no network, and ends by itself.
set -eu
cd "$(dirname "$0")/.."
for tool in qemu-system-x86_64 cpio depmod openssl; do
	command -v $tool >/dev/null || {
		echo "kernel_tls.sh: $tool is missing: apt-get install qemu-system-x86 cpio kmod openssl" >&2
		exit 2
	}
done
[ $# -gt 0 ] || set -- kernel_tls files protocol ranges
work=$(mktemp -d "${TMPDIR:-/tmp}/twice-kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

fetch_kernel() { # its package, unpacked, never installed
	local package
	package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[^ ]*\).*/\1/p' | head -1)
	(cd "$work" && apt-get download -q "${package:?no linux-image-cloud-amd64 is known: apt-get update}" >download 2>&1) ||
		{ cat "$work/download" >&2; exit 2; }
	dpkg -x "$work"/*.deb "$work/kernel"
}

add() { # a program at its own place, with its libraries
	local file
	for file in "$1" $(ldd "$1" | grep -oE '/[^ ]+'); do
		mkdir -p "$root$(dirname "$file")"
		[ -e "$root$file" ] || cp -L "$file" "$root$file"
	done
}

fetch_kernel
mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,proc,sys,dev,tmp,etc,twice/scenario}
for folder in bin sbin lib lib64; do ln -s usr/$folder "$root/$folder"; done
for tool in bash cat mount modprobe ip uname timeout find curl openssl cmp; do
	! path=$(command -v $tool) || add "$path"
done
cp -L build/twice "$root/twice/twice"
add "$PWD/build/twice"
for name; do
	cp "build/release/scenario/$name" "$root/twice/scenario/"
	add "$PWD/build/release/scenario/$name"
done
version=$(ls "$work/kernel/lib/modules")
mkdir -p "$root/lib/modules/$version/kernel"
cp -a "$work/kernel/lib/modules/$version"/modules.* "$root/lib/modules/$version/"
cp -a "$work/kernel/lib/modules/$version/kernel"/{net,crypto,arch,lib} "$root/lib/modules/$version/kernel/"
depmod -b "$root" "$version"
cp -a /etc/ssl "$root/etc/"
echo 'root:x:0:0::/:/bin/bash' >"$root/etc/passwd"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
cat >"$root/init" <<'INIT'
#!/bin/bash
export PATH=/bin:/sbin:/usr/bin:/usr/sbin TWICE=/twice/twice KIT_TLS=kernel KIT_TIME=16
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
ip link set lo up
modprobe tls
echo "kernel $(uname -r), of TCP: $(cat /proc/sys/net/ipv4/tcp_available_ulp)"
cd /twice
for s in scenario/*; do "$s"; done
echo o >/proc/sysrq-trigger
read -r -t 9 <>/dev/full
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd"
qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 4G -smp 2 -nographic -no-reboot -nic none \
	-kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/initrd" -append "console=ttyS0 quiet panic=1" \
	</dev/null 2>&1 | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\r//' | tee "$work/said"
awk '/ passed, .* failed/ { p += $2; f += $4 } END { print p + 0 " passed, " f + 0 " failed"; exit !(p > 0 && f == 0) }' "$work/said"
