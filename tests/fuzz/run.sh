#!/bin/sh
# run.sh NAME SECONDS - runs the fuzzer of that name, which `make fuzz F=NAME` has built, from its seeds and findings.
# What it finds worth keeping goes to build/corpus/NAME.
cd "$(dirname "$0")/../.." || exit 1
name=$1
mkdir -p "build/corpus/$name" build/dict
set -- -max_total_time="$2" -timeout=10 -print_final_stats=1 "build/corpus/$name"
for seeds in "tests/fuzz/corpus/$name" "tests/fuzz/regress/$name"; do
	[ ! -d "$seeds" ] || set -- "$@" "$seeds"
done
if [ -e "tests/fuzz/dict/$name.dict" ]; then
	tests/fuzz/dict.sh "$name" >"build/dict/$name" || exit 1
	set -- -dict="build/dict/$name" "$@"
fi
exec "build/asan/fuzzer/fuzz_$name" "$@"
