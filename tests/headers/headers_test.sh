#!/usr/bin/env bash
# headers_test.sh FOLDER: every public header under FOLDER compiles as the only line of a program, in C++20 with
# warnings as errors, with g++ and with clang++ where it is installed. None of them may reach what a user need
# not have: the files that the preprocessor opened are looked through for the libraries behind the product.
set -euo pipefail
include=$1
compilers=()
for compiler in g++ clang++ clang++-14; do
  command -v "$compiler" >/dev/null && compilers+=("$compiler")
done
# clang++ is often clang++-14 by another name.
[[ ${#compilers[@]} -eq 3 ]] && unset 'compilers[2]'
failures=0

# alone COMPILER HEADER: compiles a program that is that header, twice.
alone() {
  local name=lockstep/$(basename "$2")
  printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
    "$1" -std=c++20 -Wall -Wextra -Wconversion -Wno-sign-conversion -Werror -fsyntax-only -I"$include" -x c++ - || {
    echo "FAILED: $name does not compile alone with $1"
    return 1
  }
}
export -f alone
export include

for compiler in "${compilers[@]}"; do
  printf '%s\0' "$include"/lockstep/*.h |
    xargs -0 -n 1 -P 2 bash -c 'alone "$0" "$1"' "$compiler" || failures=$((failures + 1))
done

opened=$(printf '#include "lockstep/lockstep.h"\n' | g++ -std=c++20 -I"$include" -x c++ -M -)
if grep -E 'boost|cuda|nccl|ucp|openssl|dnnl|/hwy/' <<<"$opened"; then
  echo "FAILED: the public headers open files of a library that users need not have"
  failures=$((failures + 1))
fi
[[ $failures -eq 0 ]] && echo "$(ls "$include"/lockstep/*.h | wc -l) headers, ${compilers[*]}"
