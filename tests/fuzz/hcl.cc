// SPDX-License-Identifier: Apache-2.0
// The settings file of Graphcore's `vipu`.
#include "vipu/hcl.h"
#include "tests/fuzz/fuzz.h"
#include "vipu/wire_fields.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const auto assignments = vipu::parse_hcl(text);
  if (!assignments.ok()) return 0;
  size_t line = 1;
  for (const vipu::HclAssignment& assignment : assignments.value()) {
    fuzz::require(assignment.line >= line, "the lines are in order");
    line = assignment.line;
    (void)vipu::wire::is_host_and_port(assignment.value);
  }
  return 0;
}
