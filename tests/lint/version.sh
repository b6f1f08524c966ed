#!/bin/sh
# version.sh - .ci/version says the same of a commit wherever it lies, says something with a time where nobody knows the commit,
# and never falls from commit to commit: here in a repository made for it, then along the commits of this one.
cd "$(dirname "$0")/../.." || exit 1
command -v git >/dev/null || { echo "no git here: 0 passed, 0 failed"; exit 0; }
# Neither a hook of git nor somebody's settings have a say.
# shellcheck disable=SC2046 # a list of names
unset $(git rev-parse --local-env-vars)
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TZ=JST-9
here=$PWD
place=$(mktemp -d)
: >"$place/commits"
trap 'rm -rf "$place"' EXIT
passed=0 failed=0
well() { passed=$((passed + 1)); }
wrong() {
	failed=$((failed + 1))
	echo "version.sh: $1"
}
says() { # what it must say, in which folder, which case that is
	said=$("$place/$2/.ci/version" 2>&1)
	if [ "$said" = "$1" ]; then well; else wrong "$3: \"$said\", not \"$1\""; fi
}
is_lower() { # sort -V has the rules of Debian, too
	if command -v dpkg >/dev/null; then
		dpkg --compare-versions "$1" lt "$2"
	else
		[ "$1" != "$2" ] && printf '%s\n' "$1" "$2" | sort -V -C
	fi
}
last=0
rises() { # above the version that was last
	if is_lower "$last" "$1"; then well; else wrong "$1 does not sort above $last"; fi
	last=$1
}
in_tree() { git -C "$place/tree" "$@"; }
commit() { # at a time, with that release in .version
	printf '%s\n$Format:%%ct$\n' "$2" >"$place/tree/.version"
	GIT_COMMITTER_DATE="@$1 +0500" in_tree -c user.name=t -c user.email=t@example.com commit -q -a --allow-empty -m "$2"
}
unpack() { # into a folder, as `git archive` makes it
	mkdir "$place/$1"
	in_tree archive HEAD | tar -x -C "$place/$1"
}
copy() { # the files of the tree without its repository
	mkdir "$place/$1"
	cp -a "$place/tree/.ci" "$place/tree/.version" "$place/$1/"
}

# ---- one commit, wherever it lies -------------------------------------------------------------------
git init -q "$place/tree"
mkdir "$place/tree/.ci"
cp "$here/.ci/version" "$place/tree/.ci/"
cp "$here/.gitattributes" "$here/.version" "$place/tree/"
in_tree add -A
commit 1795774701 1.2.3~
commit 1795774702 1.2.3~
at=1.2.3~20261127101822
says $at tree "a repository"
rises "0.2.0-dev+gffffffff" # as versions were before
rises 1.2.3~20261127101821
rises $at
git clone -q --depth 1 "file://$place/tree" "$place/shallow"
says $at shallow "a shallow clone"
in_tree worktree add -q "$place/worktree"
says $at worktree "another worktree"
unpack archive
says $at archive "an archive"
git init -q "$place/archive"
says $at archive "an archive in a repository without a commit"
GIT_TEST_ASSUME_DIFFERENT_OWNER=1 says $at tree "a repository of somebody else"
GIT_DIR="$place/shallow/.git" GIT_INDEX_FILE=/nowhere says $at tree "called by a hook of another repository"
in_tree tag v9.9.9
says $at tree "a tag"
copy told
echo 1.2.3~20261127101822+dirty >"$place/told/.version"
says $at+dirty told "a file that says it whole"

# ---- a tree of which git knows nothing --------------------------------------------------------------
bare() { # a folder whose newest file is of 10:20:00
	copy "$1"
	touch -d @1795774799 "$place/$1/.ci/version"
	touch -d @1795774800 "$place/$1/.version"
}
files=1.2.3~20261127102000+files
bare bare
says $files bare "nothing but the files"
bare lost
echo "gitdir: $place/nowhere" >"$place/lost/.git"
says $files lost "a worktree whose repository is elsewhere"
git clone -q "$place/tree" "$place/outer"
bare outer/inner
mkdir "$place/outer/inner/.git"
says $files outer/inner "an empty .git below another repository"
mkdir "$place/few"
for tool in sh find sort tail date; do ln -s "$(command -v $tool)" "$place/few/$tool"; done
bare without
cp -a "$place/tree/.git" "$place/without/"
PATH=$place/few says $files without "a repository, but no git"
bare unknown
for release in '' '$Format:%ct$' '~'; do
	echo "$release" >"$place/unknown/.version"
	if said=$("$place/unknown/.ci/version" 2>/dev/null) || [ -n "$said" ]; then
		wrong "\"$release\" in .version: it says \"$said\", and is content"
	else well; fi
done

# ---- from commit to commit --------------------------------------------------------------------------
echo "# changed" >>"$place/tree/.ci/version"
says $at+dirty tree "a change on top of it"
rises $at+dirty
in_tree reset -q --hard
commit 1795774702 1.2.3~
says $at tree "the next one within the second"
commit 1795774703 1.2.3~
says 1.2.3~20261127101823 tree "a second later"
rises 1.2.3~20261127101823
commit 1795774704 1.2.3
says 1.2.3 tree "the release"
rises 1.2.3
unpack release
says 1.2.3 release "an archive of the release"
bare tarball
says 1.2.3 tarball "the files of the release"
echo "# changed" >>"$place/tree/.ci/version"
says 1.2.3+dirty tree "a change of the release"
rises 1.2.3+dirty
in_tree reset -q --hard
commit 1795774704 1.3.0~
says 1.3.0~20261127101824 tree "the commit after the release"
rises 1.3.0~20261127101824

# ---- the commits of this repository -----------------------------------------------------------------
# Two commits may be of one second, but only one is a release. A commit without a release in .version is older than that file.
last=0~~ before= newline='
'
[ ! -e .git ] || git log --reverse --first-parent -50 --format='%H %ct' 2>/dev/null >"$place/commits"
while read -r hash time; do
	release=$(git show "$hash:.version" 2>/dev/null)
	release=${release%%"$newline"*}
	case $release in [0-9]*) ;; *) release=0~ ;; esac
	printf '%s\n' "$release" "$time" >"$place/told/.version"
	now=$("$place/told/.ci/version")
	if [ "$now" != "$last" ]; then rises "$now"; elif [ "$release" != "${release%\~}" ]; then well; else
		wrong "$now is the version of $before and of $hash: after a release the next one goes into .version"
	fi
	before=$hash
done <"$place/commits"

# ---- papers that name the release too ---------------------------------------------------------------
release=$(head -1 .version)
begins() { # a file, its first line of a kind, what that must begin with
	line=$(grep -m 1 -s "$2" "$1")
	case $line in "$3"*) well ;; *) wrong "$1 says \"$line\", not \"$3\" as .version" ;; esac
}
begins debian/changelog "^twice" "twice ($release) "
case $release in
*~) begins CHANGELOG.md "^## " "## ${release%\~}, not yet released" ;;
*) begins CHANGELOG.md "^## " "## $release, " ;; # and its date
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
