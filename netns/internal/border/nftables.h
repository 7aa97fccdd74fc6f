// SPDX-License-Identifier: Apache-2.0
// The border as one table of nf_tables, `netdev ipu-border`. Each change is one transaction. Needs
// Linux 5.16, and CAP_NET_ADMIN.
#pragma once

#include <linux/netlink.h>

#include "netns/internal/border/carrier.h"
#include "netns/namespace.h"

namespace netns::border {

class Nftables final : public Carrier {
 public:
  explicit Nftables(const Namespace& host, std::optional<nl::Socket> ready = {})
      : Carrier(host, NETLINK_NETFILTER, std::move(ready)) {}
  base::Result<bool> stands(const std::vector<Parent>& parents) override;
  base::Status build(const std::vector<Parent>& parents, const Elements& elements) override;
  base::Status add(const Elements& elements) override;
  base::Result<std::vector<Element>> list(SetId set) override;
  base::Result<std::vector<Counted>> counts() override;
  base::Result<base::Removed> remove(const Elements& elements) override;
  base::Result<base::Removed> remove_all() override;

 private:
  bool stood_ = false;  // at the last call of stands()
};

}  // namespace netns::border
