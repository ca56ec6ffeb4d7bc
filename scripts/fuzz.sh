#!/bin/sh
# Runs every fuzz target of the module for a while: go test fuzzes one target of
# one package at a time. Usage: fuzz.sh [TIME], TIME as in go test -fuzztime.
set -eu

time=${1:-60s}

# go test -list prints the targets of a package, then "ok <package> <seconds>".
list=$(go test -list '^Fuzz' ./...)
targets=$(printf '%s\n' "$list" | awk '/^Fuzz/ { names[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')

printf '%s\n' "$targets" | while read -r package target; do
	[ -n "$target" ] || continue
	echo "fuzz $package $target"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
done
