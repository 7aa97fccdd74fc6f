// SPDX-License-Identifier: Apache-2.0
// The part of HCL, HashiCorp's configuration language, that settings files of V-IPU use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vipu {

struct HclAssignment {
  std::string key;
  std::string value;  // of a string what it stands for, of all else the text
  size_t line = 0;    // from 1
};

// All `key = value` of the outermost level, in order; a value is a string or a number on one line.
// Comments, blocks, lists, objects and what is in them are passed over. kInvalid, with the number
// of the line but none of its text, which may be a secret, where TEXT is none of these.
base::Result<std::vector<HclAssignment>> parse_hcl(std::string_view text);

}  // namespace vipu
