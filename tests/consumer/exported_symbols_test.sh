#!/usr/bin/env bash
# exported_symbols_test.sh LIBRARY: of our own names the library shows those of the public namespace, and no others;
# the soname carries the version that programs depend on.
set -euo pipefail
library=$1
shown=$(nm -D --defined-only "$library" | c++filt)

grep -q 'lockstep::v0::Communicator::Create' <<<"$shown" || {
  echo "the library does not show Communicator::Create"
  exit 1
}
# A name counts as ours by its own scope; what only has one of our types among its arguments belongs to others.
leaked=$(sed -E 's/^[0-9a-f]* *[A-Za-z] (vtable for |typeinfo for |typeinfo name for |VTT for |guard variable for )?//' \
  <<<"$shown" | grep -E '^lockstep' | grep -vE '^lockstep::v0::' || true)
if [[ -n $leaked ]]; then
  echo "internal names are visible (mark nothing but public classes and functions with LOCKSTEP_EXPORT):"
  head -n 20 <<<"$leaked"
  exit 1
fi
header=$(objdump -p "$library")
grep -qE 'SONAME +liblockstep\.so\.[0-9]+\.[0-9]+$' <<<"$header" || {
  echo "the library has no versioned soname"
  exit 1
}
echo "$(grep -c 'lockstep::v0::' <<<"$shown") public names, no internal one"
