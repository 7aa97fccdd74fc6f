// SPDX-License-Identifier: Apache-2.0
// The trace of a start: when each of its programs did what. It costs a start one write to a file of
// its lease for each program, so it is always there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace base {

// A step of a program that had ended at NANOS of CLOCK_MONOTONIC.
struct TraceStep {
  int64_t nanos;
  int64_t pid;
  std::string program;
  std::string what;
};

// These may be called by several threads at once.
//
// Keeps a step in memory, with 200 bytes of it. Of more than 64 steps, the first 32 and the last 32
// are kept.
void keep_step(std::string_view what);

// Names this process in its steps. PROGRAM must stay valid.
void trace_as(const char* program);

// Says where write_trace() appends the steps of this process: an absolute path.
void trace_to(std::string file);

// Appends the steps. Does nothing without trace_to(); a failure is not reported: no start fails for
// its trace.
void write_trace();

// Returns the steps of all programs that wrote to FILE, in the order of their times. Lines that
// write_trace() does not write are left out.
Result<std::vector<TraceStep>> read_trace(const std::string& file);

}  // namespace base
