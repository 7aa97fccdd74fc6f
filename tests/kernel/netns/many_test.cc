// SPDX-License-Identifier: Apache-2.0
// A thousand containers on one parent.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <iostream>
#include <set>

#include "base/fs.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/session.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;

constexpr uint32_t kContainers = 1000;

Namespace make_bare_namespace(const base::Fd& home) {
  if (unshare(CLONE_NEWNET) != 0) std::abort();
  Namespace made = must(Namespace::current());
  if (setns(home.get(), CLONE_NEWNET) != 0) std::abort();
  return made;
}

class ManyTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit_), 0);
    const rlimit more{kContainers + 200, std::max<rlim_t>(limit_.rlim_max, kContainers + 200)};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &more), 0);
  }
  void TearDown() override {
    if (limit_.rlim_cur != 0) setrlimit(RLIMIT_NOFILE, &limit_);
  }

  [[nodiscard]] NetworkPlan plan_of(uint32_t n) const {
    NetworkPlan one = plan();
    RailPlan& rail = one.rails[0];
    rail.address = ipv4(0x0a056400 + n);  // 10.5.100.0 and on
    std::copy(rail.address.raw().begin(), rail.address.raw().end(), rail.mac.bytes.begin() + 2);
    return one;
  }

 private:
  rlimit limit_{};
};

using Clock = std::chrono::steady_clock;

int64_t millis_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
}

TEST_F(ManyTest, ContainersShareOneParentWithNoAddressOrMacTwice) {
  const base::Fd home = must(base::open_at(AT_FDCWD, "/proc/thread-self/ns/net", O_RDONLY));
  std::vector<Namespace> containers;
  const auto start = Clock::now();
  for (uint32_t n = 0; n < kContainers; ++n) containers.push_back(make_bare_namespace(home));
  std::vector<int64_t> times;
  std::cout << "namespaces: " << millis_since(start) << " ms\n";
  for (uint32_t n = 0; n < kContainers; ++n) {
    const auto one = Clock::now();
    must(attach(plan_of(n), host(), containers[n]));
    times.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - one).count());
  }
  std::set<MacAddress> macs;
  std::set<Address> addresses;
  for (const Namespace& container : containers) {
    Session session = must(Session::open(container));
    const Link link = must(session.find_link("roce0")).value();
    EXPECT_TRUE(link.is_up);
    macs.insert(link.mac);
    for (const Address& address : must(session.addresses())) addresses.insert(address);
  }
  EXPECT_EQ(macs.size(), kContainers);
  EXPECT_EQ(addresses.size(), kContainers);
  EXPECT_EQ(connect_tcp({containers.front()}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({containers.back()}, own_, peer_.port), 0);
  std::sort(times.begin(), times.end());
  std::cout << "attach: median " << times[kContainers / 2] << " us, 99 % below "
            << times[kContainers * 99 / 100] << " us; all after " << millis_since(start) << " ms\n";
  for (uint32_t n = 0; n < kContainers; ++n) {
    const int32_t id = must(ensure_id(host(), containers[n]));
    ASSERT_EQ(must(detach(host(), id, "roce0", plan_of(n).rails[0].mac)), Removed::kNow);
  }
  std::cout << "detached after " << millis_since(start) << " ms\n";
}

}  // namespace
}  // namespace netns
