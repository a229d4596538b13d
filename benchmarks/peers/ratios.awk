# Lines "ROUND SIDE OP BYTES MICROSECONDS" to the table and the JSON file of run_host.
{ time[$1, $2, $3, $4] = $5; seen[$2, $3, $4] = 1 }

function sort(list, n, i, j, held) {
  for (i = 2; i <= n; ++i) {
    held = list[i]
    for (j = i - 1; j >= 1 && list[j] > held; --j) list[j + 1] = list[j]
    list[j + 1] = held
  }
}

# Of a sorted list.
function median(list, n) {
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}

function median_time(side, op, size, list, n, round) {
  n = 0
  for (round = 0; round < rounds; ++round) if ((round, side, op, size) in time) list[++n] = time[round, side, op, size]
  sort(list, n)
  return median(list, n)
}

# Sets ratio, lowest and highest.
function compare(side, op, size, list, n, round) {
  n = 0
  for (round = 0; round < rounds; ++round)
    if ((round, side, op, size) in time && (round, "lockstep", op, size) in time)
      list[++n] = time[round, "lockstep", op, size] / time[round, side, op, size]
  sort(list, n)
  ratio = median(list, n)
  lowest = list[1]
  highest = list[n]
}

function row(op, size, i, line, object) {
  line = sprintf("%-15s %10d", op, size)
  object = sprintf("{\"path\": \"tcp\", \"op\": \"%s\", \"ranks\": %d, \"bytes\": %d", op, ranks, size)
  for (i = 1; i <= n_sides; ++i) {
    if (!((names[i], op, size) in seen)) {
      line = line sprintf(" %11s", "-")
      continue
    }
    line = line sprintf(" %11.1f", median_time(names[i], op, size))
    object = object sprintf(", \"%s_us\": %.3f", names[i], median_time(names[i], op, size))
  }
  for (i = 2; i <= n_sides; ++i) {
    if (!((names[i], op, size) in seen) || !(("lockstep", op, size) in seen)) continue
    compare(names[i], op, size)
    line = line sprintf("   %-7s %5.2f (%5.2f..%5.2f)", names[i], ratio, lowest, highest)
    object = object sprintf(", \"ratio_%s\": %.4f, \"ratio_%s_min\": %.4f, \"ratio_%s_max\": %.4f", \
                            names[i], ratio, names[i], lowest, names[i], highest)
  }
  print line
  rows = rows (rows == "" ? "" : ",\n  ") object "}"
}

END {
  n_sides = split(sides, names, " ")
  n_ops = split(ops, op_list, ",")
  n_sizes = split(bytes, size_list, ",")
  head = sprintf("%-15s %10s", "op", "bytes")
  for (i = 1; i <= n_sides; ++i) head = head sprintf(" %11s", names[i])
  print head "   (median us)   Lockstep's time / the peer's: median (lowest..highest)"
  for (o = 1; o <= n_ops; ++o) {
    if (op_list[o] == "barrier") {
      row("barrier", 0)
      continue
    }
    for (s = 1; s <= n_sizes; ++s) row(op_list[o], size_list[s])
  }
  if (json != "")
    printf "{\"date\": \"%s\", \"cores\": %d, \"rounds\": %d, \"congestion\": \"%s\", \"rows\": [\n  %s\n]}\n", \
           date, cores, rounds, congestion, rows > json
}
