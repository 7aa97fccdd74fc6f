// SPDX-License-Identifier: Apache-2.0
// What the border by nftables finds changed by others.
// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "netns/border.h"
#include "netns/internal/nft_table.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

constexpr nft::Table kTable{NFPROTO_NETDEV, nft::kBorderName};

class BorderNftablesTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    must(build_border(host(), FilterPlace::kNftables, parents_, {}));
    ASSERT_TRUE(stands());
  }
  bool stands() const { return must(border_stands(host(), FilterPlace::kNftables, parents_)); }
  void commit(nl::Message message) const {
    nft::Batch batch;
    batch.add_rule(std::move(message));
    must(batch.commit(host()));
  }

  const std::vector<BorderParent> parents_{{"host0", Others::kDrop}};
};

TEST_F(BorderNftablesTest, DoesNotStandIfAChainHasLostItsRules) {
  nl::Message flush = nft::request(NFT_MSG_DELRULE, 0, kTable.family, "flush a chain", 1024);
  flush.put_text(NFTA_RULE_TABLE, kTable.name);
  flush.put_text(NFTA_RULE_CHAIN, "to-container");
  commit(std::move(flush));
  EXPECT_FALSE(stands());
}

TEST_F(BorderNftablesTest, DoesNotStandIfAChainHasOneMoreRule) {
  nft::Rule rule(kTable, "ingress-host0");
  rule.comment("passes all");
  commit(std::move(rule).accept());
  EXPECT_FALSE(stands());
}

TEST_F(BorderNftablesTest, DoesNotStandIfItHasOneMoreChain) {
  nft::Batch batch;
  batch.add_device_chain(kTable, "more", NF_NETDEV_INGRESS, "host0", "first");
  must(batch.commit(host()));
  EXPECT_FALSE(stands());
}

}  // namespace
}  // namespace netns
