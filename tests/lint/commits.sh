#!/bin/sh
# commits.sh - the form of commits that have not landed: those of HEAD that origin/main (BASE) does not have.
# A subject is "room: what changed" in at most 72 characters (several rooms: "origin, serve: ..."), then an
# empty line and a body that says why. Merges are not judged, and nothing is where git cannot tell what has
# landed.
cd "$(dirname "$0")/../.." || exit 1
base=${BASE:-origin/main}
none() { # why none is judged
	echo "commits: none judged, $1"
	exit 0
}
command -v git >/dev/null || none "there is no git"
git rev-parse -q --verify HEAD >/dev/null 2>&1 || none "this is no clone"
git rev-parse -q --verify "$base^{commit}" >/dev/null 2>&1 || none "there is no $base"
[ "$(git rev-parse --is-shallow-repository)" = false ] || none "this clone is shallow"

bad=0 n=0
wrong() { # the commit, what is wrong with it
	echo "$(git log -1 --format='%h "%s"' "$1"): $2"
	bad=$((bad + 1))
}
for commit in $(git rev-list --no-merges "$base..HEAD"); do
	n=$((n + 1))
	subject=$(git log -1 --format=%s "$commit")
	printf %s "$subject" | grep -qE '^[A-Za-z][A-Za-z0-9_/.-]*(, [A-Za-z][A-Za-z0-9_/.-]*)*: [^ ]' ||
		wrong "$commit" 'the subject is not "room: what changed"'
	length=$(printf %s "$subject" | LC_ALL=C.UTF-8 wc -m)
	[ "$length" -le 72 ] || wrong "$commit" "the subject has $length characters, 72 is the most"
	git log -1 --format=%B "$commit" | sed -n '2{/./q1}' || wrong "$commit" "its second line is not empty"
	[ -n "$(git log -1 --format=%b "$commit")" ] || wrong "$commit" "no body says why"
done
[ $bad = 0 ] && echo "commits: ok ($n judged)"
[ $bad = 0 ]
