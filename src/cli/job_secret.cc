#include "src/cli/job_secret.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep::cli {

absl::StatusOr<net::UniqueFd> MakeSecretFile() {
  std::string bytes(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1)
    return absl::InternalError("the system gave no random bytes for the job's secret");
  const std::string secret = absl::BytesToHexString(bytes);
  net::UniqueFd file(memfd_create("lockstep-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || fchmod(file.get(), 0600) != 0 ||
      write(file.get(), secret.data(), secret.size()) != static_cast<ssize_t>(secret.size()) ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return absl::ResourceExhaustedError(absl::StrCat("no file for the job's secret (", strerror(errno),
                                                     "); set LOCKSTEP_SECRET to one of your own"));
  return file;
}

}  // namespace lockstep::cli
