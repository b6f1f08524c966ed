#!/bin/sh
# hardened.sh [BINARY] - reads from the built program itself how it is hardened (`readelf`, OBJDUMP). Where
# the machine that it is for has no such protection, that line is left out.
binary=${1:-${TWICE:-build/release/bin/twice}}
objects=${binary%/bin/*}/proxy
OBJDUMP=${OBJDUMP:-objdump}
passed=0 failed=0

must() { # what must be true, then a command
	what=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "hardened.sh: $binary: $what"
	fi
}
says() { # words, then a command whose output must hold them
	words=$1
	shift
	"$@" 2>/dev/null | grep -qE "$words"
}
probes() {
	"$OBJDUMP" -d --no-show-raw-insn "$binary" | awk '/sub +\$0x1000,%rsp/ { page = NR }
		/(orq|movq) +\$0x0,\(%rsp\)/ && page == NR - 1 { found = 1; exit } END { exit !found }'
}
not() { ! "$@"; }

must "no position-independent executable (-fPIE -pie)" says 'Type:.*DYN' readelf -hW "$binary"
must "no read-only relocations (-z relro)" says 'GNU_RELRO' readelf -lW "$binary"
must "relocations are bound lazily (-z now)" says 'BIND_NOW|NOW' readelf -dW "$binary"
must "a stack that can be executed" not says 'GNU_STACK.*E' readelf -lW "$binary"
must "no text relocations" not says 'TEXTREL' readelf -dW "$binary"
must "no stack protector (-fstack-protector-strong)" says '__stack_chk_fail' readelf -sW "$binary"
must "no checked library calls (_FORTIFY_SOURCE)" says '__(memcpy|snprintf|vsnprintf)_chk' readelf -sW "$binary"
case $(readelf -hW "$binary" 2>/dev/null | grep Machine:) in
*X86-64)
	must "no marks for indirect branches (-fcf-protection)" says 'endbr64' "$OBJDUMP" -d "$objects/serve/txn.o"
	# A frame of several pages is touched page by page: gcc's and clang's way to do it.
	must "no probes of large frames (-fstack-clash-protection)" probes
	;;
*AArch64)
	must "no branch protection (-mbranch-protection)" says 'paciasp|bti' "$OBJDUMP" -d "$objects/serve/txn.o"
	;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
