#include "lockstep/version.h"

#define LOCKSTEP_QUOTE_INNER(x) #x
#define LOCKSTEP_QUOTE(x) LOCKSTEP_QUOTE_INNER(x)

namespace lockstep::inline v0 {

const char* Version() {
  return LOCKSTEP_QUOTE(LOCKSTEP_VERSION_MAJOR) "." LOCKSTEP_QUOTE(LOCKSTEP_VERSION_MINOR) "." LOCKSTEP_QUOTE(
      LOCKSTEP_VERSION_PATCH);
}

}  // namespace lockstep::inline v0
