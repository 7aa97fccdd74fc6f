// SPDX-License-Identifier: Apache-2.0
// What is said between ipu-vipu-client and who runs it: one JSON request in, one JSON reply out.
//   {"controller":"10.1.3.101:8090","timeout_ms":5000,"call":"status","partition":{"id":"p0"}}
//   {"ok":...} or {"error":{"code":"busy","message":"..."}}
// Both directions are parsed as if the other side were hostile.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/types.h"

namespace vipu::wire {

inline constexpr size_t kMaxRequest = size_t{1} << 20;  // bytes
inline constexpr size_t kMaxReply = size_t{4} << 20;    // bytes

enum class Call { kCreate, kList, kStatus, kConfig, kRemove, kCapacity, kVersion };

const char* name_of(Call call);

struct Request {
  std::string controller;  // HOST:PORT; a host name or an IPv4 address
  std::chrono::milliseconds timeout{0};
  Call call = Call::kVersion;
  // What to create; of 'status', 'config' and 'remove' only its id is looked at; of the others
  // nothing.
  PartitionRequest partition;
};

std::string to_text(const Request& request);
// kInvalid with the key that is missing, of the wrong type or out of range.
base::Result<Request> parse_request(std::string_view text);

// RESULT as a reply. T is what a call gives: Grant, std::vector<Partition>, PartitionStatus,
// std::vector<IpuofConfig>, base::Removed, Capacity, std::string (a version).
template <typename T>
std::string reply_text(const base::Result<T>& result);

// The value or the error that TEXT carries, for the same types. kInternal if TEXT is no such reply:
// then it holds anything from garbage to an address that is none.
template <typename T>
base::Result<T> parse_reply(std::string_view text);

}  // namespace vipu::wire
