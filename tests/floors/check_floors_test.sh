#!/usr/bin/env bash
# Gives scripts/check-floors small trees, one rule broken in each, and expects each violation to be named.
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# A tree in which all is well: every floor that matters, and one public header.
fresh_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{include/lockstep,src/{base,net,device,transport/tcp,comm,cli},kernels/cpu,examples/gpt}
  printf '#include <vector>\n#include "absl/status/statusor.h"\n' >"$tree/include/lockstep/dtype.h"
  printf '#include "lockstep/dtype.h"\n' >"$tree/include/lockstep/stream.h"
  printf '#include "lockstep/dtype.h"\n#include <fcntl.h>\n' >"$tree/src/base/dtype.cc"
  printf '#include "lockstep/dtype.h"\n' >"$tree/src/net/frame.h"
  printf '#include "lockstep/stream.h"\n' >"$tree/src/device/stream.cc"
  printf '#include "src/net/frame.h"\n#include "kernels/cpu/sum.h"\n' >"$tree/src/transport/tcp/tcp.cc"
  printf '#include "lockstep/dtype.h"\n' >"$tree/kernels/cpu/sum.h"
  printf '#include "src/net/frame.h"\n#include <boost/asio.hpp>\n' >"$tree/src/comm/engine.h"
  printf '#include "src/comm/engine.h"\n' >"$tree/src/cli/main.cc"
}

# rejects NAME FILE LINE MESSAGE: with LINE added to FILE the check fails, and its output has MESSAGE.
rejects() {
  local name=$1 file=$2 line=$3 message=$4 output
  fresh_tree
  mkdir -p "$(dirname "$tree/$file")"
  printf '%s\n' "$line" >>"$tree/$file"
  if output=$("$check" "$tree"); then
    echo "FAILED $name: accepted"
    failures=$((failures + 1))
  elif [[ $output != *"$file"*"$message"* ]]; then
    printf 'FAILED %s: expected "%s ... %s", got:\n%s\n' "$name" "$file" "$message" "$output"
    failures=$((failures + 1))
  else
    echo "ok $name"
  fi
}

fresh_tree
"$check" "$tree" || {
  echo "FAILED: a sound tree is rejected"
  failures=1
}
rejects 'a floor above' src/net/frame.h '#include "src/comm/engine.h"' 'a floor above src/net'
rejects 'a floor above, spaced' src/net/frame.h '  #  include   "src/comm/engine.h"  // why' 'a floor above'
rejects 'kernels reach up' kernels/cpu/sum.h '#include "src/comm/engine.h"' 'a floor above kernels'
rejects 'the library reaches a program' src/comm/engine.h '#include "src/cli/main.cc"' 'a floor above src/comm'
rejects 'a public header of a floor above' src/base/dtype.cc '#include "lockstep/stream.h"' 'a floor above src/base'
rejects 'a public header sees src' include/lockstep/dtype.h '#include "src/net/frame.h"' 'public headers see'
rejects 'a public header sees Asio' include/lockstep/dtype.h '#include <boost/asio.hpp>' 'public headers see'
rejects 'a public header sees CUDA' include/lockstep/dtype.h '#include <cuda_runtime.h>' 'public headers see'
rejects 'a public header sees POSIX' include/lockstep/dtype.h '#include <unistd.h>' 'public headers see'
rejects 'a public header sees more of Abseil' include/lockstep/dtype.h '#include "absl/strings/str_cat.h"' \
  'public headers see'
rejects 'a header that is not there' src/comm/engine.h '#include "src/net/gone.h"' 'no such file'
rejects 'a relative path' src/transport/tcp/tcp.cc '#include "../transport.h"' 'from the root'
rejects 'a sibling by its bare name' src/transport/tcp/tcp.cc '#include "tcp.cc"' 'from the root'
rejects 'the product sees a test' src/comm/engine.h '#include "tests/world.h"' 'tests see the product'
rejects 'programs see each other' examples/gpt/main.cc '#include "src/cli/main.cc"' 'programs share through'
rejects 'a folder without a floor' src/misc/pile.cc '#include <vector>' 'without a floor'

[[ $failures -eq 0 ]]
