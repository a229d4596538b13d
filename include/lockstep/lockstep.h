#pragma once

// Everything a trainer needs: start with communicator.h.
#include "lockstep/communicator.h"
#include "lockstep/device.h"
#include "lockstep/dtype.h"
#include "lockstep/reduce_op.h"
#include "lockstep/status.h"
#include "lockstep/stream.h"
#include "lockstep/tensor_view.h"
#include "lockstep/version.h"
#include "lockstep/work.h"
