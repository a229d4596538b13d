#pragma once

// Marks what the shared library shows; everything else is built with hidden visibility.
#define LOCKSTEP_EXPORT __attribute__((visibility("default")))
