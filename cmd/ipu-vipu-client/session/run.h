// SPDX-License-Identifier: Apache-2.0
// The whole of ipu-vipu-client and of ipu-vipu-client-plain.
#pragma once

#include "cmd/common/rpc/transport/filter.h"

namespace client {

// Confines the process, reads one request from standard input and writes one reply to standard
// output. Knows nothing of containers. Returns the exit status. MAKE_FILTER is null in a program
// without TLS.
int run(int argc, const char* const* argv, transport::MakeFilter make_filter);

}  // namespace client
