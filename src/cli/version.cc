#include "lockstep/version.h"

#include <cstdio>

#include "src/cli/verbs.h"
#include "src/net/hello.h"

namespace lockstep::cli {

int ShowVersion(const Arguments&) {
  std::printf("lockstep %s (protocol %u)\n", Version(), net::kProtocolVersion);
  return 0;
}

}  // namespace lockstep::cli
