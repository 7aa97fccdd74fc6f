// SPDX-License-Identifier: Apache-2.0
// What others in a network namespace with IPUs may do there.
#include "hook/lifecycle/start/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/names.h"
#include "hook/container/oci/spec.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/network/marks.h"
#include "hook/lifecycle/network/net_admin.h"
#include "hook/passing/passing.h"
#include "tests/support/attached.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using test::AttachedTest;
using test::fails;
using test::HookHost;
using test::Init;
using test::succeeds;
using testing::HasSubstr;
using testing::Not;

class NeighboursTest : public AttachedTest {
 protected:
  [[nodiscard]] static std::string spec_in(const std::string& network) {
    return str(R"({"process":{"capabilities":{"bounding":["CAP_KILL","CAP_NET_RAW"]}},)",
               R"("linux":{"namespaces":[{"type":"network","path":")", network, R"("}]}})");
  }
  [[nodiscard]] std::optional<std::string> restricted(const std::string& spec) const {
    return restrict_container(host_.env.run_dir, spec).take();
  }
  [[nodiscard]] bool is_restricted(const std::string& network) const {
    const std::optional<std::string> spec = restricted(spec_in(network));
    EXPECT_THAT(spec.value_or("CAP_KILL"),
                testing::AllOf(HasSubstr("CAP_KILL"), Not(HasSubstr("CAP_NET_RAW"))));
    return spec.has_value();
  }
  [[nodiscard]] bool has_marks() const { return passing::has_marks(host_.env.run_dir); }
};

TEST_F(NeighboursTest, LoseBothCapabilitiesAsLongAsTheLeaseLives) {
  EXPECT_FALSE(has_marks());
  EXPECT_FALSE(is_restricted(init_.network()));
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(is_restricted(init_.network()));
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_FALSE(is_restricted(init_.network()));
  EXPECT_FALSE(has_marks()) << "directories too";
}

TEST_F(NeighboursTest, InOtherNamespacesLoseNothing) {
  start_and_attach();
  const Init other("other");
  EXPECT_FALSE(is_restricted(other.network()));
  EXPECT_FALSE(is_restricted("/proc/self/ns/net"));
  EXPECT_FALSE(is_restricted("/absent"));
  EXPECT_EQ(restricted("{}"), std::nullopt);
}

// Of two lists of one name, Go puts the second into the items of the first: /n is of type network.
TEST_F(NeighboursTest, LoseThemAlsoByANamespaceOfTwoLists) {
  start_and_attach();
  const std::string spec =
      str(R"({"process":{"capabilities":{"bounding":["CAP_NET_RAW"]}},"linux":{"namespaces":)",
          R"([{"path":")", init_.network(), R"("}],"namespaces":[{"type":"network"}]}})");
  EXPECT_THAT(restricted(spec).value_or("CAP_NET_RAW"), Not(HasSubstr("CAP_NET_RAW")));
}

// Whoever starts a container chooses how much is in its config.json.
TEST_F(NeighboursTest, LoseThemAlsoInAConfigBeyondTheLimits) {
  start_and_attach();
  std::string annotations;
  for (int i = 0; i < 5000; ++i) annotations += str(i == 0 ? "" : ",", "\"a", i, "\":\"\"");
  const std::string spec = spec_in(init_.network());
  const std::string large = str("{\"annotations\":{", annotations, "},\"a\":\"",
                                std::string(17 << 20, 'x'), "\",", spec.substr(1));
  ASSERT_FALSE(oci::parse_spec(large).ok());
  const std::optional<std::string> less = restricted(large);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->find("CAP_NET_RAW"), std::string::npos);
  EXPECT_EQ(less->size(), large.size() - std::string_view(",\"CAP_NET_RAW\"").size());
}

TEST_F(NeighboursTest, AreRefusedIfTheirConfigIsNoJson) {
  EXPECT_EQ(restricted("{/* for crun */}"), std::nullopt);
  start_and_attach();
  EXPECT_TRUE(fails(restrict_container(host_.env.run_dir, "{/* for crun */}"), Code::kInvalid,
                    "malformed at byte 1, so it cannot be told whether the container joins"));
}

TEST_F(NeighboursTest, AreRefusedIfTheirConfigIsTooLong) {
  const base::Error too_long(Code::kInvalid, "read 'config.json': longer than 9 bytes");
  EXPECT_TRUE(succeeds(check_readable(host_.env.run_dir, too_long)));
  start_and_attach();
  EXPECT_TRUE(fails(check_readable(host_.env.run_dir, too_long), Code::kInvalid,
                    "longer than 9 bytes, so it cannot be told whether the container joins"));
  EXPECT_TRUE(succeeds(check_readable(host_.env.run_dir, base::Error(Code::kNotFound, "none"))));
}

// The inode of a namespace that ended belongs to another one.
TEST_F(NeighboursTest, LoseNothingByTheMarkOfAnEarlierNamespace) {
  ledger::Lease lease = start_and_attach();
  lease.netns.cookie += 1;
  ASSERT_TRUE(succeeds(network::mark_namespace(host_.env.run_dir, lease)));
  EXPECT_FALSE(is_restricted(init_.network()));
}

TEST_F(NeighboursTest, AreRestrictedUntilTheLastLeaseOfANamespaceEnds) {
  const ledger::Lease first = start_and_attach();
  ASSERT_TRUE(succeeds(prepare_in("second", init_, 4)));
  const Init second_init("second", &init_);
  ASSERT_TRUE(succeeds(attach(host_.lease_of("second"), second_init)));
  ASSERT_TRUE(succeeds(poststop(first)));
  EXPECT_TRUE(is_restricted(init_.network()));
  ASSERT_TRUE(succeeds(poststop(host_.lease_of("second"))));
  EXPECT_FALSE(has_marks());
}

TEST_F(NeighboursTest, KeepNoMarkOfALeaseThatIsNotLive) {
  const ledger::Lease lease = start_and_attach();
  ledger::Lease stranger = lease;
  stranger.id = std::string(32, '7');
  stranger.netns.inode += 1;
  ASSERT_TRUE(succeeds(network::mark_namespace(host_.env.run_dir, stranger)));
  ASSERT_TRUE(succeeds(end::reconcile(host_.env, HookHost::soon(), {})));
  EXPECT_TRUE(is_restricted(init_.network()));
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_FALSE(has_marks()) << "the stranger's is gone";
}

TEST_F(NeighboursTest, AProcessThatIsAddedLosesThemToo) {
  start_and_attach();
  const std::string state_dir = host_.env.run_dir + "/state";
  const base::ProcessId init = base::identify_process(init_.pid()).take();
  std::filesystem::create_directories(state_dir);
  const std::string record =
      str(R"({"init_process_pid":)", init.pid, R"(,"init_process_start":)", init.start_time, "}");
  ASSERT_TRUE(succeeds(base::write_atomic(state_dir + "/state.json", record, {})));
  const std::string process = R"({"args":["sh"],"capabilities":{"effective":["CAP_NET_ADMIN"]}})";
  EXPECT_EQ(restrict_process(host_.env.run_dir, state_dir, process),
            R"({"args":["sh"],"capabilities":{"effective":[]}})");
  EXPECT_EQ(restrict_process(host_.env.run_dir, state_dir, "{}"), std::nullopt);
  EXPECT_EQ(restrict_process(host_.env.run_dir, "/absent", process), std::nullopt);
  const std::string large =
      str("{\"env\":[\"A=", std::string(17 << 20, 'x'), "\"],", process.substr(1));
  const std::optional<std::string> less = restrict_process(host_.env.run_dir, state_dir, large);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->find("CAP_NET_ADMIN"), std::string::npos);
}

TEST_F(NeighboursTest, WithNetAdminKeepIpusOut) {
  const Init powerful("powerful", &init_, Init::Power::kAll);
  const Status start = prepare_in("web", init_, 4);
  EXPECT_TRUE(fails(start, Code::kDenied,
                    str("the network namespace of process ", powerful.pid(), ", which has")));
  EXPECT_TRUE(host_.ledger.live().value().empty());
  host_.config.policy.shared_net_admin = true;
  EXPECT_TRUE(succeeds(prepare_in("web", init_, 4)));
}

// Such a user executes a set-user-ID program of the image.
TEST_F(NeighboursTest, ThatCanGainNetAdminKeepIpusOut) {
  const Init user("user", &init_, Init::Power::kBounding);
  EXPECT_TRUE(
      fails(prepare_in("web", init_, 4), Code::kDenied, "which has CAP_NET_ADMIN, or may gain it"));
}

// Capabilities belong to threads.
TEST_F(NeighboursTest, WithNetAdminInAThreadKeepIpusOut) {
  const Init user("user", &init_, Init::Power::kThread);
  EXPECT_TRUE(fails(prepare_in("web", init_, 4), Code::kDenied, "which has CAP_NET_ADMIN"));
}

TEST_F(NeighboursTest, AreWaitedForWhileTheyAreCreated) {
  Init created("created", &init_, Init::Power::kAll);
  EXPECT_TRUE(succeeds(check_neighbours(init_.network(), created.pid(), HookHost::soon())));
  const pid_t ender = ::fork();
  if (ender == 0) {
    ::usleep(100'000);
    ::kill(created.pid(), SIGKILL);
    ::_exit(0);
  }
  EXPECT_TRUE(succeeds(check_neighbours(init_.network(), 0, HookHost::soon())));
  ::waitpid(ender, nullptr, 0);
}

}  // namespace
}  // namespace hook::lifecycle::start
