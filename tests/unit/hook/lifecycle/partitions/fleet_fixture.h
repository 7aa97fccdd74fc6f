// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet, and a partition "p0" of theirs.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_compare.h"
#include "hook/lifecycle/partitions/joining.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {

using namespace base::names;
using test::Call;
using testing::HasSubstr;
using testing::IsEmpty;

enum class Shared { kNo, kYes };

class FleetFixture : public test::FleetHosts {
 protected:
  static Status create(test::HookHost& host, uint32_t size = 8, uint32_t gcds = 4,
                       Shared shared = Shared::kNo) {
    NewPartition wanted{host.config.pools[0], {}};
    wanted.request.id = "p0";
    wanted.request.size = size;
    wanted.request.gcds = gcds;
    wanted.shared = shared == Shared::kYes;
    return create_partition(host.env, wanted, soon());
  }
  static Status start(test::HookHost& host, const std::string& container, uint32_t gcd = 0) {
    request::Request request;
    request.partition = "p0";
    request.gcd = gcd;
    return host.prepare(container, request);
  }
  std::optional<fleet::PartitionView> view() {
    return fleet::find_partition(fleet(), {"pod16", "p0"}).take();
  }
  size_t claims() {
    const auto found = view();
    return found ? found->claims.size() : 0;
  }
};

}  // namespace hook::lifecycle::partitions
