// SPDX-License-Identifier: Apache-2.0
// An IPUoF file, as Graphcore's tools or a user wrote it.
#include "vipu/local/ipuof_file.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto config = vipu::local::parse_ipuof_file(fuzz::text_of(data, size), "file");
  if (!config.ok()) return 0;
  (void)vipu::local::check_reconfigurable(config.value());
  const auto again = vipu::local::parse_ipuof_file(vipu::to_ipuof_file(config.value()), "file");
  fuzz::require(again.ok() && again.value() == config.value(), "what is written is what was read");
  return 0;
}
