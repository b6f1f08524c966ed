#!/bin/sh
# can_fail.sh - each check of the sources says no to a small tree that holds what it must find, and yes to the
# same tree without. The trees are made in a temporary folder.
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
cc=${CC:-cc}

tree() { # a fresh tree with two files that nothing is wrong with
	rm -rf "$place/tree"
	mkdir -p "$place/tree/tests/lint" "$place/tree/proxy/http" "$place/tree/proxy/cache" "$place/tree/filter" \
		"$place/tree/config"
	cd "$place/tree" || exit 1
	cp "$top"/tests/lint/*.sh "$top"/tests/lint/*.awk tests/lint/
	: >tests/lint/gates.txt
	: >tests/lint/unused.txt
	: >tests/lint/exports.txt
	: >tests/lint/disk.txt
	: >tests/lint/sockets.txt
	cat >proxy/http/head.h <<-'C'
		/* The lines of a head. */
		struct head { int a; };
	C
	cat >proxy/http/head.c <<-'C'
		/* Where nothing is known, the default counts. Where does it lie? Who asks? */
		int head_read(void) { return 0; }
	C
	cat >proxy/cache/door.c <<-'C'
		/* Where does it lie? */
		int head_read(void);
		static int look(void) { return head_read(); }
		int main(void) { return look(); }
	C
}
result() { # 0: as it must be; then the check's name, what must be true
	if [ "$1" = 0 ]; then passed=$((passed + 1)); else
		failed=$((failed + 1))
		echo "can_fail.sh: $2: $3"
		sed 's/^/	/' "$place/said"
	fi
}
refuses() { # a check, the words it must say (a pattern), what is wrong with the tree
	tests/lint/"$1" >"$place/said" 2>&1 && result 1 "$1" "accepts $3" && return
	grep -qE -- "$2" "$place/said"
	result $? "$1" "refuses $3, but does not say \"$2\""
}
accepts() { # a check, what is well
	tests/lint/"$1" >"$place/said" 2>&1
	result $? "$1" "refuses $2"
}
members() { # as many members of a struct as $1, two by two
	awk -v n="$1" 'BEGIN { print "struct many {"; for (i = 0; i < n; i += 2) print "int *a" i ", b" i "[2];"; print "};" }'
}

# ---- calls.sh
tree
accepts calls.sh "a tree that reads no file"
echo 'int head_more(void) { return open("/x", 0); }' >>proxy/http/head.c
refuses calls.sh 'proxy/http/head.c calls open which may wait' "a call that may meet a disk"
echo 'proxy/http/head.c' >tests/lint/disk.txt
refuses calls.sh 'disk.txt: proxy/http/head.c: no such call, or it does not say on which thread' "a row without a thread"
echo 'proxy/http/head.c main: a start' >tests/lint/disk.txt
accepts calls.sh "a call that has a row"
echo 'proxy/http/body.c main: a start' >>tests/lint/disk.txt
refuses calls.sh 'proxy/http/body.c: no such call' "a row that is not needed"
tree
mkdir proxy/wire
echo 'int conn_close(int fd) { return close(fd); }' >proxy/wire/conn.c
echo 'proxy/wire/conn.c a connection' >tests/lint/sockets.txt
accepts calls.sh "calls on a connection where they belong"
echo 'long room_look(int fd, char *c) { return recv(fd, c, 1, 0); }' >proxy/wire/room.c
refuses calls.sh 'proxy/wire/room.c calls recv on a descriptor: say in tests/lint/sockets.txt of what' "another file that reads from it"

# ---- gates.sh
tree
accepts gates.sh "a tree without faults"
echo '/* What a request allocates. */' >>proxy/http/head.c
echo '	int x; /* Whoever asks is told. */' >>proxy/http/head.c
refuses gates.sh 'proxy/http/head.c:3: What a request' "a comment that opens headless"
refuses gates.sh '^proxy/http: headless 2, and no row' "two of them in a folder"
echo 'headless proxy/http 1' >tests/lint/gates.txt
refuses gates.sh '^proxy/http: headless 2, over the 1 of' "one more than the row allows"
echo 'headless proxy/http 2' >tests/lint/gates.txt
accepts gates.sh "as many as the row says"
echo 'headless proxy/http 3' >tests/lint/gates.txt
refuses gates.sh 'is 2 now: lower the row' "a row above what there is"
echo 'headless proxy/http 3 - an issue says so' >tests/lint/gates.txt
accepts gates.sh "a bound that is not reached"
printf 'headless proxy/http 2\nlines proxy/http/head.c 510\n' >tests/lint/gates.txt
refuses gates.sh 'gates.txt:2: there is no such thing any more' "a row that nothing needs"
echo 'headless proxy/http' >tests/lint/gates.txt
refuses gates.sh 'gates.txt:1: not a kind' "a row without a number"

tree
awk 'BEGIN { for (i = 0; i < 499; i++) print "" }' >>proxy/http/head.c
refuses gates.sh '^proxy/http/head.c: lines 510, and no row' "a file of 501 lines"
sed -i '$d' proxy/http/head.c
accepts gates.sh "a file of 500 lines"

tree
members 32 >>proxy/http/head.h
refuses gates.sh '^proxy/http/head.h:many: members 32, and' "a struct of 32 members"
echo 'members proxy/http/head.h:many 30' >tests/lint/gates.txt
refuses gates.sh '^proxy/http/head.h:many: members 32, over' "a struct that grew"
tree
members 30 >>proxy/http/head.h
accepts gates.sh "a struct of 30 members"
cat >proxy/http/head.h <<'C'
struct outer { /* bool z; */
	const char *(*pull)(void *ctx, int n), *name;
	enum { A, B, C } state;
	union { struct { bool a, b : 1; unsigned c : 1, d : 2; } in; int e[3], f; };
	bool g[4], *h; _Bool i; atomic_bool j; unsigned k : 1, l : 1; bool m, n; bool o;
#define ROW(x) bool x;
	struct other *p, q;
};
struct one { int a; } first = { 1 }, second;
static int f(struct one *o) { struct one p = { 1 }; return o->a, p.a; }
C
awk -f tests/lint/structs.awk proxy/http/head.h >"$place/said"
[ "$(cat "$place/said")" = "$(printf 'proxy/http/head.h outer 20 11\nproxy/http/head.h one 1 0')" ]
result $? structs.awk "20 members, 11 of them bools, and 1"
refuses gates.sh '^proxy/http/head.h:outer: bools 11, and' "a struct with eleven bools"

# ---- pages.sh
pages() { # a README and two pages that nothing is wrong with
	tree
	mkdir -p docs bench/results
	printf '# twice\n\nSee [the page](docs/page.md), [a section](docs/page.md#as-it-is)\nand [figures](docs/measured.md). It takes 2.5 us (`bench/hit.sh 7`).\n' >README.md
	printf '# Page\n\nThis page says all.\n\n## As it is\n\nWhat is it? It is well.\n' >docs/page.md
	{
		printf '# Measured\n\nThis page has figures.\n\n'
		echo '| what | `twice` | beside it | command | output |'
		echo '|---|---|---|---|---|'
		echo '| a hit | 2.5 us | nginx 1,235 us (77.2%) | `bench/hit.sh 7` | hit.txt |'
	} >docs/measured.md
	printf 'twice 2.483 us\nnginx 1.2349 ms\nratio 0.7716\n' >bench/results/hit.txt
}
pages
accepts pages.sh "pages that nothing is wrong with"
awk 'BEGIN { for (i = 0; i < 1500; i++) print "a" }' >>README.md
refuses pages.sh 'README.md has 1[0-9]* lines; 200' "a README that is long"
refuses pages.sh 'README.md has 1[0-9]* words; 1,500' "a README of many words"
pages
awk 'BEGIN { for (i = 0; i < 111; i++) printf "a"; print "" }' >>README.md
refuses pages.sh 'more than 110 columns: 5' "a README with a wide line"
pages
echo 'And [another](other.md).' >>docs/page.md
refuses pages.sh 'the link other.md leads nowhere' "a link to a page that is not there"
pages
echo 'And [another](page.md#as-it-was).' >>docs/measured.md
refuses pages.sh 'page.md#as-it-was leads to no heading' "a link to a heading that is not there"
pages
echo '/* See docs/gone.md. */' >>proxy/http/head.c
refuses pages.sh 'docs/gone.md is named somewhere' "a source that names a page that is not there"
pages
echo 'Less. What a route may not keep goes.' >>docs/page.md
refuses pages.sh 'docs/page.md: What a route may' "a sentence that opens headless"
pages
echo '<img src="docs/gone.png">' >>README.md
refuses pages.sh 'the picture docs/gone.png is not there' "a picture that is not there"
pages
echo 'Set `cache.disk` and `head.sisk`.' >>docs/page.md
printf 'cache:\n  disk: 1GiB\n' >config/twice.yaml
refuses pages.sh 'has the name head.sisk' "a setting that is not there"
pages
printf '# New\n\nHello.\n' >docs/new.md
refuses pages.sh 'docs/new.md: its third line' "a page that does not say what it is for"
refuses pages.sh 'README.md does not name it' "a page that nothing leads to"
pages
sed -i 's/1,235/1,236/' docs/measured.md
refuses pages.sh 'hit.txt has no 1236' "a figure that is not in the output"
pages
sed -i 's/2\.5 us (/2.6 us (/' README.md
refuses pages.sh 'README.md: a figure beside .* 2.6' "a figure that docs/measured.md has not"
pages
sed -i 's/hit.txt/miss.txt/' docs/measured.md
refuses pages.sh 'there is no output miss.txt' "figures without an output"

# ---- the lists against what has landed, and commits.sh
if command -v git >/dev/null; then
	tree
	unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 # no hooks and signatures of this machine
	export BASE=landed GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
	accepts commits.sh "a folder that is no clone"
	git init -q . && git add -A && git commit -q -m "anything that has landed"
	git branch landed
	accepts commits.sh "commits that have landed"
	accepts gates.sh "lists as they have landed"
	echo '/* What is asked. */' >>proxy/http/head.c
	echo 'headless proxy/http 1' >tests/lint/gates.txt
	echo 'head_read asked by its test' >tests/lint/unused.txt
	refuses gates.sh '^tests/lint/gates.txt: headless: 1, and what has landed has 0' "a list that grew"
	refuses gates.sh '^tests/lint/unused.txt: rows: 1, and what has landed has 0' "more symbols that nothing uses"
	git checkout -q .
	well="http: the head is read once"
	git commit -q --allow-empty -m "$well" -m "It was read twice."
	accepts commits.sh "a commit in form"
	amend() { git commit -q --amend --allow-empty "$@"; }
	amend -m "$well"
	refuses commits.sh 'no body' "a commit without a body"
	amend -m "The head is read once" -m "It was read twice."
	refuses commits.sh 'is not "room' "a subject without a room"
	amend -m "$well, and then it is never again read by anybody who has no need of it" -m "It was."
	refuses commits.sh '72 is the most' "a long subject"
	printf '%s\nIt was read twice.\n' "$well" >"$place/message"
	amend -F "$place/message"
	refuses commits.sh 'second line|72' "a body right below the subject"
	unset BASE
fi

# ---- what is read from objects: ordinary ones, and those that gcc would optimize as a whole
build() { # flags: the objects and libraries of the tree, as the Makefile lays them out
	export B=b
	rm -rf b
	mkdir -p b/lib b/proxy/http b/proxy/cache b/filter b/config
	for file in $(find proxy -name '*.c'); do
		"$cc" "$@" -O1 -c -o "b/${file%.c}.o" "$file" || exit 1
	done
	echo 'int filter_b(int); int filter_a(int a) { return filter_b(a); }' |
		"$cc" "$@" -O1 -x c -c -o b/any.o - || exit 1
	for lib in http serve wire coding filter; do
		ar rcs b/lib/lib$lib.a b/any.o
	done
	ar rcs b/lib/libhttp.a b/proxy/http/head.o
}
kinds=-O1
echo 'int x;' | "$cc" -flto -ffat-lto-objects -x c -c -o "$place/x.o" - 2>/dev/null && ! "$cc" --version | grep -q clang &&
	kinds='-O1 -flto,-ffat-lto-objects -flto,-fno-fat-lto-objects'
for kind in $kinds; do
	kind=$(echo "$kind" | tr , ' ')
	tree
	# shellcheck disable=SC2086 # flags
	{
		build $kind
		accepts exports.sh "objects without faults ($kind)"
		accepts pure.sh "pure rooms ($kind)"
		accepts circles.sh "a tree without circles ($kind)"
		echo 'int head_more(void) { return 1; }' >>proxy/http/head.c
		build $kind
		refuses exports.sh 'exports head_more, and no other file uses it' "an export that nothing uses ($kind)"
		echo 'head_more asked by its test' >tests/lint/unused.txt
		accepts exports.sh "an export that has a row ($kind)"
		echo 'head_read asked by its test' >>tests/lint/unused.txt
		refuses exports.sh 'head_read is used, or gone' "a row that is not needed ($kind)"
		: >tests/lint/unused.txt
		echo 'int door_ask(void) { return head_read(); }' >>proxy/cache/door.c
		cp proxy/cache/door.c proxy/http/door.c
		echo 'int door_ask(void); int head_read(void) { return door_ask(); }' >proxy/http/head.c
		build $kind
		refuses circles.sh 'door -> head: head_read' "two files that call each other ($kind)"
		rm proxy/http/door.c
		echo 'int read_it(void) { return 1; } ' >proxy/http/head.c
		build $kind
		refuses exports.sh 'exports read_it: begin it with head_' "a name of another file ($kind)"
		echo '#include <stdlib.h>
			void *head_read(void) { return malloc(3); }' >proxy/http/head.c
		build $kind
		refuses pure.sh 'libhttp.* uses malloc' "a pure room that allocates ($kind)"
	}
done
rm -rf b
refuses exports.sh 'build them first' "a folder without objects"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
