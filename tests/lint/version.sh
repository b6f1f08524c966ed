#!/bin/sh
# version.sh - .ci/version says what git's tags say, and something sensible where there are none.
cd "$(dirname "$0")/../.." || exit 1
command -v git >/dev/null || { echo "no git here: 0 passed, 0 failed"; exit 0; }
here=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
says() { # what it must say (a pattern), where, in which case
	said=$("$place/$2/.ci/version")
	# shellcheck disable=SC2254 # it is a pattern
	case $said in
	$1) passed=$((passed + 1)) ;;
	*)
		failed=$((failed + 1))
		echo "version.sh: $3: \"$said\", not \"$1\""
		;;
	esac
}
unpack() { # into a folder, as `git archive` makes it
	mkdir "$place/$1"
	(cd "$place/tree" && git archive HEAD) | tar -x -C "$place/$1"
}
commit() { git -C "$place/tree" -c user.name=t -c user.email=t@example.com commit -q --allow-empty -m "$1"; }

mkdir -p "$place/tree/.ci" "$place/bare/.ci"
cp "$here/.ci/version" "$place/tree/.ci/"
cp "$here/.ci/version" "$place/bare/.ci/"
cp "$here/.gitattributes" "$here/.version" "$place/tree/"
git -C "$place/tree" init -q
git -C "$place/tree" add -A
commit one
says '[0-9]*.[0-9]*.[0-9]*-dev+g[0-9a-f]*' tree "a repository without a tag"
unpack before
says '[0-9]*.[0-9]*.[0-9]*-dev' before "an archive of it"
says '[0-9]*.[0-9]*.[0-9]*-dev' bare "nothing but the files"
git -C "$place/tree" tag v7.8.9
says 7.8.9 tree "a tag"
unpack tagged
says 7.8.9 tagged "an archive of the tag"
commit two
says '7.8.9-1-g[0-9a-f]*' tree "a commit after it"
echo "# changed" >>"$place/tree/.ci/version"
says '7.8.9-1-g[0-9a-f]*-dirty' tree "a change on top"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
