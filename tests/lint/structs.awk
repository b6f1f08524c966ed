# structs.awk - how many members the structs of C files have, and how many of those are bools: prints
# "FILE STRUCT MEMBERS BOOLS" for each struct that has a name. awk -f structs.awk FILE...
#
# Each declarator is a member ("int a, b;" has two), and so is a bit field; one of a single bit counts as a
# bool, an array of bools as one. Of a struct or union that is written inside another one the members count,
# with or without names. A table of rows that a struct includes counts as one. Needs C that compiles.
function begin() { words = 0; first = last = ""; extra = 0; pointers = 0; is_bool = 0; bits = 0; singles = 0; colon = 0; inner = 0 }
# A declarator ends: of "a", "*b", "c : 1" in turn.
function declarator() {
	if (colon && width == "1")
		singles++
	else if (is_bool && !pointers)
		singles++
	extra++
	pointers = colon = 0
	width = ""
}
function member() { # a declaration ends at its semicolon
	if (words && first !~ /^(_Static_assert|static_assert|typedef)$/ && !inner) {
		declarator()
		members[depth] += extra
		bools[depth] += singles
	}
	begin()
}
function token(t) {
	if (skip) { # inside the braces of an enum, a function or an initializer
		skip += (t == "{") - (t == "}")
		return
	}
	if (round) { # in ( ) or [ ]
		round += (t ~ /[(\[]/) - (t ~ /[)\]]/)
		return
	}
	if (t == "{") {
		if (keyword ~ /^(struct|union)$/) {
			depth++
			name[depth] = tag
			members[depth] = bools[depth] = 0
		} else
			skip = 1
		keyword = tag = ""
		begin()
		return
	}
	if (t == "}") {
		if (!depth)
			return
		if (name[depth] != "")
			print FILENAME, name[depth], members[depth], bools[depth]
		depth--
		if (depth) {
			members[depth] += members[depth + 1]
			bools[depth] += bools[depth + 1]
		}
		begin()
		inner = 1
		return
	}
	if (t ~ /^(struct|union|enum)$/) {
		keyword = t
		tag = ""
	} else if (keyword != "" && tag == "" && t ~ /^[A-Za-z_]/)
		tag = t
	else if (t != "(" || tag == "") # struct tag *f(...) has no braces of its own
		keyword = ""
	if (!depth)
		return
	if (t == ";") {
		member()
	} else if (t == ",") {
		if (!inner)
			declarator()
	} else if (t == "*") {
		pointers++
	} else if (t == ":") {
		colon = 1
	} else if (t ~ /^[(\[]$/) {
		round = 1
	} else {
		if (colon)
			width = t
		else if (t ~ /^(bool|_Bool|atomic_bool)$/)
			is_bool = 1
		if (!words++)
			first = t
	}
}
function read(s,    t) {
	while (match(s, /[A-Za-z_][A-Za-z_0-9]*|[0-9][A-Za-z_0-9.]*|[^ \t]/)) {
		t = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		token(t)
	}
}
FNR == 1 { depth = skip = round = comment = 0; directive = ""; keyword = tag = ""; begin() }
{
	s = $0
	gsub(/\\./, "", s)
	gsub(/"[^"]*"/, "s", s)
	gsub(/'[^']*'/, "0", s)
	while (comment || match(s, /\/[*\/]/)) {
		if (!comment) {
			head = substr(s, 1, RSTART - 1)
			comment = 1
			if (substr(s, RSTART, 2) == "//") {
				s = head
				comment = 0
				continue
			}
			s = substr(s, RSTART + 2)
		} else
			head = ""
		end = index(s, "*/")
		if (!end) {
			s = head
			break
		}
		s = head " " substr(s, end + 2)
		comment = 0
	}
	if (directive || s ~ /^[ \t]*#/) {
		if (!directive && depth && !skip && s ~ /^[ \t]*#[ \t]*include/)
			members[depth]++
		directive = $0 ~ /\\$/
		next
	}
	read(s)
}
