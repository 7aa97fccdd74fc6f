// SPDX-License-Identifier: Apache-2.0
#include "hook/container/device/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::device {
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

bool anything(const std::string&) { return true; }

TEST(OwnCgroup, IsTheOneOfTheSecondVersionWhereThatIsAlone) {
  const auto only_root = [](const std::string& path) { return path == "/docker/web"; };
  EXPECT_EQ(own_cgroup("0::/docker/web\n", "0::/system.slice/docker\n", only_root), "/docker/web");
}

TEST(OwnCgroup, IsThatOfDevicesInTheFirstVersion) {
  EXPECT_EQ(own_cgroup("9:name=systemd:/docker/web\n5:devices:/docker/web\n0::/\n",
                       "9:name=systemd:/\n5:devices:/\n0::/\n", anything),
            "/devices/docker/web");
}

TEST(OwnCgroup, IsNotOneThatTheEngineIsInToo) {
  EXPECT_EQ(own_cgroup("5:devices:/engine\n4:memory:/engine/web\n",
                       "5:devices:/engine\n4:memory:/engine\n", anything),
            "/memory/engine/web");
  EXPECT_EQ(own_cgroup("0::/engine\n", "0::/engine\n", anything), "");
}

TEST(OwnCgroup, IsNotTheRootNorOutOfSightNorGone) {
  EXPECT_EQ(own_cgroup("5:devices:/\n", "5:devices:/engine\n", anything), "");
  EXPECT_EQ(own_cgroup("0::/../web\n", "0::/\n", anything), "");
  EXPECT_EQ(own_cgroup("0::/web\n", "0::/\n", [](const std::string&) { return false; }), "");
  EXPECT_EQ(own_cgroup("", "", anything), "");
  EXPECT_EQ(own_cgroup("nonsense\n5:devices\n", "", anything), "");
}

class ProcessesTest : public testing::Test {
 protected:
  void add(const std::string& cgroup, const std::string& processes) {
    ASSERT_TRUE(test::succeeds(base::ensure_dir(dir_ / cgroup, 0755)));
    ASSERT_TRUE(
        test::succeeds(base::write_atomic(dir_ / (cgroup + "/cgroup.procs"), processes, {})));
  }
  std::vector<pid_t> visited(const std::string& cgroup) {
    std::vector<pid_t> pids;
    EXPECT_TRUE(test::succeeds(visit_processes(dir_ / cgroup, [&](pid_t pid) {
      pids.push_back(pid);
      return Visit::kMore;
    })));
    return pids;
  }
  test::TempDir dir_;
};

TEST_F(ProcessesTest, AreThoseOfTheCgroupAndOfAllBelow) {
  add("web", "1\n2\n");
  add("web/a", "");
  add("web/a/b", "3\n");
  add("other", "4\n");
  EXPECT_THAT(visited("web"), testing::UnorderedElementsAre(1, 2, 3));
}

TEST_F(ProcessesTest, AreNoneOfOneThatIsGone) { EXPECT_THAT(visited("web"), testing::IsEmpty()); }

TEST_F(ProcessesTest, AreNotVisitedFurtherOnceThatIsEnough) {
  add("web", "1\n2\n");
  int visits = 0;
  EXPECT_TRUE(test::succeeds(visit_processes(dir_ / "web", [&](pid_t) {
    ++visits;
    return Visit::kEnough;
  })));
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace hook::device
