// SPDX-License-Identifier: Apache-2.0
// What may stand between HTTP/2 and the network, without a socket: bytes go in and come out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/access.h"

namespace transport {

class Filter {
 public:
  virtual ~Filter() = default;
  // Takes what arrived from the network, and appends what it means to PLAIN. What follows the other
  // side's end of the filter means nothing.
  virtual base::Status receive(std::string_view arrived, std::string& plain) = 0;
  // Returns whether the other side has ended the filter.
  [[nodiscard]] virtual bool has_ended() const = 0;
  // Takes what is to be sent; waits with it until it may be sent.
  virtual base::Status send(std::string_view plain) = 0;
  // Appends to WIRE what is to be sent now.
  virtual void take_wire(std::string& wire) = 0;
};

// Makes the filter of a connection to HOST, the name or address of the server.
using MakeFilter = base::Result<std::unique_ptr<Filter>> (*)(const vipu::Tls& tls,
                                                             const std::string& host);

}  // namespace transport
