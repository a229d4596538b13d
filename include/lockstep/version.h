#pragma once

#include "lockstep/export.h"

#define LOCKSTEP_VERSION_MAJOR 0
#define LOCKSTEP_VERSION_MINOR 1
#define LOCKSTEP_VERSION_PATCH 0

namespace lockstep::inline v0 {

// Of the library that is loaded, as "0.1.0".
LOCKSTEP_EXPORT const char* Version();

}  // namespace lockstep::inline v0
