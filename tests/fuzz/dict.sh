#!/bin/sh
# dict.sh NAME - the dictionary for a fuzzer, in libFuzzer's form: the words of tests/fuzz/dict/NAME.dict, and
# behind them each string without blanks of the sources that its lines "# from: FILE..." name, so that a new row
# of a table is a new word. A string with | in it is a list of words.
cd "$(dirname "$0")/../.." || exit 1
dict=tests/fuzz/dict/$1.dict
[ -f "$dict" ] || exit 1
files=$(sed -n 's/^# from: //p' "$dict")
# shellcheck disable=SC2086 # names without spaces
[ -z "$files" ] || ls $files >/dev/null || exit 1
cat "$dict"
# shellcheck disable=SC2086
[ -z "$files" ] || awk '
	/^[ \t]*#[ \t]*include/ { next }
	{
		gsub(/\/\*[^*]*\*\//, "")
		while (match($0, /"([^"\\]|\\.)*"/)) {
			n = split(substr($0, RSTART + 1, RLENGTH - 2), word, "|")
			$0 = substr($0, RSTART + RLENGTH)
			for (i = 1; i <= n; i++)
				if (word[i] !~ /[ \t%\\]/ && length(word[i]) > 1 && length(word[i]) <= 40 && !seen[word[i]]++)
					print "\"" word[i] "\""
		}
	}' $files
