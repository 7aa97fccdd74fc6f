// SPDX-License-Identifier: Apache-2.0
// attach_container where it does not come to the network. (Where it does:
// tests/kernel/hook/lifecycle/start.)
#include "hook/lifecycle/start/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

class AttachTest : public testing::Test {
 protected:
  Status attach(const ledger::Lease& lease, const Result<std::string>& state) {
    return attach_container(host_.env, lease.id, state_of(state), test::HookHost::soon());
  }
  static Result<oci::ContainerState> state_of(const Result<std::string>& text) {
    if (!text.ok()) return text.error();
    return oci::parse_state(text.value());
  }
  static std::string state_with(const std::string& members) {
    return str(R"({"id":"web","bundle":"/b")", members, "}");
  }
  // The start fails with this text, and gives back what it had.
  void expect_released(const ledger::Lease& lease, const Status& failed) {
    EXPECT_TRUE(host_.is_empty());
    EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kFailed);
    EXPECT_EQ(host_.stored(lease).error, failed.error().message());
  }
  test::HookHost host_;
};

TEST_F(AttachTest, NeedsALeaseThatExists) {
  EXPECT_TRUE(test::fails(attach_container(host_.env, "0123", state_of(state_with(R"(,"pid":1)")),
                                           test::HookHost::soon()),
                          Code::kNotFound, "the ledger has no lease '0123'"));
}

struct Bad {
  const char* name;
  const char* state;
  const char* message;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class AttachBadStateTest : public AttachTest, public testing::WithParamInterface<Bad> {};

TEST_P(AttachBadStateTest, ReleasesTheLease) {
  const ledger::Lease lease = host_.start("web", 4);
  const Status failed = attach(lease, std::string(GetParam().state));
  ASSERT_TRUE(test::fails(failed, Code::kInvalid, GetParam().message));
  expect_released(lease, failed);
}

const Bad kBad[] = {
    {"Empty", "", "empty"},
    {"Truncated", R"({"id":"web")", "not valid JSON"},
    {"WithoutPid", R"({"id":"web","bundle":"/b"})", "key 'pid' is missing"},
    {"WithPid0", R"({"id":"web","bundle":"/b","pid":0})", "key 'pid' is missing"},
    {"WithADeadPid", R"({"id":"web","bundle":"/b","pid":4194304})",
     "key 'pid' is 4194304; the process has ended"},
};

INSTANTIATE_TEST_SUITE_P(Examples, AttachBadStateTest, testing::ValuesIn(kBad),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST_F(AttachTest, ReleasesTheLeaseWhenTheStateCannotBeRead) {
  const ledger::Lease lease = host_.start("web", 4);
  const Status failed = attach(lease, base::Error(Code::kInvalid, "longer than 1048576 bytes"));
  ASSERT_TRUE(test::fails(failed, Code::kInvalid, "longer than 1048576 bytes"));
  expect_released(lease, failed);
}

TEST_F(AttachTest, DoesNothingTheSecondTimeForTheSameProcess) {
  ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(lease, base::current_process().value())));
  EXPECT_TRUE(test::succeeds(attach(lease, state_with(str(",\"pid\":", ::getpid())))));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(AttachTest, DoesNotTouchALeaseThatAnotherProcessRunsOn) {
  ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(lease, base::current_process().value())));
  EXPECT_TRUE(test::fails(attach(lease, state_with(str(",\"pid\":", ::getppid()))), Code::kBusy,
                          "is RUNNING and cannot be attached"));
  EXPECT_TRUE(test::fails(attach(lease, std::string()), Code::kInvalid));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kRunning);
  EXPECT_EQ(host_.partitions().size(), 1U);
}

TEST_F(AttachTest, DoesNotBringBackALeaseThatEnded) {
  const ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(end::release_by_id(host_.env, lease.id, test::HookHost::soon())));
  EXPECT_TRUE(test::fails(attach(lease, state_with(str(",\"pid\":", ::getpid()))), Code::kBusy,
                          "is FAILED and cannot be attached; start the container again"));
}

}  // namespace
}  // namespace hook::lifecycle::start
