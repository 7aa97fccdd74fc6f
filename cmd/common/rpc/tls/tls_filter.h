// SPDX-License-Identifier: Apache-2.0
// The client's side of TLS. Speaks TLS 1.2 or later with a server whose certificate the
// configured CA has signed for its name, and HTTP/2 alone.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cmd/common/rpc/transport/filter.h"
#include "vipu/access.h"

namespace tls {

// HOST is the name or address of the server; a server name in TLS takes its place.
base::Result<std::unique_ptr<transport::Filter>> make_filter(const vipu::Tls& tls,
                                                             const std::string& host);

}  // namespace tls
