// SPDX-License-Identifier: Apache-2.0
// A reply of ipu-vipu-client, which parses what a controller sends, as the root process reads it.
// The first byte, a digit in the seeds, says which call the reply is for.
#include "tests/fuzz/fuzz.h"
#include "vipu/wire.h"

namespace {

using base::Result;

template <typename T>
void read_reply(std::string_view text) {
  const Result<T> value = vipu::wire::parse_reply<T>(text);
  if (!value.ok()) return;
  const std::string once = vipu::wire::reply_text(value);
  const Result<T> again = vipu::wire::parse_reply<T>(once);
  fuzz::require(again.ok() && vipu::wire::reply_text(again) == once, "a reply keeps its text");
}

constexpr void (*kReaders[])(std::string_view) = {
    read_reply<vipu::Grant>,           read_reply<std::vector<vipu::Partition>>,
    read_reply<vipu::PartitionStatus>, read_reply<base::Removed>,
    read_reply<vipu::Survey>,          read_reply<std::vector<vipu::IpuAttributes>>,
    read_reply<std::string>,           read_reply<vipu::wire::Done>,
    read_reply<vipu::wire::Addresses>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  kReaders[static_cast<uint8_t>(data[0] - '0') % std::size(kReaders)](
      fuzz::text_of(data + 1, size - 1));
  return 0;
}
