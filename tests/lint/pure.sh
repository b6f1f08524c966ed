#!/bin/sh
# pure.sh - the pure rooms ask nothing of the world: filter/ knows no clock, file or socket, and
# proxy/http/ not even an allocator (proxy/base's buf is its only way to memory). proxy/serve/ knows
# no event loop, no socket and no file; proxy/wire/ nothing of what is kept or where origins are.
#
# Reads what the built libraries leave undefined: B=build/release tests/lint/pure.sh
# By readelf, for nm reads the list that gcc keeps for its optimization as a whole where there is one, and
# that list leaves out each function that the compiler knows itself, such as malloc and printf. A library
# that holds nothing but that list is turned into code first, as the linker does it.
[ -z "$TWICE" ] || B=${B:-${TWICE%/bin/twice}} # as the tests are run
B=${B:-build/release}
world='time|gettimeofday|clock_gettime|clock|localtime(_r)?|nanosleep|usleep|sleep'
world="$world|open(64|at)?|fopen(64)?|read|write|pread(64)?|pwrite(64)?|close|stat|unlink|rename|mmap(64)?"
world="$world|socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?|poll|select|epoll_.*"
world="$world|getenv|random|rand(_r)?|getrandom|getpid|fork|exec.*|system|pthread_create"
world="$world|printf|fprintf|puts|putchar|perror|exit|_exit"
memory='malloc|calloc|realloc|free|aligned_alloc|posix_memalign|strdup|strndup|mem_[a-z]*'

loop='event_.*|evbuffer_.*|evutil_.*|bufferevent_.*|evtimer_.*|getsockopt|setsockopt|shutdown|ioctl|fcntl|getaddrinfo'
sockets='socket|connect|bind|listen|accept4?|send(to|msg|file)?|recv(from|msg)?|poll|select|epoll_.*|readv?|writev?'
files='open(64|at)?|pread(64)?|pwrite(64)?|close|unlink(at)?|rename(at)?|mmap(64)?|fsync|fdatasync'
inside='cache_.*|flights?_.*|object_.*|seen_.*|fill_.*|fetch_.*|upstream_.*|origin_.*|answer_.*|txn_.*'

status=0
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# refuse LIBRARY NAMES: prints what of the names the library uses
refuse() {
	[ -f "$1" ] || { echo "pure.sh: no $1: build it first" >&2; status=1; return; }
	code=$1
	if readelf -sW "$1" | grep -q __gnu_lto_slim; then
		code=$place/$(basename "$1" .a).o
		gcc -r -nostdlib -flinker-output=nolto-rel -Wl,--whole-archive "$1" -o "$code" || status=1
	fi
	found=$(readelf -sW "$code" 2>/dev/null | awk -v names="^($2)$" -v file="$1" '
		$1 == "File:" { file = $2 }
		$7 == "UND" && NF >= 8 {
			symbol = $8; sub(/@.*/, "", symbol); sub(/^__/, "", symbol); sub(/_chk$/, "", symbol)
			seen++
			if (symbol ~ names)
				print "pure.sh: " file " uses " symbol
		}
		END { if (!seen) print "pure.sh: " file " uses nothing, so it was not read" }')
	[ -z "$found" ] || { echo "$found"; status=1; }
}

# The family's snapshot code, if it allocates, does so through its caller.
refuse "$B/lib/libfilter.a" "$world"
refuse "$B/lib/libhttp.a" "$world|$memory"
refuse "$B/lib/libserve.a" "$loop|$sockets|$files"
refuse "$B/lib/libwire.a" "$inside"
refuse "$B/lib/libcoding.a" "$loop|$sockets|$files"
exit $status
