// SPDX-License-Identifier: Apache-2.0
// The network of a lease, in namespaces that the test makes: attach, release, reconcile.
#include "hook/lifecycle/start/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/network/network_lock.h"
#include "tests/support/attached.h"

namespace hook {
namespace {

using namespace base::names;
using test::AttachedTest;
using testing::HasSubstr;
using testing::Not;

TEST_F(AttachedTest, MakesTheLeaseRunWithTheFirstProcessOfTheContainer) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_EQ(lease.state, ledger::LeaseState::kRunning);
  EXPECT_EQ(lease.owner, base::identify_process(init_.pid()).value());
  EXPECT_EQ(lease.netns, netns::Namespace::of_process(init_.pid()).value().identity());
  EXPECT_GE(lease.netns_id, 0);
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, DoesNothingTheSecondTime) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(attach(lease)));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(AttachedTest, IsGivenBackWhileTheNamespaceLivesOn) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kQuarantine);
}

TEST_F(AttachedTest, IsGivenBackAfterTheNamespaceHasGone) {
  const ledger::Lease lease = start_and_attach();
  init_.end();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(AttachedTest, IsGivenBackByReconcileOnceTheContainerEnded) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(
      lifecycle::end::reconcile(host_.env, test::HookHost::soon()).value().released.empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
  init_.end();
  EXPECT_EQ(lifecycle::end::reconcile(host_.env, test::HookHost::soon()).value().released.size(),
            1U);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kQuarantine);
}

TEST_F(AttachedTest, LeavesNothingWhenTheParentHasGone) {
  const ledger::Lease lease = host_.start("web", 4);
  ip("link delete rail0");
  const Status failed = attach(lease);
  EXPECT_TRUE(test::fails(failed, Code::kNotFound, kParent));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kFailed);
  EXPECT_EQ(host_.stored(lease).error, failed.error().message());
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  std::string story;
  for (const ledger::Event& event : host_.ledger.events().of_lease(lease.id).take()) {
    story += base::str(name_of(event.kind), " ", event.text, "\n");
  }
  EXPECT_THAT(story, testing::ContainsRegex("KERNEL roce0 with .*No such|KERNEL roce0 with .*not"));
  EXPECT_THAT(story, HasSubstr("ERROR " + failed.error().message()));
}

// The hook waits for the namespace's lock; meanwhile a poststop takes the lease over, finds no
// interface yet, and ends the lease.
TEST_F(AttachedTest, MakesNothingForALeaseThatWasReleasedMeanwhile) {
  const ledger::Lease lease = host_.start("web", 4);
  const netns::Identity target = netns::Namespace::of_process(init_.pid()).value().identity();
  base::Result<lifecycle::network::NetworkLock> lock = lifecycle::network::NetworkLock::take(
      host_.env.run_dir, target.cookie, test::HookHost::soon());
  ASSERT_TRUE(test::succeeds(lock));
  Status attached;
  std::thread hook([&] { attached = attach(lease); });
  ledger::Ledger ledger = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
  ledger::Lease seen = lease;
  for (const auto end = test::HookHost::soon(); seen.netns_id < 0 && !end.passed();) {
    seen = ledger.find(lease.id).take().value();
  }
  EXPECT_TRUE(test::succeeds(ledger.begin_release(seen, base::current_process().value(), "ended")));
  EXPECT_TRUE(test::succeeds(ledger.finish_release(seen)));
  { const lifecycle::network::NetworkLock released = std::move(lock).take(); }
  hook.join();
  EXPECT_TRUE(test::fails(attached, Code::kBusy, "changed by another process"));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
}

TEST_F(AttachedTest, LeavesAnInterfaceOfAnotherWithItsNameAlone) {
  ip(str("link add roce0 netns ", init_.pid(), " type veth peer name other0"));
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(attach(lease), Code::kExists, "roce0"));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, RefusesTheNamespaceOfTheHost) {
  const ledger::Lease lease = host_.start("web", 4);
  const std::string state = str(R"({"id":"web","bundle":"/b","pid":)", ::getpid(), "}");
  EXPECT_TRUE(test::fails(lifecycle::start::attach_container(
                              host_.env, lease.id, oci::parse_state(state), test::HookHost::soon()),
                          Code::kInvalid));
  EXPECT_TRUE(host_.is_empty());
}

class NetworkPathTest : public AttachedTest {
 protected:
  Status prepare_with(const std::string& path) {
    inject::Bundle bundle = host_.make_bundle(
        "web", str(R"({"linux":{"namespaces":[{"type":"network","path":")", path, R"("}]}})"));
    return lifecycle::start::prepare_container(host_.env, host_.config, {4, false, {}, ""}, "web",
                                               oci::parse_spec(bundle.config()).take(), bundle);
  }
};

TEST_F(NetworkPathTest, MayBeOfAnotherContainer) {
  EXPECT_TRUE(test::succeeds(prepare_with(init_.network())));
}

TEST_F(NetworkPathTest, MustNotBeOfTheHost) {
  EXPECT_TRUE(test::fails(prepare_with("/proc/self/ns/net"), Code::kDenied, "--net=host"));
  // Where this host is a container itself, that of the first process cannot even be opened.
  EXPECT_TRUE(test::fails(prepare_with("/proc/1/ns/net"), Code::kDenied));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(NetworkPathTest, MustBeANetworkNamespace) {
  EXPECT_TRUE(test::fails(prepare_with("/proc/self/ns/mnt"), Code::kInvalid));
  EXPECT_TRUE(test::fails(prepare_with("/no/such/namespace"), Code::kNotFound));
  EXPECT_TRUE(host_.is_empty());
}

}  // namespace
}  // namespace hook
