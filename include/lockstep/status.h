#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lockstep/export.h"

namespace lockstep::inline v0 {

// The codes that the library uses, and what they mean here:
//
//   Unavailable         a rank was lost, or left while others waited for it: LostRanks() names them
//   DeadlineExceeded    the call's deadline passed
//   FailedPrecondition  ranks disagree about a call (the message names both sides), or calls out of order
//   Aborted             Communicator::Abort was called, here or on another rank
//   InvalidArgument     the arguments of this rank are wrong by themselves
//   ResourceExhausted   memory, descriptors or ports ran out
//   DataLoss            an authenticated frame arrived damaged
//   Unimplemented       not built in, or not there in this version

// The ranks (of the communicator that reported it) that an Unavailable status names; empty for other
// statuses.
LOCKSTEP_EXPORT std::vector<int> LostRanks(const absl::Status& status);

}  // namespace lockstep::inline v0

// Returns from the calling function when `expression`, an absl::Status, is not OK.
#define LOCKSTEP_RETURN_IF_ERROR(expression)                                                             \
  do {                                                                                                   \
    if (::absl::Status lockstep_status_ = (expression); !lockstep_status_.ok()) return lockstep_status_; \
  } while (false)

#define LOCKSTEP_STATUS_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_STATUS_CONCAT_(a, b) LOCKSTEP_STATUS_CONCAT_INNER_(a, b)

// LOCKSTEP_ASSIGN_OR_RETURN(auto comm, Communicator::Create());
#define LOCKSTEP_ASSIGN_OR_RETURN(declaration, expression)                                            \
  LOCKSTEP_ASSIGN_OR_RETURN_IMPL_(LOCKSTEP_STATUS_CONCAT_(lockstep_statusor_, __LINE__), declaration, \
                                  expression)
#define LOCKSTEP_ASSIGN_OR_RETURN_IMPL_(statusor, declaration, expression) \
  auto statusor = (expression);                                            \
  if (!statusor.ok()) return std::move(statusor).status();                 \
  declaration = *std::move(statusor)
