#pragma once

#include "absl/status/statusor.h"
#include "src/net/unique_fd.h"

namespace lockstep::cli {

// A fresh random secret for one job, in a file without a name (close-on-exec). A child that inherits the
// descriptor reads it as LOCKSTEP_SECRET_FILE=/proc/self/fd/N. So it shows up in no argument list, in no
// printed environment and on no disk, and is gone with the job's last process.
absl::StatusOr<net::UniqueFd> MakeSecretFile();

}  // namespace lockstep::cli
