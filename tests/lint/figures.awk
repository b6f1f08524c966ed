# figures.awk - the figures of docs/measured.md are those of bench/results, and those of other pages are those of
# docs/measured.md. awk -f figures.awk docs/measured.md README.md docs/*.md, from the top of the repository.
#
# In measured.md, each row of a table whose last column is "output" names a file of bench/results there, or says
# "a test". Each number of the columns between the first and the command must be a number of that
# file when it is rounded as the page has it: as it stands, as a percentage of a share, or with a unit of 1000
# more or less. Elsewhere, each number of a row or paragraph that names a command of bench/ must be in measured.md.
function numbers(s, into,    n, word) {
	n = 0
	gsub(/`[^`]*`/, " ", s)
	gsub(/(TLS |HTTP\/|p)[0-9.]+/, " ", s)
	gsub(/kill -9|SIGKILL/, " ", s)
	while (match(s, /[0-9][0-9,]*(\.[0-9]+)?/)) {
		word = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		gsub(/,/, "", word)
		into[++n] = word
	}
	return n
}
function decimals(word) { return word ~ /\./ ? length(word) - index(word, ".") : 0 }
function load(file,    line, n, i, found, key) {
	if (file in loaded)
		return loaded[file]
	loaded[file] = 0
	while ((getline line < ("bench/results/" file)) > 0) {
		while (match(line, /[0-9]+(\.[0-9]+)?/)) {
			found = substr(line, RSTART, RLENGTH)
			line = substr(line, RSTART + RLENGTH)
			if (!((file, found) in has)) {
				has[file, found] = 1
				value[file, ++loaded[file]] = found + 0
			}
		}
	}
	return loaded[file]
}
function is_in(file, word,    n, i, k, x, half) {
	n = load(file)
	x = word + 0
	half = 0.5 * 10 ^ -decimals(word) * 1.0000001
	for (i = 1; i <= n; i++)
		for (k = 1; k <= 4; k++) {
			d = value[file, i] * factor[k] - x
			if (d <= half && d >= -half)
				return 1
		}
	return 0
}
function complain(what) { print FILENAME ":" FNR ": " what }
function row(    cells, n, file, i, k, count, found) {
	n = split($0, cells, / *\| */)
	file = cells[n - 1]
	if (file ~ /^-+$/ || file == "output") {
		has_output = file == "output" || has_output
		return
	}
	if (!has_output)
		return
	if (file == "a test")
		return
	if (!load(file)) {
		complain("there is no output " file " in bench/results")
		return
	}
	for (i = 3; i < n - 1; i++) {
		if (cells[i] ~ /^`.*`$/)
			continue
		count = numbers(cells[i], found)
		for (k = 1; k <= count; k++)
			if (!is_in(file, found[k]))
				complain("bench/results/" file " has no " found[k])
	}
}
function paragraph(    found, count, k) {
	if (text ~ /`[A-Z0-9a-z=" ]*(bench\/|build\/release\/bench)[a-z]/ && !(page ~ /^docs\/measured/)) {
		count = numbers(text, found)
		for (k = 1; k <= count; k++)
			if (!(found[k] in told))
				print page ": a figure beside a command of bench/ is not in docs/measured.md: " found[k]
	}
	text = ""
}
BEGIN { factor[1] = 1; factor[2] = 100; factor[3] = 1000; factor[4] = 0.001 }
FNR == 1 { if (page) paragraph(); page = FILENAME; has_output = 0; inside = 0; first = page != seen[page]; seen[page] = page }
FILENAME == "docs/measured.md" && first {
	count = numbers($0, all)
	for (k = 1; k <= count; k++)
		told[all[k]] = 1
	if (/^\|/) row(); else has_output = 0
	next
}
/^```/ { inside = !inside; paragraph(); next }
inside { next }
/^ *$/ || /^\|/ || /^ *- / { paragraph() }
{ text = text " " $0 }
END { paragraph() }
