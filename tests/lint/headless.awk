# headless.awk - comments that open headless: their first word is What, Whatever, Who, Whoever, Whose, Where,
# Which or That, and a clause takes the place of the subject ("What a request allocates"). Prints
# "FILE:LINE: SENTENCE". awk -f headless.awk FILE...
#
# A question is none of them ("Where does it lie?"), nor is Where before a comma ("Where nothing is known, it
# is asked"). A sentence ends at . ? ! ; or : before a space. In files that are not C, comments begin at the
# first of the lines that begin with #.
function look(    words, stop) {
	words = sentence
	sentence = ""
	if (words !~ /^(What|Whatever|Who|Whoever|Whose|Where|Which|That)[ ,]/)
		return
	gsub(/ +/, " ", words)
	if (match(words, /[.?!;:]( |$)/))
		words = substr(words, 1, RSTART)
	if (words !~ /\?$/ && !(words ~ /^Where/ && words ~ /,/))
		print FILENAME ":" line ": " words
}
function add(s) {
	gsub(/^[ \t*#]+|[ \t]+$/, "", s)
	sentence = sentence (sentence == "" ? "" : " ") s
}
FNR == 1 { inside = 0; sentence = ""; is_c = FILENAME ~ /\.[ch]$/ }
is_c {
	rest = $0
	if (!inside) {
		gsub(/"([^"\\]|\\.)*"/, "\"\"", rest)
		if (!match(rest, /\/\*/))
			next
		rest = substr($0, index($0, "/*") + 2)
		inside = 1
		line = FNR
	}
	end = index(rest, "*/")
	add(end ? substr(rest, 1, end - 1) : rest)
	if (end) {
		look()
		inside = 0
	}
	next
}
/^[ \t]*#([^!]|$)/ {
	if (!inside)
		line = FNR
	inside = 1
	add($0)
	next
}
inside { look(); inside = 0 }
