// SPDX-License-Identifier: Apache-2.0
// The part of HCL, HashiCorp's configuration language, that V-IPU settings files use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vipu {

struct HclAssignment {
  std::string key;
  std::string value;  // a string's decoded value; anything else's text
  size_t line = 0;    // from 1
};

// Returns all `key = value` pairs of the outermost level, in order. A value is a string or a number
// on one line. Comments, blocks, lists, objects and their contents are skipped. For any other TEXT
// returns kInvalid with the line number, but none of the text, which may be secret.
base::Result<std::vector<HclAssignment>> parse_hcl(std::string_view text);

}  // namespace vipu
