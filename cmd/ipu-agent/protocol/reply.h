// SPDX-License-Identifier: Apache-2.0
// What ipu-agent answers: lines, each a JSON object. While a request waits, any number of
//
//   {"progress": "WAITING for 16 IPUs of 'pod64', 2nd of 2, since 1s; gives up in 59m"}
//
// and at last one
//
//   {"exit": 0, "text": "...", "errors": []}
//
// with the exit status of ipuctl, what it prints, and its errors.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agent {

inline constexpr size_t kMaxReply = size_t{64} << 20;  // bytes of a line

struct Reply {
  int exit = 0;
  std::string text;
  std::vector<std::string> errors;
  std::string progress;  // if it is not empty, the request goes on
};

// Returns the line of REPLY, with its end.
[[nodiscard]] std::string reply_line(const Reply& reply);
// Returns the line of a refusal.
[[nodiscard]] std::string error_line(const base::Error& error);
base::Result<Reply> parse_reply(std::string_view line);

// Returns the exit status of ipuctl(8) for an error: 1 failed, 2 usage or configuration, 3 try
// again later; and a code with this status.
[[nodiscard]] int exit_code(base::Code code);
[[nodiscard]] base::Code code_of(int exit);

}  // namespace agent
