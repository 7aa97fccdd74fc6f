// SPDX-License-Identifier: Apache-2.0
// The conditions of a Rule on bytes of the whole frame, and on where a packet comes from.
// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>

#include "netns/internal/nft_expression.h"

namespace netns::nft {

// Loads the parts of a key into registers of four bytes, one after the other.
void Rule::load_frame(const std::vector<Field>& parts) {
  uint32_t into = NFT_REG32_00;
  for (const Field& part : parts) {
    load_packet(NFT_PAYLOAD_LL_HEADER, part.offset, part.size, into);
    into += (part.size + 3) / 4;
  }
}

Rule& Rule::frame_is(Field field, const std::vector<uint8_t>& bits,
                     const std::vector<uint8_t>& value) {
  load_frame({field});
  if (std::any_of(bits.begin(), bits.end(), [](uint8_t byte) { return byte != 0xff; })) mask(bits);
  compare(NFT_CMP_EQ, value.data(), value.size());
  return *this;
}

Rule& Rule::frame_between(Field field, uint8_t first, uint8_t last) {
  load_frame({field});
  compare(NFT_CMP_GTE, &first, sizeof first);
  compare(NFT_CMP_LTE, &last, sizeof last);
  return *this;
}

Rule& Rule::frame_in(const Set& set, const std::vector<Field>& parts) {
  load_frame(parts);
  look_up(set);
  return *this;
}

Rule& Rule::has_wrong_origin() {
  const uint32_t none = 0;
  expression("fib", [&] {
    message_.put_be32(NFTA_FIB_DREG, NFT_REG_1);
    message_.put_be32(NFTA_FIB_RESULT, NFT_FIB_RESULT_OIF);
    message_.put_be32(NFTA_FIB_FLAGS, NFTA_FIB_F_SADDR | NFTA_FIB_F_IIF);
  });
  compare(NFT_CMP_EQ, &none, sizeof none);
  return *this;
}

}  // namespace netns::nft
