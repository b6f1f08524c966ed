#!/bin/sh
# layers.sh - holds every #include of the rooms against the floor plan.
cd "$(dirname "$0")/../.." || exit 1
awk -f tests/lint/layers.awk tests/lint/layers.txt $(ls filter/*.[ch] filter/*/*.[ch] config/*.[ch] proxy/*/*.[ch] proxy/*/*/*.[ch])
