// SPDX-License-Identifier: Apache-2.0
// Dialer: makes the connections of a client that may make none. Whatever the client asks, it gets
// connections to its controller alone.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/serve.h"

namespace vipu {

// The text of an answer without a connection because none was there in time. Any other text says
// why there can be none.
inline constexpr std::string_view kNoConnectionInTime = "timeout";

class Dialer {
 public:
  // Returns the addresses of the controller's host, or kUnavailable. Ends by the deadline.
  using Resolve = std::function<base::Result<std::vector<std::string>>(const base::Deadline&)>;

  // ADDRESS is HOST:PORT. RESOLVE is asked for each connection if HOST is a name.
  Dialer(std::string address, Resolve resolve)
      : address_(std::move(address)), resolve_(std::move(resolve)) {}

  // Answers the question in how many ms a connection is wanted: tries all addresses of the
  // controller in turn, and ends by DEADLINE. The socket does not block.
  base::Answer answer(std::string_view question, const base::Deadline& deadline);

  // Returns the IPv4 address of the last connection; empty if there was none over IPv4.
  [[nodiscard]] const std::string& ipv4() const { return ipv4_; }
  // Returns all addresses that the controller's host had in any answer(), each once.
  [[nodiscard]] const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  base::Result<base::Fd> dial(const base::Deadline& deadline);
  base::Result<std::vector<std::string>> look_up(const base::Deadline& deadline);

  std::string address_;
  Resolve resolve_;
  bool is_name_silent_ = false;  // nobody answered for the name: the time is over
  std::string ipv4_;
  std::vector<std::string> addresses_;
};

// Returns the error of a controller whose HOST has more than kMaxControllerAddresses addresses.
base::Error too_many_addresses(std::string_view host);

// Returns the two parts of HOST:PORT. PORT may be empty.
struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort split_host_and_port(std::string_view address);

}  // namespace vipu
