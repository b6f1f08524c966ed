#!/bin/sh
# pages.sh - README.md and docs/: README is short, each page begins with its purpose, links lead somewhere, no sentence
# opens headless, and the figures are those of bench/results (figures.awk). tests/scenario/docs.c runs the snippets.
cd "$(dirname "$0")/../.." || exit 1
status=0
wrong() {
	echo "$*"
	status=1
}

# ---- README -------------------------------------------------------------------------------------
lines=$(wc -l <README.md) words=$(wc -w <README.md)
[ "$lines" -le 200 ] || wrong "README.md has $lines lines; 200 are allowed: move something to docs/"
[ "$words" -le 1500 ] || wrong "README.md has $words words; 1,500 are allowed: move something to docs/"
long=$(awk 'length > 110 { print FNR }' README.md | tr '\n' ' ')
[ -z "$long" ] || wrong "README.md: lines of more than 110 columns: $long"

# ---- pages --------------------------------------------------------------------------------------
for page in docs/*.md; do
	sed -n 3p "$page" | grep -q '^This page ' || wrong "$page: its third line does not say what the page is for"
	grep -q "($page)" README.md || wrong "$page: README.md does not name it"
done

# Anchors as they are made of headings: small letters, blanks as -, other signs left out.
anchors() { sed -n '/^```/,/^```/!s/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'; }
for page in README.md CONTRIBUTING.md SECURITY.md docs/*.md proxy/*/README.md proxy/README.md tests/README.md; do
	[ -e "$page" ] || continue
	folder=$(dirname "$page")
	for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//'); do
		case $link in http://* | https://* | mailto:*) continue ;; esac
		file=${link%%#*} anchor=
		case $link in *'#'*) anchor=${link#*#} ;; esac
		if [ -z "$file" ]; then file=$page; else file=$folder/$file; fi
		if [ ! -e "$file" ]; then
			wrong "$page: the link $link leads nowhere"
		elif [ -n "$anchor" ] && ! anchors "$file" | grep -qx -- "$anchor"; then
			wrong "$page: the link $link leads to no heading"
		fi
	done
done
for picture in $(grep -ohE 'src(set)?="[^"]*"' README.md | sed 's/.*="//; s/"$//'); do
	[ -e "$picture" ] || wrong "README.md: the picture $picture is not there"
	[ "$(stat -c %s "$picture" 2>/dev/null || echo 0)" -le 131072 ] || wrong "$picture is larger than 128 KiB"
done
for named in $(grep -rhoE 'docs/[a-z0-9-]+\.md' proxy config packaging debian bench tests/scenario tests/README.md \
	CONTRIBUTING.md SECURITY.md CHANGELOG.md 2>/dev/null | sort -u); do
	[ -e "$named" ] || wrong "$named is named somewhere, and is not there"
done

# A sentence begins behind a stop, in a list or a cell; headless.awk says what is meant.
# shellcheck disable=SC2046 # names without spaces
headless=$(awk '
function look(s) {
	sub(/^[ |*>-]+/, "", s)
	if (s ~ /^(What|Whatever|Who|Whoever|Whose|Which|That)[ ,]/ && s !~ /\?/)
		print FILENAME ": " s
}
/^```/ { inside = !inside; next }
inside || /^#/ || /^\|---/ { next }
/^ *$/ { flush(); next }
/^\|/ || /^ *([-*]|[0-9]+\.) / { flush() }
{ text = text " " $0 }
FNR == 1 && text ~ /^ *$/ { text = "" }
END { flush() }
function flush(    n, i, parts) {
	gsub(/  +/, " ", text)
	gsub(/[.;:?!] /, "&\n", text)
	gsub(/ \| /, "\n", text)
	n = split(text, parts, "\n")
	for (i = 1; i <= n; i++)
		look(parts[i])
	text = ""
}' README.md docs/*.md)
[ -z "$headless" ] || wrong "sentences that open headless:
$headless"

# A name such as `cache.disk` is that of a setting, or of a number of /stats.
names=$({
	grep -ohE '[a-z_0-9]+:' config/twice.yaml
	grep -ohiE '[a-z_0-9]+' proxy/admin/*.[ch] proxy/*/*.h proxy/*/*/*.h | tr 'A-Z' 'a-z'
} 2>/dev/null | tr -d ':' | sort -u)
unknown=$(echo "$names" | awk '
NR == FNR { known[$1] = 1; next }
FILENAME ~ /from-/ { next }
/^```/ { inside = !inside }
inside { next }
{
	while (match($0, /`[a-z_0-9]+(\.[a-z_0-9]+)+`/)) {
		name = substr($0, RSTART + 1, RLENGTH - 2)
		$0 = substr($0, RSTART + RLENGTH)
		n = split(name, parts, ".")
		for (i = 1; i <= n && parts[i] in known; i++)
			;
		if (i <= n && name !~ /\.(md|txt|c|h|sh|yaml|yml|json|service|socket|logrotate|html|net|com)$/)
			print FILENAME ":" FNR ": no setting and no number of /stats has the name " name
	}
}' - README.md docs/*.md)
[ -z "$unknown" ] || wrong "$unknown"

# ---- figures ------------------------------------------------------------------------------------
figures=$(awk -f tests/lint/figures.awk docs/measured.md README.md docs/*.md)
[ -z "$figures" ] || wrong "$figures"
exit $status
