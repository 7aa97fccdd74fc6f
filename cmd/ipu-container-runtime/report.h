// SPDX-License-Identifier: Apache-2.0
// The error channel of an OCI runtime: engines read the log file, standard error, or both.
#pragma once

#include "base/result.h"
#include "hook/container/oci/command_line.h"

namespace runtime {

// Writes "ipu: MESSAGE" once to the log that the engine named with --log (one logrus line, JSON or
// text) and once to standard error. At most 1000 bytes, no newline in it. A log that cannot be
// written is passed over: the message still stands on standard error.
void report(const hook::oci::CommandLine& line, const base::Error& error);

}  // namespace runtime
