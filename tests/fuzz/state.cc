// SPDX-License-Identifier: Apache-2.0
// The container's state, which a low-level runtime gives to the hook.
#include "hook/container/oci/state.h"
#include "hook/container/oci/pod.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto state = hook::oci::parse_state(fuzz::text_of(data, size));
  if (!state.ok()) return 0;
  fuzz::require(state.value().pid >= 0, "a pid is not negative");
  (void)hook::oci::sandbox_of(state.value().annotations);
  return 0;
}
