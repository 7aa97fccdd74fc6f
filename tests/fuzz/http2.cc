// SPDX-License-Identifier: Apache-2.0
// What a V-IPU controller sends on a connection.
#include "cmd/common/rpc/transport/http2.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr size_t kMost = 4096;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  transport::Http2 http2(kMost);
  fuzz::require(http2.begin({"/service/Call", "host:1", false, {}, "ask"}).ok(), "a call begins");
  fuzz::require(http2.to_send().ok(), "the call is sent");
  const std::string_view all = fuzz::text_of(data + 1, size - 1);
  const size_t first = all.size() * data[0] / 256;
  for (const std::string_view part : {all.substr(0, first), all.substr(first)}) {
    if (!http2.receive(part).ok()) return 0;
    fuzz::require(http2.to_send().ok(), "its answers are sent");
  }
  if (!http2.outcome() || !http2.outcome()->ok()) return 0;
  fuzz::require(http2.reply().size() <= kMost, "no answer is longer than allowed");
  return 0;
}
