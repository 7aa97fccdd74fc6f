// SPDX-License-Identifier: Apache-2.0
// Partitions of one pool that an operator names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::partitions {

using namespace base::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vipu::Force;
using vipu::Relocate;

class NamedFixture : public testing::Test {
 protected:
  static base::Deadline soon() { return test::HookHost::soon(); }

  NewPartition wanted(const std::string& name, uint32_t size, uint32_t gcds = 1) {
    NewPartition wanted{host_.config.pools[0], {}};
    wanted.request.id = name;
    wanted.request.size = size;
    wanted.request.gcds = gcds;
    return wanted;
  }
  void make(const NewPartition& wanted) {
    ASSERT_TRUE(test::succeeds(create_partition(host_.env, wanted, soon())));
  }
  Status start(const std::string& container, const std::string& partition,
               std::optional<uint32_t> gcd = {}) {
    request::Request request;
    request.partition = partition;
    request.gcd = gcd;
    return host_.prepare(container, request);
  }
  void stop(const std::string& container) {
    ASSERT_TRUE(
        test::succeeds(end::release_by_id(host_.env, host_.lease_of(container).id, soon())));
  }
  base::Result<RemovedPartition> remove(const std::string& name, Force force = Force::kNo) {
    return remove_partition(host_.env, host_.config.pools[0], name, force, soon());
  }
  Status reset(const std::string& name) {
    return reset_partition(host_.env, host_.config.pools[0], name, Relocate::kNo, soon());
  }
  std::optional<ledger::PartitionRecord> record(const std::string& name) {
    return host_.ledger.partitions().find("pod16", name).take();
  }

  Status adopt(const std::string& name) {
    return adopt_partition(host_.env, host_.config.pools[0], name, soon());
  }
  // Checks that reconcile() leaves "p0" and its record, and says why.
  void expect_left_to_a_person(const std::string& why) {
    const std::vector<base::Error> obstacles = end::reconcile(host_.env, soon()).take().obstacles;
    ASSERT_EQ(obstacles.size(), 1U);
    EXPECT_THAT(obstacles[0].message(), HasSubstr(why));
    EXPECT_THAT(obstacles[0].message(), HasSubstr("'ipuctl partition remove p0' removes it"));
    EXPECT_THAT(host_.partitions(), ElementsAre("p0"));
    EXPECT_TRUE(record("p0").has_value());
  }

  // A creation of "p0" that began at this time and was killed before it knew any more.
  void intend_and_die(int64_t created_ms) {
    ledger::PartitionRecord half;
    half.pool = "pod16";
    half.name = "p0";
    half.source = config::source_of(host_.config.pools[0]);
    half.ipus = 4;
    half.owner = test::dead_process();
    half.boot_id = base::boot_id().take();
    half.created_ms = created_ms;
    ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(half)));
  }

  test::HookHost host_;
};

}  // namespace hook::lifecycle::partitions
