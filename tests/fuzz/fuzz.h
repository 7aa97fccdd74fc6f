// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. Each target is one file that defines LLVMFuzzerTestOneInput.
// libFuzzer drives it in `make fuzz`, and runner.cc in `make check-unit`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

// Gives DATA to the target. Ends the process if a promise does not hold.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuzz {

inline std::string_view text_of(const uint8_t* data, size_t size) {
  const void* const start = data;
  return {static_cast<const char*>(start), size};
}

// Ends the process, with PROMISE, unless HOLDS.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  (void)std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace fuzz
