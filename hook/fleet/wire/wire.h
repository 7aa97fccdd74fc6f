// SPDX-License-Identifier: Apache-2.0
// The protocol between ipu-fleet-client and its caller: one JSON request in, one JSON reply out.
//   {"endpoints":["10.1.0.5:2379"],"timeout_ms":5000,"call":"range","prefix":"/ipu/hosts/"}
//   {"ok":...} or {"error":{"code":"busy","message":"..."}}
// A request also has "tls", "user" and "password" if they are configured. It goes through a pipe,
// so that secrets are in no argument and in no environment. Each side parses the other's text as
// hostile.
// The client gets connections from its caller, whom it asks on descriptor 3 (base/serve.h): the
// question is the index of an endpoint and a time in ms, "0 5000".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/fleet/wire/values.h"
#include "vipu/access.h"

namespace hook::fleet::wire {

inline constexpr size_t kMaxRequest = size_t{10} << 20;  // bytes
inline constexpr size_t kMaxReply = size_t{8} << 20;     // bytes
inline constexpr size_t kMaxEndpoints = 9;
inline constexpr size_t kMaxSecret = 256;  // bytes of a user's name, and of a password

enum class Call {
  kTxn,
  kRange,
  kWatch,
  kGrant,
  kKeepAlive,
  kRevoke,
  kMembers,
};

// Where the store is, and what its access requires. Holds secrets.
struct Access {
  std::vector<std::string> endpoints;  // ADDRESS:PORT, in the order in which they are tried
  std::optional<vipu::Tls> tls = {};
  std::string user = {};  // empty: none
  std::string password = {};
  bool operator==(const Access&) const = default;
};

struct Request {
  Access access;
  std::chrono::milliseconds timeout{0};
  Call call = Call::kMembers;
  Txn txn = {};             // for 'txn'
  std::string prefix = {};  // for 'range' and 'watch'
  int64_t revision = 0;     // for 'watch': the first that counts
  int64_t lease = 0;        // for 'keep_alive' and 'revoke'
  uint32_t ttl_s = 0;       // for 'grant'
};

[[nodiscard]] const char* name_of(Call call);
[[nodiscard]] std::string to_text(const Request& request);
// Returns kInvalid with the key that is missing, of the wrong type or out of range. No error has
// any part of a secret.
base::Result<Request> parse_request(std::string_view text);

// The result of a call that reports only success.
struct Done {
  bool operator==(const Done&) const = default;
};

// The question for a connection to the endpoint with this index.
struct Question {
  size_t endpoint = 0;
  std::chrono::milliseconds time{0};
};
[[nodiscard]] std::string to_text(const Question& question);
base::Result<Question> parse_question(std::string_view text, size_t endpoints);

// Returns RESULT as a reply. T is TxnResult, Listing, Changes, Lease, Done or std::vector<Member>.
template <typename T>
std::string reply_text(const base::Result<T>& result);
// Returns the value or the error that TEXT carries. Returns kInternal if TEXT is not such a reply.
template <typename T>
base::Result<T> parse_reply(std::string_view text);

}  // namespace hook::fleet::wire
