// SPDX-License-Identifier: Apache-2.0
// Containers that run are kept from controllers that came to be known after their start.
#include "hook/lifecycle/network/prohibitions.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/names.h"
#include "hook/lifecycle/network/network_lock.h"
#include "tests/support/attached.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using test::fails;
using test::HookHost;
using test::Init;
using test::succeeds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ProhibitionsTest : public test::AttachedTest {
 protected:
  ProhibitionsTest() { host_.config.pools[0].controller = "vipu.example:8090"; }

  static netns::Prefix prefix(const std::string& text) { return netns::parse_prefix(text).take(); }
  Controllers known() { return known_controllers(host_.env.run_dir, host_.config).take(); }
  std::vector<Error> follow() {
    return follow_controllers(host_.env, host_.config, HookHost::soon());
  }
  void move_controller(const std::vector<std::string>& addresses) {
    host_.controller.set_own_addresses(addresses);
    ASSERT_THAT(look_up_controllers(host_.env, host_.config, HookHost::soon()), IsEmpty());
  }
  // The prohibit routes of the namespace of INIT.
  static std::string prohibitions(const Init& init) {
    return ip_in(init, "route show table all") + ip_in(init, "-6 route show table all");
  }
  // What connect() says in the namespace of INIT, on an interface that has no such route.
  static int errno_of_connect(const Init& init, const std::string& address) {
    const base::Fd file = base::open_at(AT_FDCWD, init.network(), O_RDONLY).take();
    const base::Fd home = base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY).take();
    EXPECT_EQ(::setns(file.get(), CLONE_NEWNET), 0);
    const base::Fd tried(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::setsockopt(tried.get(), SOL_SOCKET, SO_BINDTODEVICE, "eth0", sizeof "eth0"), 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(8090);
    EXPECT_EQ(::inet_pton(AF_INET, address.c_str(), &to.sin_addr), 1);
    const auto* const where = reinterpret_cast<const sockaddr*>(&to);
    const int err = ::sendto(tried.get(), "x", 1, 0, where, sizeof to) < 0 ? errno : 0;
    EXPECT_EQ(::setns(home.get(), CLONE_NEWNET), 0);
    return err;
  }
};

TEST_F(ProhibitionsTest, FollowTheNameOfAControllerWhileTheContainerRuns) {
  host_.controller.set_own_addresses({"10.1.3.102"});
  const ledger::Lease lease = start_and_attach();
  EXPECT_THAT(prohibitions(init_), HasSubstr("10.1.3.102"));
  EXPECT_FALSE(lags_behind(host_.env, known()).value());
  move_controller({"10.1.3.103", "fd00:7::1"});
  EXPECT_THAT(prohibitions(init_), Not(HasSubstr("10.1.3.103")));
  EXPECT_TRUE(lags_behind(host_.env, known()).value());

  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_FALSE(lags_behind(host_.env, known()).value());
  // The former address stays prohibited: the name may point there again.
  for (const char* address : {"10.1.3.102", "10.1.3.103", "fd00:7::1"}) {
    EXPECT_THAT(prohibitions(init_), HasSubstr(str("prohibit ", address))) << address;
  }
  EXPECT_THAT(ip_in(init_, "route show dev roce0"), HasSubstr("10.5.1.1 proto static scope link"));
  const ledger::Lease after = host_.stored(lease);
  EXPECT_THAT(after.prohibited, Contains(prefix("fd00:7::1/128")));
  EXPECT_EQ(after.generation, lease.generation + 1);
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_EQ(host_.stored(lease).generation, after.generation) << "nothing is left to do";
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_TRUE(host_.is_empty());
}

// The filter, too: a socket that is bound to an interface needs no route.
TEST_F(ProhibitionsTest, HoldForASocketThatIsBoundToAnInterface) {
  start_and_attach();
  ip_in(init_, "link add eth0 type veth peer name eth1");
  ip_in(init_, "address add 172.17.0.2/16 dev eth0");
  ip_in(init_, "link set eth1 up");
  ip_in(init_, "link set eth0 up");
  ip_in(init_, "route add default dev eth0");
  EXPECT_EQ(errno_of_connect(init_, "10.1.3.103"), 0);
  move_controller({"10.1.3.103"});
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_EQ(errno_of_connect(init_, "10.1.3.103"), EPERM);
  EXPECT_EQ(errno_of_connect(init_, "10.1.3.104"), 0);
}

TEST_F(ProhibitionsTest, FollowANewPoolOfTheConfiguration) {
  start_and_attach();
  config::PoolConfig pool = host_.config.pools[0];
  pool.name = "new";
  pool.controller = "10.1.4.1:8090";
  host_.config.pools.push_back(pool);
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(prohibitions(init_), HasSubstr("prohibit 10.1.4.1"));
}

// The start does not do it itself: it has the process started that reconciles.
TEST_F(ProhibitionsTest, AStartThatLearnsAnAddressHasTheOthersFollow) {
  int reconciled = 0;
  host_.env.start_reconcile = [&] { ++reconciled; };
  start_and_attach();
  EXPECT_EQ(reconciled, 0);
  host_.controller.set_own_addresses({"10.1.3.103"});
  host_.start("second", 4);
  EXPECT_EQ(reconciled, 1);
}

TEST_F(ProhibitionsTest, DoNotCutAnIpuMachineOfTheContainer) {
  const ledger::Lease lease = start_and_attach();
  move_controller({"10.5.1.1"});
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(ip_in(init_, "route get 10.5.1.1"), HasSubstr("dev roce0"));
  EXPECT_TRUE(succeeds(poststop(lease)));
}

TEST_F(ProhibitionsTest, MakeNoInterfaceOfALeaseThatIsBeingReleased) {
  ledger::Lease lease = start_and_attach();
  move_controller({"10.1.3.103"});
  ASSERT_TRUE(
      succeeds(host_.ledger.begin_release(lease, base::current_process().take(), "it ended")));
  ip_in(init_, "link delete roce0");
  EXPECT_FALSE(lags_behind(host_.env, known()).value());
  EXPECT_THAT(follow(), IsEmpty());
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0")));
}

TEST_F(ProhibitionsTest, AreLimitedAndSaySo) {
  start_and_attach();
  for (int round = 0; round < 17; ++round) {
    std::vector<std::string> addresses;
    for (size_t i = 0; i < vipu::kMaxControllerAddresses; ++i)
      addresses.push_back(str("10.9.", round, ".", i));
    move_controller(addresses);
    const std::vector<Error> obstacles = follow();
    if (round < 15) {
      EXPECT_THAT(obstacles, IsEmpty()) << round;
      continue;
    }
    ASSERT_EQ(obstacles.size(), 1U) << round;
    EXPECT_THAT(obstacles[0].message(), HasSubstr("and from no more than 256"));
    EXPECT_FALSE(lags_behind(host_.env, known()).value()) << "no start can help it";
  }
}

TEST_F(ProhibitionsTest, ALockThatIsNotReleasedIsAnObstacle) {
  const ledger::Lease lease = start_and_attach();
  move_controller({"10.1.3.103"});
  const auto held =
      NetworkLock::take(host_.env.run_dir, lease.netns.cookie, HookHost::soon()).take();
  const std::vector<Error> obstacles = follow_controllers(
      host_.env, host_.config, base::Deadline::after(std::chrono::milliseconds(20)));
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_THAT(obstacles[0].message(), HasSubstr("from new addresses of controllers: "));
  EXPECT_TRUE(lags_behind(host_.env, known()).value());
}

}  // namespace
}  // namespace hook::lifecycle::network
