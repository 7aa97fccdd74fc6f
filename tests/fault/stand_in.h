// SPDX-License-Identifier: Apache-2.0
// What self_test() traces in the place of a program of the product: it does one thing wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fault {

// Exit status of the stand-in that does WHAT in DIRECTORY.
//   calls    makes the calls that known_calls() lists, and others that have no effect
//   leak     makes the directory DIRECTORY, and removes it again
//   silent   fails, and says nothing
//   touch    changes the mode of DIRECTORY twice, to what it was
int stand_in(std::string_view what, const std::string& directory);

// The effects of "calls", as describe() has them: of the process, and of its child.
[[nodiscard]] std::vector<std::vector<std::string>> known_calls(const std::string& directory);

}  // namespace fault
