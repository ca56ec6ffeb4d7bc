#!/bin/sh
# Runs every fuzz target of the module for a while: go test fuzzes one target of
# one package at a time. Usage: fuzz.sh [TIME], TIME as in go test -fuzztime.
set -eu

time=${1:-60s}

# The sources name the targets; go test -list would build every test to find them.
targets=$(git grep -n '^func Fuzz' -- '*_test.go' |
	awk -F '[:(]' '{ sub("/[^/]*$", "", $1); sub("^func ", "", $3); print "./" $1, $3 }')
[ -n "$targets" ] || { echo "fuzz.sh: found no fuzz target" >&2; exit 1; }

printf '%s\n' "$targets" | while read -r package target; do
	echo "fuzz $package $target"
	# Making an input smaller takes a minute each time if nothing says otherwise.
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
done
