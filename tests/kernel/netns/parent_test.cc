// SPDX-License-Identifier: Apache-2.0
// Parents in every state, and what an attach finds in the namespace of a container.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "netns/session.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using namespace base::names;
using base::Removed;
using testing::AllOf;
using testing::HasSubstr;

class ParentTest : public World {
 protected:
  // Attaches, which fails, to a container that is afterwards as it was before.
  base::Error failure_of(const NetworkPlan& wanted) {
    const Namespace container = make_namespace();
    const std::string before = snapshot(container);
    const auto result = attach(wanted, host(), container);
    EXPECT_EQ(snapshot(container), before);
    EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
    return result.ok() ? base::Error(Code::kInternal, "it succeeded") : result.error();
  }
  [[nodiscard]] NetworkPlan with_mtu(uint32_t mtu) const {
    NetworkPlan with = plan();
    with.rails[0].mtu = mtu;
    return with;
  }
  static std::string mtu_in(const Namespace& container) {
    return read_in(container, "/proc/sys/net/ipv6/conf/roce0/mtu");
  }
};

TEST_F(ParentTest, GivesTheMtuThatThePlanNames) {
  const Namespace container = make_namespace();
  EXPECT_EQ(must(attach(with_mtu(1500), host(), container))[0].mtu, 1500U);
  EXPECT_THAT(run_ip(container, "-o link show dev roce0"), HasSubstr(" mtu 1500 "));
}

TEST_F(ParentTest, NamesBothMtusWhenThePlansIsAboveTheParents) {
  const base::Error error = failure_of(with_mtu(9000));
  EXPECT_EQ(error.code(), Code::kInvalid);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("9000"), HasSubstr("4200"), HasSubstr("'host0'")));
}

TEST_F(ParentTest, LeavesTheWordsToTheKernelWhenAnMtuIsTooSmall) {
  const base::Error error = failure_of(with_mtu(67));
  EXPECT_EQ(error.code(), Code::kInvalid);
  EXPECT_THAT(error.message(), HasSubstr("mtu less than device minimum"));
}

TEST_F(ParentTest, MayBeDownAndComesAliveWithItsChildren) {
  run_ip(host(), "link set host0 down");
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  EXPECT_NE(connect_tcp({container}, own_, peer_.port, kQuiet), 0);
  run_ip(host(), "link set host0 up");
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

TEST_F(ParentTest, LowersTheMtuOfItsChildrenAndAttachRestoresItWhenItMay) {
  const Namespace container = make_namespace();
  for (const NetworkPlan& either : {plan(), with_mtu(4200)}) {
    must(attach(either, host(), container));
    run_ip(host(), "link set host0 mtu 1500");
    EXPECT_EQ(mtu_in(container), "1500");
    EXPECT_EQ(must(attach(either, host(), container))[0].mtu, 1500U);
    EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
    run_ip(host(), "link set host0 mtu 4200");
    EXPECT_EQ(mtu_in(container), "1500") << "the kernel does not";
    EXPECT_EQ(must(attach(either, host(), container))[0].mtu, 4200U);
    EXPECT_EQ(mtu_in(container), "4200");
  }
}

TEST_F(ParentTest, ThatIsPartOfABridgeIsBusyAndTheErrorSaysWhatToDo) {
  run_ip(host(), "link add br0 type bridge");
  run_ip(host(), "link set host0 master br0");
  const base::Error error = failure_of(plan());
  EXPECT_EQ(error.code(), Code::kBusy);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'host0'"), HasSubstr("bridge"),
                                     HasSubstr("ip -d link show dev host0")));
}

TEST_F(ParentTest, WithAPassthruMacvlanIsBusyAndTheErrorSaysSo) {
  run_ip(host(), "link add link host0 name whole type macvlan mode passthru");
  const base::Error error = failure_of(plan());
  EXPECT_EQ(error.code(), Code::kBusy);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'host0'"), HasSubstr("passthru")));
  const Namespace elsewhere = make_namespace();
  run_ip(host(), str("link set whole netns ", path_of(elsewhere)));
  EXPECT_EQ(failure_of(plan()).code(), Code::kBusy);
}

TEST_F(ParentTest, ThatIsNoEthernetInterfaceIsNamed) {
  NetworkPlan loopback = plan();
  loopback.rails[0].parent = "lo";
  const base::Error error = failure_of(loopback);
  EXPECT_EQ(error.code(), Code::kInvalid);
  EXPECT_THAT(error.message(), AllOf(HasSubstr("'lo'"), HasSubstr("Ethernet")));
}

TEST_F(ParentTest, MayBeDeletedBeforeItsChildren) {
  const Namespace container = make_namespace();
  const int32_t id = must(ensure_id(host(), container));
  must(attach(plan(), host(), container));
  run_ip(host(), "link delete host0");
  EXPECT_EQ(must(detach(host(), id, "roce0", plan().rails[0].mac)), Removed::kWasAbsent);
  EXPECT_EQ(attach(plan(), host(), container).error().code(), Code::kNotFound);
}

class CutShortTest : public World {
 protected:
  // A link of the plan's MAC, as an attach that was cut short leaves it.
  void leave_half_done(const Namespace& container, const std::string& name) {
    Session session = must(Session::open(host()));
    const auto parent = must(session.find_link("host0"));
    const Macvlan macvlan{parent.value().index, "ipu02000a05c801", plan().rails[0].mac};
    ASSERT_TRUE(session.create_macvlan(macvlan, container).ok());
    if (name != macvlan.name) run_ip(container, str("link set ", macvlan.name, " name ", name));
  }
};

TEST_F(CutShortTest, IsDoneAnewWhereverItEnded) {
  for (const char* name : {"ipu02000a05c801", "roce0"}) {
    const Namespace container = make_namespace();
    leave_half_done(container, name);
    const Attachment attachment = must(attach(plan(), host(), container))[0];
    EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
    EXPECT_THAT(run_ip(container, "-o link show type macvlan"),
                testing::StartsWith(str(attachment.index, ": roce0@")));
    // Before the next one: a MAC is up once.
    must(detach(host(), must(ensure_id(host(), container)), "roce0", plan().rails[0].mac));
  }
}

TEST_F(CutShortTest, LeavesTheFilterAndTheRoutesToTheNextOne) {
  const Namespace container = make_namespace();
  ASSERT_TRUE(install_filter(plan(), container).ok());
  run_ip(container, "route add prohibit 10.5.0.0/16 metric 4791");
  must(attach(plan(), host(), container));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_NE(connect_tcp({container, "roce0"}, other_, stranger_.port, kQuiet), 0);
}

// A process with a user namespace and a network namespace that belongs to it.
class OtherOwner {
 public:
  OtherOwner() {
    if (pipe(ready_) != 0 || pipe(end_) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      close(end_[1]);
      const bool made = unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
      char byte = 0;
      if (!made || write(ready_[1], &byte, 1) != 1) _exit(1);
      _exit(read(end_[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ready_[1]);
    close(end_[0]);
    char byte = 0;
    is_ready_ = read(ready_[0], &byte, 1) == 1;
  }
  OtherOwner(const OtherOwner&) = delete;
  OtherOwner& operator=(const OtherOwner&) = delete;
  ~OtherOwner() {
    close(end_[1]);
    close(ready_[0]);
    waitpid(child_, nullptr, 0);
  }
  [[nodiscard]] bool is_ready() const { return is_ready_; }
  [[nodiscard]] pid_t pid() const { return child_; }

 private:
  int ready_[2] = {};
  int end_[2] = {};
  pid_t child_ = -1;
  bool is_ready_ = false;
};

class UserNamespaceTest : public World {};

TEST_F(UserNamespaceTest, MayOwnTheNetworkNamespaceOfTheContainer) {
  add_ipv6();
  const OtherOwner owner;
  if (!owner.is_ready()) GTEST_SKIP() << "no user namespaces here";
  const Namespace container = must(Namespace::of_process(owner.pid()));
  NetworkPlan both = plan();
  both.rails.push_back(ipv6_plan(2).rails[0]);
  both.rails[1].interface = "roce1";
  must(attach(both, host(), container));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port), 0);
  EXPECT_NE(connect_tcp({container, "roce0"}, other_, stranger_.port, kQuiet), 0);
  const int32_t id = must(ensure_id(host(), container));
  for (const RailPlan& rail : both.rails) {
    EXPECT_EQ(must(detach(host(), id, rail.interface, rail.mac)), Removed::kNow);
  }
}

}  // namespace
}  // namespace netns
