// SPDX-License-Identifier: Apache-2.0
// The network of a lease, in namespaces that the test makes: attach, release, reconcile.
#include "hook/lifecycle/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/kernel/hook/attached.h"

namespace hook {
namespace {

using base::Code;
using base::Status;
using base::str;
using test::AttachedTest;
using testing::HasSubstr;
using testing::Not;

TEST_F(AttachedTest, MakesTheLeaseRunWithTheFirstProcessOfTheContainer) {
  const Lease lease = start_and_attach();
  EXPECT_EQ(lease.state, LeaseState::kRunning);
  EXPECT_EQ(lease.owner, base::identify_process(init_.pid()).value());
  EXPECT_EQ(lease.netns, netns::Namespace::of_process(init_.pid()).value().identity());
  EXPECT_GE(lease.netns_id, 0);
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, DoesNothingTheSecondTime) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(attach(lease)));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(AttachedTest, IsGivenBackWhileTheNamespaceLivesOn) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFree);
}

TEST_F(AttachedTest, IsGivenBackAfterTheNamespaceHasGone) {
  const Lease lease = start_and_attach();
  init_.end();
  EXPECT_TRUE(test::succeeds(poststop(lease)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(AttachedTest, IsGivenBackByReconcileOnceTheContainerEnded) {
  const Lease lease = start_and_attach();
  EXPECT_TRUE(reconcile(host_.env, test::HookHost::soon()).value().released.empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
  init_.end();
  EXPECT_EQ(reconcile(host_.env, test::HookHost::soon()).value().released.size(), 1U);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFree);
}

TEST_F(AttachedTest, LeavesNothingWhenTheParentHasGone) {
  const Lease lease = host_.start("web", 4);
  ip("link delete rail0");
  const Status failed = attach(lease);
  EXPECT_TRUE(test::fails(failed, Code::kNotFound, kParent));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, LeaseState::kFailed);
  EXPECT_EQ(host_.stored(lease).error, failed.error().message());
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
}

TEST_F(AttachedTest, LeavesAnInterfaceOfAnotherWithItsNameAlone) {
  ip(str("link add roce0 netns ", init_.pid(), " type veth peer name other0"));
  const Lease lease = host_.start("web", 4);
  EXPECT_TRUE(test::fails(attach(lease), Code::kExists, "roce0"));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(AttachedTest, RefusesTheNamespaceOfTheHost) {
  const Lease lease = host_.start("web", 4);
  const std::string state = str(R"({"id":"web","bundle":"/b","pid":)", ::getpid(), "}");
  EXPECT_TRUE(test::fails(attach_container(host_.env, lease.id, state, test::HookHost::soon()),
                          Code::kInvalid));
  EXPECT_TRUE(host_.is_empty());
}

class NetworkPathTest : public AttachedTest {
 protected:
  Status prepare_with(const std::string& path) {
    Bundle bundle = host_.make_bundle(
        "web", str(R"({"linux":{"namespaces":[{"type":"network","path":")", path, R"("}]}})"));
    return prepare_container(host_.env, host_.config, {4, false, {}, ""}, "web", bundle);
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
