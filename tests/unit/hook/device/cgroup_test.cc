// SPDX-License-Identifier: Apache-2.0
#include "hook/device/cgroup.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook {
namespace {

class RdmaCgroupTest : public testing::Test {
 protected:
  bool with(const std::string& lines) {
    const std::string text = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" + lines;
    EXPECT_TRUE(test::succeeds(base::write_atomic(dir_ / "cgroups", text, {})));
    return has_rdma_cgroup(dir_ / "cgroups");
  }
  test::TempDir dir_;
};

TEST_F(RdmaCgroupTest, IsThereWhenTheKernelListsItAsEnabled) {
  EXPECT_TRUE(with("cpuset\t3\t2\t1\nrdma\t12\t1\t1\n"));
}

TEST_F(RdmaCgroupTest, IsNotWhenItIsDisabledOrNotListed) {
  EXPECT_FALSE(with("rdma\t12\t1\t0\n"));
  EXPECT_FALSE(with("cpuset\t3\t2\t1\n"));
  EXPECT_FALSE(has_rdma_cgroup(dir_ / "absent"));
}

}  // namespace
}  // namespace hook
