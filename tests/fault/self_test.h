// SPDX-License-Identifier: Apache-2.0
// That the harness numbers every effect, and finds what is wrong.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace fault {

// SAY gets a line "ok ..." or "not ok ..." for each test. An error if one is not ok.
base::Status self_test(const std::function<void(const std::string&)>& say);

// Of these, what is about the fleet: the judge finds each mistake that is planted.
base::Result<std::string> finds_mistakes_in_a_fleet();

}  // namespace fault
