// SPDX-License-Identifier: Apache-2.0
// A request, as ipu-vipu-client reads it.
#include "tests/fuzz/fuzz.h"
#include "vipu/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto request = vipu::wire::parse_request(fuzz::text_of(data, size));
  if (!request.ok()) return 0;
  const std::string text = vipu::wire::to_text(request.value());
  const auto again = vipu::wire::parse_request(text);
  fuzz::require(again.ok() && vipu::wire::to_text(again.value()) == text,
                "a request keeps its text");
  return 0;
}
