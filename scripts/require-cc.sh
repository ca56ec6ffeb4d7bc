#!/bin/sh
# Makes sure that there is a working C compiler: the race detector links C code
# on every system but macOS. Root on a machine with apt-get gets one installed.
# Everybody else gets the one command that does it, and exit code 2.
set -eu

[ "$(go env GOOS)" != darwin ] || exit 0

cc=$(go env CC)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A compiler without the headers of the C library is a common half-installation,
# so "there is a cc" is not enough. CC may hold arguments: it is not quoted.
works() {
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' >"$tmp/try.c"
	$cc -o "$tmp/try" "$tmp/try.c" >"$tmp/log" 2>&1
}

! works || exit 0

if command -v apt-get >/dev/null; then
	install="apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev"
	if [ "$(id -u)" = 0 ]; then
		echo "make test: installing a C compiler for the race detector" >&2
		if DEBIAN_FRONTEND=noninteractive sh -c "$install" >&2 && works; then exit 0; fi
	else
		install="sudo sh -c '$install'"
	fi
elif command -v dnf >/dev/null; then install="sudo dnf install -y gcc glibc-devel"
elif command -v apk >/dev/null; then install="sudo apk add gcc musl-dev"
elif command -v pacman >/dev/null; then install="sudo pacman -S --needed --noconfirm gcc"
elif command -v zypper >/dev/null; then install="sudo zypper install -y gcc glibc-devel"
else install="CC=/path/to/cc make test   # with a C compiler of yours"
fi

echo "make test: the race detector needs a C compiler, and '$cc' does not work. Run:" >&2
echo "  $install" >&2
exit 2
