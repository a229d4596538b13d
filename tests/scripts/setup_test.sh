#!/usr/bin/env bash
# Runs a copy of scripts/setup with a package system of our own in its PATH, and looks at what it asks of it.
set -euo pipefail
source_dir=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/tree/scripts" "$place/bin"
cp "$source_dir/scripts/setup" "$place/tree/scripts/"
printf '# Tools.\nhammer\n\nnail\nsaw\n' >"$place/tree/scripts/packages.txt"
failures=0

# fake NAME BODY: a program of that name, before all others.
fake() {
  printf '#!/bin/bash\n%s\n' "$2" >"$place/bin/$1"
  chmod +x "$place/bin/$1"
}

# What is installed stands in a file, which the fake apt-get adds to; every call of it is noted.
fresh_system() {
  printf '%s\n' "$@" >"$place/installed"
  : >"$place/calls"
  fake dpkg-query "sed 's/^/installed /' '$place/installed'"
  fake id 'echo 0'
  fake apt-get "echo \"\$*\" >>'$place/calls'"
  rm -f "$place/bin/sudo"
}

setup() { PATH="$place/bin:/usr/bin:/bin" "$place/tree/scripts/setup" 2>&1; }

expect() {
  local name=$1
  shift
  if "$@"; then echo "ok $name"; else
    echo "FAILED $name: ${output:-no output}; calls: $(cat "$place/calls")"
    failures=$((failures + 1))
  fi
}

fresh_system hammer nail saw
output=$(setup)
expect 'asks for nothing when nothing is missing' test ! -s "$place/calls" -a -z "$output"

fresh_system hammer
output=$(setup)
expect 'asks for what is missing' grep -q 'install .*nail saw$' "$place/calls"
expect 'does not ask for the rest' test -z "$(grep hammer "$place/calls" || true)"

fresh_system hammer nail saw.old
output=$(setup)
expect 'takes no other package for the one it needs' grep -q 'install .* saw$' "$place/calls"

fresh_system hammer nail
fake apt-get "echo \"\$*\" >>'$place/calls'; echo 'E: cannot reach the mirror'; exit 100"
status=0
output=$(setup) || status=$?
expect 'fetches the lists when installing fails' grep -q update "$place/calls"
expect 'fails when it cannot install' test "$status" -eq 1
expect 'says what apt-get said' grep -q 'cannot reach the mirror' <<<"$output"
expect 'says what it wanted' grep -q 'could not install saw' <<<"$output"

# Without sudo: only the programs that the script needs can be found.
fresh_system hammer nail
fake id 'echo 1000'
mkdir "$place/few"
for program in bash dirname sed grep mkdir tail cat env; do ln -s "$(command -v $program)" "$place/few/"; done
status=0
output=$(PATH="$place/bin:$place/few" "$place/tree/scripts/setup" 2>&1) || status=$?
expect 'fails without root and sudo' test "$status" -eq 1
expect 'says what an administrator has to do' grep -q 'apt-get install saw' <<<"$output"

fresh_system
output=$(SKIP_SETUP=1 setup)
expect 'can be skipped' test ! -s "$place/calls"

[[ $failures -eq 0 ]]
