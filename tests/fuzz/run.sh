#!/bin/sh
# run.sh NAME SECONDS - fuzzes one parser, which is built. Inputs that it falls for are left in build/found/NAME. The limit
# for one input is 10 s of the machine's clock; an input that takes longer is run again, alone, for a machine may stand
# still for that long, and a parser that hangs hangs again.
cd "$(dirname "$0")/../.." || exit 1
name=$1 seconds=$2
program=build/fuzz/fuzz/fuzz_$name found=build/found/$name dict=tests/fuzz/dict/$name.dict
rm -rf "$found"
mkdir -p "build/corpus/$name" build/dict "$found"
[ ! -e "$dict" ] || tests/fuzz/dict.sh "$name" >"build/dict/$name" || exit 1
set -- "build/corpus/$name"
for seeds in "tests/fuzz/corpus/$name" "tests/fuzz/regress/$name"; do
	[ ! -d "$seeds" ] || set -- "$@" "$seeds"
done
[ ! -e "$dict" ] || set -- -dict="build/dict/$name" "$@"
"$program" -max_total_time="$seconds" -timeout=10 -artifact_prefix="$found/" -print_final_stats=1 "$@" && exit 0
code=$?
[ -n "$(ls "$found")" ] && [ -z "$(find "$found" -type f ! -name 'timeout-*')" ] || exit $code
echo "run.sh: an input took more than 10 s: once more, alone"
"$program" -timeout=10 -artifact_prefix="$found/" "$found"/timeout-*
