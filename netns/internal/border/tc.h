// SPDX-License-Identifier: Apache-2.0
// The border as eBPF programs on each parent (tc_filter.h), for kernels whose nf_tables cannot
// filter what leaves an interface. Needs Linux 4.18, and CAP_NET_ADMIN and CAP_SYS_ADMIN; stands()
// needs neither.
//
// All programs share their maps, the sets of keys. A program carries what it does, and the numbers
// of its maps, in its name, so that a look at the filters tells whether the border stands, and
// which maps take the keys. A change of the keys is not one transaction: in between, a MAC may do
// less than before and after, never more.
#pragma once

#include <linux/netlink.h>

#include "netns/internal/border/carrier.h"
#include "netns/internal/border/tc_filter.h"
#include "netns/namespace.h"

namespace netns::border {

class Tc final : public Carrier {
 public:
  explicit Tc(const Namespace& host, std::optional<nl::Socket> ready = {})
      : Carrier(host, NETLINK_ROUTE, std::move(ready)) {}
  base::Result<bool> stands(const std::vector<Parent>& parents) override;
  base::Status build(const std::vector<Parent>& parents, const Elements& elements) override;
  base::Status add(const Elements& elements) override;
  base::Result<std::vector<Element>> list(SetId set) override;
  base::Result<std::vector<Counted>> counts() override;
  base::Result<base::Removed> remove(const Elements& elements) override;
  base::Result<base::Removed> remove_all() override;

 private:
  // A filter of the border that stood at the last look. All of them use the same maps.
  std::optional<tc::Filter> standing_;
};

// Returns why no border by tc on PARENT would decide first, and what to do; absent if nothing is in
// the way of build().
base::Result<std::optional<std::string>> find_obstacle(nl::Socket& socket, const Parent& parent);

}  // namespace netns::border
