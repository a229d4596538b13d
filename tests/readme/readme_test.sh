#!/usr/bin/env bash
# readme_test.sh ROOT: the README's first C++ block is examples/minimal/main.cc to the letter and has at most 40
# lines; every C++ block compiles; every relative link leads to a file; the first screen names the two commands.
set -euo pipefail
cd "$1"
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

awk -v folder="$blocks" '
  /^```cpp$/ { n++; inside = 1; next }
  /^```$/ { inside = 0 }
  inside { print > (folder "/block" n ".cc") }' README.md

[[ -e $blocks/block1.cc ]] || fail "README.md has no C++ block"
diff -u examples/minimal/main.cc "$blocks/block1.cc" || fail "the first C++ block differs from examples/minimal/main.cc"
[[ $(wc -l <examples/minimal/main.cc) -le 40 ]] || fail "examples/minimal/main.cc is longer than 40 lines"
for block in "$blocks"/*.cc; do
  g++ -std=c++20 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$block" || fail "$(basename "$block") does not compile"
done

first_screen=$(head -n 30 README.md)
for command in scripts/quickstart scripts/test; do
  grep -q "$command" <<<"$first_screen" || fail "the first screen does not name $command"
  [[ -x $command ]] || fail "$command cannot be run"
done
for page in README.md docs/*.md; do
  while read -r link; do
    [[ -e $(dirname "$page")/${link%%#*} ]] || fail "$page links to $link, which is not there"
  done < <(grep -oE '\]\([^)#][^)]*\)' "$page" | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^(https?|mailto):' || true)
done
[[ $failures -eq 0 ]] && echo "README and pages are sound"
