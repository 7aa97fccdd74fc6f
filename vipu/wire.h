// SPDX-License-Identifier: Apache-2.0
// The protocol between ipu-vipu-client and its caller: one JSON request in, one JSON reply out.
//   {"controller":"10.1.3.101:8090","timeout_ms":5000,"call":"status","partition":{"id":"p0"}}
//   {"ok":...} or {"error":{"code":"busy","message":"..."}}
// A request also has "tls" and "credentials" if they are configured. It goes through a pipe, so
// that secrets are in no argument and in no environment. Each side parses the other's text as
// hostile.
// The client's argument says what it does with the network: with kAskForConnections, it gets
// connections from its caller, whom it asks on descriptor 3 (dial.h); with kAskDns, it may look up
// the controller's name, and nothing else.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "vipu/access.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace vipu::wire {

inline constexpr std::string_view kAskForConnections = "ask";
inline constexpr std::string_view kAskDns = "dns";
inline constexpr size_t kMaxRequest = size_t{1} << 20;  // bytes
inline constexpr size_t kMaxReply = size_t{4} << 20;    // bytes

// The calls of vipu::Controller, and kResolve.
enum class Call {
  kCreate,
  kSubmit,
  kWait,
  kList,
  kStatus,
  kConfig,
  kReset,
  kRemove,
  kSurvey,
  kAttributes,
  kResolve,  // not one of vipu::Controller: the addresses of the controller's host
  kVersion
};

const char* name_of(Call call);

struct Request {
  Access access;
  std::chrono::milliseconds timeout{0};
  Call call = Call::kVersion;
  // The partition for 'create' and 'submit'. Other calls about a partition use only its id.
  PartitionRequest partition = {};
  std::optional<uint32_t> gcd = {};      // for 'config'
  Relocate relocate = Relocate::kNo;     // for 'reset'
  Force force = Force::kNo;              // for 'remove'
  std::vector<std::string> agents = {};  // for 'attributes'
};

std::string to_text(const Request& request);
// Returns kInvalid with the key that is missing, of the wrong type or out of range.
base::Result<Request> parse_request(std::string_view text);

// The result of a call that reports only success.
struct Done {};

// The IP addresses of a controller's host: 1 to kMaxControllerAddresses.
struct Addresses {
  std::vector<std::string> all;
};

// Returns RESULT as a reply. T is the result of a call: Grant, Done, std::vector<Partition>,
// PartitionStatus, base::Removed, Survey, std::vector<IpuAttributes>, Addresses, std::string (a
// version).
template <typename T>
std::string reply_text(const base::Result<T>& result);

// Returns the value or the error that TEXT carries, for the same types. Returns kInternal if TEXT
// is not such a reply: anything from garbage to an invalid address.
template <typename T>
base::Result<T> parse_reply(std::string_view text);

}  // namespace vipu::wire
