// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/network_lock.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/names.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

class NetworkLockTest : public testing::Test {
 protected:
  base::Result<NetworkLock> take(uint64_t cookie) {
    return NetworkLock::take(dir_ / "run", cookie, Deadline::after(milliseconds(10)));
  }
  test::TempDir dir_;
};

TEST_F(NetworkLockTest, IsForOneAtATime) {
  std::optional<NetworkLock> held = take(7).take();
  EXPECT_TRUE(test::fails(take(7), Code::kTimeout, "start the container again"));
  held.reset();
  EXPECT_TRUE(test::succeeds(take(7)));
}

TEST_F(NetworkLockTest, LeavesOtherNamespacesAlone) {
  const NetworkLock held = take(7).take();
  EXPECT_TRUE(test::succeeds(take(8)));
  EXPECT_TRUE(test::succeeds(take(~uint64_t{0})));
}

}  // namespace
}  // namespace hook::lifecycle::network
