// SPDX-License-Identifier: Apache-2.0
// What a user reads of a command line that CLI11 refused.
#pragma once

#include <string>

#include "base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace usage {

// Returns the command of the line that APP has parsed, as far as it was understood, such as "ipuctl
// partition create".
[[nodiscard]] std::string command_of(const CLI::App& app);

// Returns kInvalid for ERROR, with which APP refused its command line: what is wrong, in our words,
// and which --help to read. ERROR is no request for help.
[[nodiscard]] base::Error error_of(const CLI::App& app, const CLI::ParseError& error);

}  // namespace usage
