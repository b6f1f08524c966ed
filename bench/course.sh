#!/bin/bash
# course.sh - the course experiment on a server-side filter (filter_course.c), in process and through
# the admin server of a twice of its own on free ports.
#
#	bench/course.sh
. bench/lib.sh

start_origin
start_twice "$WORK/cache" 64MiB 8MiB 2
machine
$ASIDE "$BIN/filter_course" --admin "127.0.0.1:$ADMIN"
