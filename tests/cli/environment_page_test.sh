#!/usr/bin/env bash
# environment_page_test.sh LOCKSTEP PAGE: the committed page is what the program makes of its table.
set -euo pipefail
if ! diff -u "$2" <("$1" env --markdown); then
  echo "the page is out of date; make it anew: lockstep env --markdown > docs/environment.md" >&2
  exit 1
fi
