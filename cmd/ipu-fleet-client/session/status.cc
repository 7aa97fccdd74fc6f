// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-fleet-client/session/status.h"

#include <string_view>

#include "base/names.h"

namespace fleet_client {
namespace {

using namespace base::names;
using transport::StatusCode;

// etcd tells by texts what its codes do not.
struct Meaning {
  std::string_view text;
  Code code;
  std::string_view what;
};

constexpr Meaning kMeanings[] = {
    {"database space exceeded", Code::kBusy,
     "the store is full (alarm NOSPACE): compact and defragment it, or raise --quota-backend-bytes,"
     " then run 'etcdctl alarm disarm'"},
    {"revision has been compacted", Code::kNotFound,
     "the revision is compacted: read again, and wait from the new revision"},
    {"requested lease not found", Code::kNotFound, "the lease has ended"},
    {"invalid user ID or password", Code::kDenied,
     "it refuses the user or its password: check 'user' and 'password_file' in [fleet]"},
    {"user name is empty", Code::kDenied, "it requires a user: set 'user' in [fleet]"},
    {"authentication is not enabled", Code::kDenied,
     "it has no users: remove 'user' from [fleet], or run 'etcdctl auth enable'"},
    {"invalid auth token", Code::kUnavailable, "it has forgotten who we are: try again"},
    {"permission denied", Code::kDenied,
     "it does not allow this to the user: grant its role readwrite on the prefix"},
    {"no leader", Code::kUnavailable,
     "it has no leader, because most members cannot be reached: start them"},
    // By a member that waited for the others: they may have carried it out.
    {"context deadline exceeded", Code::kTimeout,
     "it gave no answer in time: see whether it runs, and has most of its members"},
    {"context canceled", Code::kTimeout, "it gave the request up: try again"},
    {"leader changed", Code::kUnavailable, "its leader has changed: try again"},
    {"too many requests", Code::kBusy, "it has too many requests: try again later"},
};

// Returns what to do about a connection that was lost because of WHY.
std::string_view advice(std::string_view why) {
  const auto has = [&](std::string_view text) { return why.find(text) != std::string_view::npos; };
  if (has("HTTP/2") && has("TLS"))
    return ": check 'endpoints' in [fleet], and 'ca' and 'certificate' if it is etcd";
  if (has("TLS") || has("certificate")) {
    return ": check 'ca', 'certificate' and 'server_name' in [fleet]";
  }
  return has("HTTP/2") ? ": check 'endpoints' in [fleet]" : ": see 'ipuctl fleet status'";
}

}  // namespace

Error to_error(const transport::RpcStatus& status) {
  for (const Meaning& one : kMeanings) {
    if (status.is_whole && status.message.find(one.text) != std::string::npos) {
      return {one.code, std::string(one.what)};
    }
  }
  switch (status.code) {
    case StatusCode::DEADLINE_EXCEEDED:
      return {Code::kTimeout,
              "it gave no answer in time: see whether it runs, and has most of its members"};
    case StatusCode::UNAVAILABLE:
      return {Code::kUnavailable, str(status.message, advice(status.message))};
    case StatusCode::UNIMPLEMENTED:
      return {Code::kInvalid, "it is no etcd with API v3: check 'endpoints' in [fleet]"};
    case StatusCode::PERMISSION_DENIED:
    case StatusCode::UNAUTHENTICATED:
      return {Code::kDenied, status.message};
    default:
      return {Code::kInvalid, status.message.empty() ? "it refused the request" : status.message};
  }
}

}  // namespace fleet_client
