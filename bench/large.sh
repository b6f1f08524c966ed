#!/bin/bash
# large.sh - CPU of the proxy for a hit of a large body (BYTES, 1 MiB) that lies in the page cache and not in
# the RAM tier, beside nginx with sendfile. Rounds are interleaved; the ratio is to nginx of the same round.
#
#	bench/large.sh [ROUNDS [SECONDS]]
export BYTES=${BYTES:-1048576} CONNECTIONS=${CONNECTIONS:-8} SERVERS=${SERVERS:-"twice nginx"} DISK=1GiB MEMORY=1MiB
export HITS_DIR=${HITS_DIR:-${BENCH_DIR:-/var/tmp}} # a real file system: a tmpfs cannot read without waiting
exec bench/hit.sh "$@"
