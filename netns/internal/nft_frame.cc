// SPDX-License-Identifier: Apache-2.0
// The conditions of a Rule on bytes of the whole frame.
// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "netns/internal/nft.h"

namespace netns::nft {

// Loads the parts of a key into registers of four bytes, one after the other.
void Rule::load_frame(std::initializer_list<Field> parts) {
  uint32_t into = NFT_REG32_00;
  for (const Field& part : parts) {
    load_packet(NFT_PAYLOAD_LL_HEADER, part.offset, part.size, into);
    into += (part.size + 3) / 4;
  }
}

Rule& Rule::frame_is(Field field, const std::vector<uint8_t>& value) {
  load_frame({field});
  compare(NFT_CMP_EQ, value.data(), value.size());
  return *this;
}

Rule& Rule::frame_is(Field field, const std::vector<uint8_t>& bits,
                     const std::vector<uint8_t>& value) {
  load_frame({field});
  mask(bits);
  compare(NFT_CMP_EQ, value.data(), value.size());
  return *this;
}

Rule& Rule::frame_between(Field field, uint8_t first, uint8_t last) {
  load_frame({field});
  compare(NFT_CMP_GTE, &first, sizeof first);
  compare(NFT_CMP_LTE, &last, sizeof last);
  return *this;
}

Rule& Rule::frame_in(const Set& set, std::initializer_list<Field> parts) {
  load_frame(parts);
  look_up(set);
  return *this;
}

}  // namespace netns::nft
