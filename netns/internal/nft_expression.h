// SPDX-License-Identifier: Apache-2.0
// One expression of a Rule. Only for the .cc files of Rule.
#pragma once

#include <linux/netfilter/nf_tables.h>

#include "netns/internal/nft.h"

namespace netns::nft {

template <typename Body>
void Rule::expression(const char* name, Body body) {
  message_.nest(NFTA_LIST_ELEM, [&] {
    message_.put_text(NFTA_EXPR_NAME, name);
    message_.nest(NFTA_EXPR_DATA, body);
  });
}

}  // namespace netns::nft
