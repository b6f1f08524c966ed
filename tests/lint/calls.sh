#!/bin/sh
# calls.sh - calls that are made in some files alone: a file that has one needs a row in a list, which says why. Reads
# the sources; calls through a pointer (ops->read) are not seen.
#
# disk.txt     calls that may meet a disk, in the rooms whose code workers run: on which thread
# sockets.txt  calls on descriptors in wire: of what. A client's connection is touched in two files alone
cd "$(dirname "$0")/../.." || exit 1
status=0

# hold LIST CALLS NEED WHAT FILE...: NEED is what a file must say for its calls, and WHAT a row has for it.
hold() {
	list=tests/lint/$1 calls=$2 need=$3 what=$4
	shift 4
	with_calls=$(grep -lE "(^|[^A-Za-z0-9_>.])($calls)\([^0-9]" "$@" 2>/dev/null)
	for file in $with_calls; do
		grep -q "^$file " "$list" || {
			echo "$file calls $(grep -ohE "(^|[^A-Za-z0-9_>.])($calls)\([^0-9]" "$file" | grep -oE "($calls)\(" |
				sort -u | tr -d '(' | tr '\n' ' ')$need: say in $list $what"
			status=1
		}
	done
	while read -r file why; do
		case $file in '' | '#'*) continue ;; esac
		if [ -z "$why" ] || ! echo "$with_calls" | grep -qx "$file"; then
			echo "$list: $file: no such call, or it does not say $what: remove the row, or say so"
			status=1
		fi
	done <"$list"
}

disk='open|openat|fopen|opendir|stat|lstat|fstatat|statvfs|access|faccessat|readlink|realpath|pread|preadv2?|pwrite|pwritev2?'
disk="$disk|sendfile|fallocate|ftruncate|truncate|fsync|fdatasync|unlink|unlinkat|rename|renameat|mkdir|rmdir|getaddrinfo"
disk="$disk|X509_STORE_load_[a-z]*|X509_STORE_set_default_paths|SSL_CTX_load_[a-z_]*|PEM_read_[A-Za-z0-9_]*"
hold disk.txt "$disk" 'which may wait for a disk' 'on which thread' proxy/base/*.c proxy/http/*.c proxy/origin/*.c \
	proxy/serve/*.c proxy/serve/*/*.c proxy/wire/*.c proxy/node/worker.c

sockets='recv|recvfrom|recvmsg|send|sendto|sendmsg|sendfile|splice|read|readv|write|writev|close|shutdown|dup|dup2|fcntl|ioctl'
sockets="$sockets|getsockopt|setsockopt|getsockname|getpeername|accept4?|poll"
hold sockets.txt "$sockets" 'on a descriptor' 'of what' proxy/wire/*.c

[ $status = 0 ] && echo "calls: ok"
exit $status
