// SPDX-License-Identifier: Apache-2.0
// What users may ask ipu-agent. A request is one line, a JSON object of texts, such as
//
//   {"command": "reserve", "name": "night", "ipus": "16", "wait": "1h", "output": "json"}
//
// Its keys are "command" and options of that command of ipuctl. The process that reads lines from
// users passes on words; the other one, which is root's, checks the words again and gives them to
// ipuctl.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace agent {

inline constexpr size_t kMaxRequest = 4096;  // bytes of a line, its end included

// The words of a command line of ipuctl without its first: {"reserve", "--ipus=16", "night"}.
using Words = std::vector<std::string>;

// The options of a request by their names: {"name": "night", "ipus": "16"}. Those without a value
// are "true".
using Options = std::map<std::string, std::string>;

// Returns whether a user may ask for COMMAND ("reservation end") with these options.
[[nodiscard]] bool serves(std::string_view command, const Options& options);

// Returns the line of a request, with its end.
[[nodiscard]] std::string request_line(std::string_view command, const Options& options);

// Returns the words of LINE, which may be hostile. Fails with kInvalid if it is no request that
// serves() allows, or has a value with other characters than A-Z, a-z, 0-9, '.', '_' and '-'.
base::Result<Words> words_of(std::string_view line);

// Fails with kDenied if words_of() returns these words for no line.
base::Status check_words(const Words& words);

}  // namespace agent
