#!/bin/sh
# install_filter.sh - installs the filter library into a folder of its own; a C and a C++ program
# find it there by pkg-config, link with it both ways and run. What the shared library exports is
# what the installed headers declare.
cd "$(dirname "$0")/.." || exit 1
case ${TWICE:-release} in *release*) ;; *) echo "only for the release build: 0 passed, 0 failed"; exit 0 ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export PKG_CONFIG_PATH="$dir/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir"
passed=0 failed=0

check() { # says, command...
	says=$1
	shift
	if "$@" >"$dir/out" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL: $says"
		cat "$dir/out"
	fi
}

# The example of the README, and names of libbloom beside it.
cat >"$dir/example.c" <<'END'
#include <twice_filter.h>
#include <stdio.h>
#include <string.h>

struct bloom { int ready; };
int bloom_add(struct bloom *b, const void *p, int n);
int bloom_add(struct bloom *b, const void *p, int n) { (void)b; (void)p; return n; }

int main(void)
{
	struct twice_seed seed;
	struct twice_pair_options o = {};
	struct twice_pair *pair = NULL;
	struct twice_bloom *b;
	struct bloom theirs = {0};
	struct twice_probe shape = twice_bloom_shape(1000, 0.01);
	char url[4096];

	o.capacity = 1000000;
	o.false_positives = 0.01;
	twice_seed_init(&seed, "16 random bytes!", 16);
	if (twice_pair_create(&pair, &o, 0) != 0 || !(b = twice_bloom_create(&shape)))
		return 1;
	while (scanf("%4095s", url) == 1) {
		struct twice_key_hash h = twice_key_hash_of(&seed, url, strlen(url));
		printf("%s%s %s\n", twice_pair_record(pair, h) == TWICE_SIGHT_FIRST ? "first" : "again",
		       twice_bloom_add(b, h) ? "+" : "-", url);
	}
	twice_pair_destroy(&pair);
	twice_bloom_destroy(&b);
	return bloom_add(&theirs, "", 0);
}
END
cp "$dir/example.c" "$dir/example.cc"

answers() { # program: a third URL is known the second time
	[ "$(printf '/a\n/b\n/a\n' | LD_LIBRARY_PATH="$dir/usr/lib" "$1" | tr '\n' ' ')" = "first- /a first- /b again+ /a " ]
}
warnings="-Wall -Wextra -Wpedantic -Werror"
exported() { nm -D --defined-only "$dir/usr/lib/libtwice-filter.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort; }
declared() {
	cat "$dir"/usr/include/twice/filter/*.h "$dir"/usr/include/twice/filter/family/*.h |
		sed ':a; s|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g; /\/\*/{N; ba}' |
		grep -oE '\btwice_[a-z0-9_]+ *\(|_fn twice_snapshot_buffer_[a-z]+;' |
		sed 's/.* //; s/[ (;]//g' | grep -v '_fn$' | sort -u
}
same() { exported >"$dir/exported" && declared >"$dir/declared" && diff "$dir/exported" "$dir/declared"; }
prefixed() { # every name with linkage, in the archive too, begins with twice_
	! nm -g --defined-only "$dir/usr/lib/libtwice-filter.a" | awk 'NF == 3 { print $3 }' | grep -v '^twice_'
}
needs_little() { ! objdump -p "$dir/usr/lib/libtwice-filter.so" | grep NEEDED | grep -vE 'libc\.|libm\.|libpthread|ld-linux'; }
alone() { # each header can be the first that is included
	for h in "$dir"/usr/include/twice/filter/*.h "$dir"/usr/include/twice/filter/family/*.h; do
		echo "#include \"$h\"" | ${CC:-cc} -std=c11 $warnings -fsyntax-only -I"$dir/usr/include/twice" -xc - || return 1
	done
}

check "it installs" env -u MAKEFLAGS -u MAKELEVEL make -s -j2 install-filter MODE=release PREFIX=/usr DESTDIR="$dir"
flags=$(pkg-config --cflags --libs twice-filter)
static="$(pkg-config --cflags twice-filter) $dir/usr/lib/libtwice-filter.a -lm -pthread"
# shellcheck disable=SC2086 # lists of words
{
	check "C, shared" ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -o "$dir/c" "$dir/example.c" $flags
	check "C, shared, answers" answers "$dir/c"
	check "C, static" ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror -o "$dir/cs" "$dir/example.c" $static
	check "C, static, answers" answers "$dir/cs"
	check "C++, shared" c++ -std=c++11 $warnings -o "$dir/cc" "$dir/example.cc" $flags
	check "C++, shared, answers" answers "$dir/cc"
	check "C++, static" c++ -std=c++11 $warnings -o "$dir/ccs" "$dir/example.cc" $static
	check "C++, static, answers" answers "$dir/ccs"
}
check "the soname is where the loader looks" sh -c "objdump -p '$dir/c' | grep -q 'NEEDED.*libtwice-filter.so.0'"
check "exported is what the headers declare" same
check "every name has the prefix" prefixed
check "it needs nothing but the C library" needs_little
check "each header stands alone" alone
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
