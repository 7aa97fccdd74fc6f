// SPDX-License-Identifier: Apache-2.0
// What is said between ipu-vipu-client and who runs it: one JSON request in, one JSON reply out.
//   {"controller":"10.1.3.101:8090","timeout_ms":5000,"call":"status","partition":{"id":"p0"}}
//   {"ok":...} or {"error":{"code":"busy","message":"..."}}
// A request has "tls" and "credentials" besides where they are configured, and goes through a pipe:
// what is secret is in no argument and in no environment.
// Both directions are parsed as if the other side were hostile.
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

inline constexpr size_t kMaxRequest = size_t{1} << 20;  // bytes
inline constexpr size_t kMaxReply = size_t{4} << 20;    // bytes

// The calls of vipu::Controller.
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
  kVersion
};

const char* name_of(Call call);

struct Request {
  Access access;
  std::chrono::milliseconds timeout{0};
  Call call = Call::kVersion;
  // What 'create' and 'submit' ask for; of the other calls that are about a partition only its id.
  PartitionRequest partition = {};
  std::optional<uint32_t> gcd = {};      // of 'config'
  Relocate relocate = Relocate::kNo;     // of 'reset'
  Force force = Force::kNo;              // of 'remove'
  std::vector<std::string> agents = {};  // of 'attributes'
};

std::string to_text(const Request& request);
// kInvalid with the key that is missing, of the wrong type or out of range.
base::Result<Request> parse_request(std::string_view text);

// What a call gives that has nothing to say but that it is done.
struct Done {};

// RESULT as a reply. T is what a call gives: Grant, Done, std::vector<Partition>, PartitionStatus,
// base::Removed, Survey, std::vector<IpuAttributes>, std::string (a version).
template <typename T>
std::string reply_text(const base::Result<T>& result);

// The value or the error that TEXT carries, for the same types. kInternal if TEXT is no such reply:
// then it holds anything from garbage to an address that is none.
template <typename T>
base::Result<T> parse_reply(std::string_view text);

}  // namespace vipu::wire
