#!/usr/bin/env bash
# ratios_test.sh SOURCE: the table and the JSON of benchmarks/peers, from times that are known.
set -euo pipefail
json=$(mktemp)
trap 'rm -f "$json"' EXIT
# Ratios of the rounds: 2, 0.5, 1; of Open MPI, which was measured at one size only: 10, 20, 30.
table=$(awk -v ops=allreduce,barrier -v bytes=4,1024 -v ranks=2 -v rounds=3 -v congestion=cubic -v cores=2 -v date=now \
  -v sides="lockstep gloo openmpi" -v json="$json" -f "$1/benchmarks/peers/ratios.awk" <<END
0 lockstep allreduce 4 20
0 gloo allreduce 4 10
0 openmpi allreduce 4 2
1 gloo allreduce 4 20
1 lockstep allreduce 4 10
1 openmpi allreduce 4 0.5
2 openmpi allreduce 4 1
2 lockstep allreduce 4 30
2 gloo allreduce 4 30
0 lockstep allreduce 1024 7
END
)
expect() {
  grep -Eq "$1" <<<"$2" && return
  printf 'no line matches: %s\nin:\n%s\n' "$1" "$2" >&2
  exit 1
}
expect '^allreduce +4 +20\.0 +20\.0 +1\.0 +gloo +1\.00 \( +0\.50\.\. +2\.00\) +openmpi 20\.00 \(10\.00\.\.30\.00\)$' "$table"
expect '^allreduce +1024 +7\.0 +- +-$' "$table"
expect '^barrier +0 +- +- +-$' "$table"
expect '"op": "allreduce", "ranks": 2, "bytes": 4, "lockstep_us": 20.000, "gloo_us": 20.000' "$(cat "$json")"
expect '"ratio_gloo": 1.0000, "ratio_gloo_min": 0.5000, "ratio_gloo_max": 2.0000' "$(cat "$json")"
