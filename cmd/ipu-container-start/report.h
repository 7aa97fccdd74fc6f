// SPDX-License-Identifier: Apache-2.0
// The error channel of an OCI runtime: engines read the log file, standard error, or both.
#pragma once

#include "base/result.h"
#include "hook/passing/command_line.h"

namespace runtime {

// Writes "ipu: MESSAGE" once to the engine's --log file (one logrus line, JSON or text) and once to
// standard error: at most 1000 bytes, without newlines. A log that cannot be written is ignored:
// the message is still on standard error.
void report(const hook::passing::CommandLine& line, const base::Error& error);

}  // namespace runtime
