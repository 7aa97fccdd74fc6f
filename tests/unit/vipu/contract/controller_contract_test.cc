// SPDX-License-Identifier: Apache-2.0
// What every vipu::Controller keeps, on each of the rigs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/fake_controller.h"
#include "tests/support/local_hosts.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/vipu/contract/controller_rigs.h"
#include "vipu/placement.h"

namespace vipu {
namespace {

using namespace base::names;
using base::Removed;
using std::chrono::milliseconds;

Deadline soon() { return Deadline::after(milliseconds(20'000)); }

// What a grant is of: "10.5.1.1:3" or "card 3".
std::set<std::string> ipus_of(const Grant& grant) {
  std::set<std::string> ipus;
  for (const IpuofConfig& gcd : grant.gcds) {
    for (const IpuofDevice& device : gcd.devices) {
      ipus.insert(str(device.ip, ":", device.device_id));
    }
  }
  for (const Card& card : grant.cards) ipus.insert(str("card ", card.number));
  return ipus;
}

class ControllerContract : public testing::TestWithParam<test::Subject> {
 protected:
  void SetUp() override {
    if (traits().makes_devices) REQUIRES_DEVICES();
    use_delay(milliseconds(5));
  }
  void use_delay(milliseconds create_delay) { rig_ = GetParam().make(create_delay); }
  [[nodiscard]] const test::Traits& traits() const { return GetParam().traits; }
  Controller& controller() { return rig_->first(); }
  test::Rig& rig() { return *rig_; }

  Result<Grant> create(const std::string& id, uint32_t size) {
    return controller().create({id, size}, soon());
  }
  // A request for these IPUs of domain 0.
  PartitionRequest named(const std::string& id, const std::vector<uint32_t>& ipus) {
    PartitionRequest request{id, static_cast<uint32_t>(ipus.size())};
    request.cluster = traits().cluster;
    for (const uint32_t ipu : ipus) {
      request.ipus.push_back({{0, ipu}, 0, static_cast<uint32_t>(request.ipus.size())});
    }
    return request;
  }
  uint32_t free_ipus() { return Occupancy::of(controller().survey(soon()).take()).free_ipus(); }

 private:
  std::unique_ptr<test::Rig> rig_;
};

TEST_P(ControllerContract, CreateGrantsOneDeviceForEachIpu) {
  for (const uint32_t size : {1U, 2U, 4U, 8U}) {
    const Result<Grant> grant = create(str("p", size), size);
    ASSERT_TRUE(test::succeeds(grant));
    EXPECT_EQ(ipus_of(grant.value()).size(), size);
    EXPECT_EQ(grant.value().controller_address.empty(), !traits().has_address);
    EXPECT_EQ(grant.value().controller_addresses.empty(), !traits().has_address);
    EXPECT_EQ(controller().addresses(soon()).take(), grant.value().controller_addresses);
    EXPECT_EQ(grant.value().cards.size(), traits().grants_cards ? size : 0U);
    ASSERT_EQ(grant.value().gcds.size(), traits().grants_cards ? 0U : 1U);
    for (const IpuofConfig& gcd : grant.value().gcds) {
      EXPECT_EQ(gcd.devices.size(), size);
      EXPECT_EQ(gcd.attributes.at("GCD Id"), "0");
    }
  }
}

TEST_P(ControllerContract, CreatedPartitionIsActiveAndListedAndReadsBackTheSame) {
  const Result<Grant> grant = create("p0", 4);
  ASSERT_TRUE(test::succeeds(grant));
  const Result<PartitionStatus> status = controller().status("p0", soon());
  ASSERT_TRUE(test::succeeds(status));
  EXPECT_EQ(status.value().ready, ReadyState::kActive);
  EXPECT_EQ(controller().config("p0", std::nullopt, soon()).take(), grant.value());
  EXPECT_EQ(controller().config("p0", 0, soon()).take(), grant.value());
  EXPECT_EQ(rig().second().config("p0", 0, soon()).take(), grant.value());
  const auto list = controller().list(soon());
  ASSERT_TRUE(test::succeeds(list));
  ASSERT_EQ(list.value().size(), 1U);
  EXPECT_EQ(list.value()[0].id, "p0");
  EXPECT_EQ(list.value()[0].ipus.size(), 4U);
  EXPECT_EQ(list.value()[0].ready, ReadyState::kActive);
  EXPECT_EQ(list.value()[0].gcds, 1U);
}

TEST_P(ControllerContract, SubmitAndWaitAreCreate) {
  ASSERT_TRUE(test::succeeds(controller().submit({"p0", 4}, soon())));
  EXPECT_EQ(controller().list(soon()).take().at(0).ipus.size(), 4U);
  const Result<Grant> grant = controller().wait("p0", soon());
  ASSERT_TRUE(test::succeeds(grant));
  EXPECT_EQ(controller().status("p0", soon()).take().ready, ReadyState::kActive);
  EXPECT_EQ(controller().config("p0", std::nullopt, soon()).take(), grant.value());
  EXPECT_TRUE(test::fails(controller().submit({"p0", 4}, soon()), Code::kExists, "p0"));
  EXPECT_TRUE(test::fails(controller().submit({"p1", 16}, soon()), Code::kBusy));
}

TEST_P(ControllerContract, ConfigIsOfEachGcd) {
  PartitionRequest request{"p0", 4};
  request.gcds = 2;
  const Result<Grant> grant = controller().create(request, soon());
  if (!traits().has_gcds) {
    EXPECT_TRUE(test::fails(grant, Code::kUnsupported, "GCDs"));
    return;
  }
  ASSERT_TRUE(test::succeeds(grant));
  ASSERT_EQ(grant.value().gcds.size(), 2U);
  EXPECT_EQ(ipus_of(grant.value()).size(), 4U);
  EXPECT_EQ(controller().list(soon()).take().at(0).gcds, 2U);
  for (const uint32_t gcd : {0U, 1U}) {
    const IpuofConfig& config = grant.value().gcds[gcd];
    EXPECT_EQ(config.devices.size(), 2U);
    EXPECT_EQ(config.attributes.at("GCD Id"), str(gcd));
    EXPECT_EQ(controller().config("p0", gcd, soon()).take().gcds, std::vector<IpuofConfig>{config});
  }
  EXPECT_TRUE(test::fails(controller().config("p0", 2, soon()), Code::kNotFound));
}

TEST_P(ControllerContract, AGcdThatThereIsNotIsNotFound) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  EXPECT_TRUE(test::fails(controller().config("p0", 1, soon()), Code::kNotFound, "p0"));
}

TEST_P(ControllerContract, ANameIsTakenOnlyOnce) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  EXPECT_TRUE(test::fails(create("p0", 4), Code::kExists, "p0"));
  EXPECT_TRUE(test::fails(rig().second().create({"p0", 4}, soon()), Code::kExists, "p0"));
}

TEST_P(ControllerContract, NamesAreChecked) {
  const std::string longest(kMaxPartitionName, 'a');
  for (const std::string& name : {std::string(), longest + "a", std::string("a/b"),
                                  std::string("a b"), std::string("\u00e4")}) {
    EXPECT_TRUE(test::fails(create(name, 1), Code::kInvalid)) << name;
    EXPECT_TRUE(test::fails(controller().submit({name, 1}, soon()), Code::kInvalid)) << name;
  }
  EXPECT_TRUE(test::succeeds(create(longest, 1)));
  EXPECT_TRUE(test::succeeds(create("A-z_09", 1)));
}

TEST_P(ControllerContract, WithoutAFreeBlockItIsBusyAndSaysWhatIsFree) {
  ASSERT_TRUE(test::succeeds(create("p0", 8)));
  ASSERT_TRUE(test::succeeds(create("p1", 4)));
  ASSERT_TRUE(test::succeeds(create("p2", 2)));
  EXPECT_TRUE(test::fails(create("p3", 4), Code::kBusy, "largest free: 2"));
}

TEST_P(ControllerContract, SizesThatNoPartitionCanHaveAreInvalid) {
  for (const uint32_t size : {0U, 3U, 32U}) {
    EXPECT_TRUE(test::fails(create("p0", size), Code::kInvalid, str(size)));
  }
  EXPECT_TRUE(controller().list(soon()).take().empty());
}

TEST_P(ControllerContract, NamedIpusAreTheseAndNoOthers) {
  ASSERT_TRUE(test::succeeds(controller().create(named("p0", {4, 5, 6, 7}), soon())));
  std::vector<IpuPlace> places = controller().list(soon()).take().at(0).ipus;
  std::sort(places.begin(), places.end());
  EXPECT_EQ(places, (std::vector<IpuPlace>{{0, 4}, {0, 5}, {0, 6}, {0, 7}}));
  EXPECT_TRUE(test::fails(controller().create(named("p1", {6, 7}), soon()), Code::kBusy));
  EXPECT_TRUE(test::fails(controller().create(named("p1", {16}), soon()), Code::kInvalid));
  EXPECT_TRUE(test::succeeds(controller().create(named("p1", {2, 3}), soon())));
  EXPECT_EQ(free_ipus(), 10U);
}

TEST_P(ControllerContract, ResetLeavesThePartitionActiveWithItsIpus) {
  const Grant grant = create("p0", 4).take();
  ASSERT_TRUE(test::succeeds(controller().reset("p0", Relocate::kNo, soon())));
  EXPECT_EQ(controller().status("p0", soon()).take().ready, ReadyState::kActive);
  EXPECT_EQ(controller().config("p0", std::nullopt, soon()).take(), grant);
}

TEST_P(ControllerContract, RemoveSaysWhetherThereWasOne) {
  for (const Force force : {Force::kNo, Force::kYes}) {
    ASSERT_TRUE(test::succeeds(create("p0", 4)));
    const Result<Removed> first = controller().remove("p0", force, soon());
    ASSERT_TRUE(test::succeeds(first));
    EXPECT_EQ(first.value(), Removed::kNow);
    EXPECT_TRUE(controller().list(soon()).take().empty());
    const Result<Removed> second = controller().remove("p0", force, soon());
    ASSERT_TRUE(test::succeeds(second));
    EXPECT_EQ(second.value(), Removed::kWasAbsent);
  }
}

TEST_P(ControllerContract, RemovedIpusCanBeHadAgain) {
  const Grant grant = create("p0", 16).take();
  ASSERT_TRUE(test::succeeds(rig().second().remove("p0", Force::kNo, soon())));
  EXPECT_EQ(ipus_of(create("p1", 16).take()), ipus_of(grant));
}

TEST_P(ControllerContract, WhatIsNotThereIsNotFound) {
  const auto is_not_found = [](const auto& result) {
    return test::fails(result, Code::kNotFound, "p0");
  };
  EXPECT_TRUE(is_not_found(controller().status("p0", soon())));
  EXPECT_TRUE(is_not_found(controller().config("p0", std::nullopt, soon())));
  EXPECT_TRUE(is_not_found(controller().wait("p0", soon())));
  EXPECT_TRUE(is_not_found(controller().reset("p0", Relocate::kNo, soon())));
}

TEST_P(ControllerContract, SurveyFollowsThePartitions) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  const Result<Survey> survey = controller().survey(soon());
  ASSERT_TRUE(test::succeeds(survey));
  EXPECT_EQ(survey.value().domains, std::vector<uint32_t>{16});
  EXPECT_EQ(survey.value().partitions, controller().list(soon()).take());
  EXPECT_TRUE(survey.value().tainted.empty());
  EXPECT_EQ(free_ipus(), 12U);
  EXPECT_EQ(largest_free(Occupancy::of(survey.value())), 8U);
  ASSERT_TRUE(test::succeeds(controller().remove("p0", Force::kNo, soon())));
  EXPECT_EQ(free_ipus(), 16U);
}

TEST_P(ControllerContract, AttributesAreOfAllIpusOrOfSomeAgents) {
  const auto all = controller().attributes({}, soon());
  ASSERT_TRUE(test::succeeds(all));
  ASSERT_EQ(all.value().size(), 16U);
  const std::string agent = all.value().back().agent;
  const auto some = controller().attributes({agent}, soon());
  ASSERT_TRUE(test::succeeds(some));
  EXPECT_EQ(some.value().back(), all.value().back());
  for (const IpuAttributes& ipu : some.value()) EXPECT_EQ(ipu.agent, agent);
}

TEST_P(ControllerContract, HasAVersion) {
  const Result<std::string> version = controller().version(soon());
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_FALSE(version.value().empty());
}

TEST_P(ControllerContract, ADeadControllerIsUnavailableAndSaysSoQuickly) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  rig().take_down();
  const Deadline patience = Deadline::after(milliseconds(15'000));  // less than one soon()
  EXPECT_TRUE(test::fails(create("p1", 4), Code::kUnavailable));
  EXPECT_TRUE(test::fails(controller().list(soon()), Code::kUnavailable, "list"));
  EXPECT_TRUE(test::fails(controller().survey(soon()), Code::kUnavailable, "survey"));
  const Result<Removed> removed = controller().remove("p0", Force::kNo, soon());
  if (traits().is_remote) {
    EXPECT_TRUE(test::fails(removed, Code::kUnavailable, "remove"));
  } else {
    EXPECT_TRUE(test::succeeds(removed));
  }
  EXPECT_FALSE(patience.passed());
}

TEST_P(ControllerContract, WithoutTimeNothingIsDone) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  const Deadline passed = Deadline::after(milliseconds(0));
  EXPECT_TRUE(test::fails(controller().create({"p1", 4}, passed), Code::kTimeout));
  EXPECT_TRUE(test::fails(controller().submit({"p1", 4}, passed), Code::kTimeout));
  EXPECT_TRUE(test::fails(controller().list(passed), Code::kTimeout));
  EXPECT_TRUE(test::fails(controller().remove("p0", Force::kYes, passed), Code::kTimeout));
  const auto list = controller().list(soon()).take();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].id, "p0");
}

TEST_P(ControllerContract, ACreateThatTakesTooLongTimesOutAndCanBeRemoved) {
  use_delay(milliseconds(3'600'000));
  const Result<Grant> grant = controller().create({"p0", 4}, Deadline::after(milliseconds(4000)));
  if (traits().takes_time) {
    EXPECT_TRUE(test::fails(grant, Code::kTimeout, "p0"));
    EXPECT_EQ(controller().status("p0", soon()).take().ready, ReadyState::kPending);
    EXPECT_TRUE(test::fails(controller().config("p0", 0, soon()), Code::kNotFound));
    const Deadline short_time = Deadline::after(milliseconds(500));
    EXPECT_TRUE(test::fails(controller().wait("p0", short_time), Code::kTimeout, "p0"));
  } else {
    EXPECT_TRUE(test::succeeds(grant));
  }
  EXPECT_EQ(free_ipus(), 12U);
  EXPECT_EQ(controller().remove("p0", Force::kNo, soon()).take(), Removed::kNow);
  EXPECT_EQ(free_ipus(), 16U);
}

// Makes and removes partitions, and marks their IPUs in the directory HELD meanwhile. Gives 0 if
// nobody else had marked one, and at least one partition was made.
int churn(Controller& controller, int process, int rounds, const std::string& held) {
  int made = 0;
  for (int round = 0; round < rounds || (made == 0 && round < 1000); ++round) {
    const std::string id = str("c", process, "-", round);
    const Result<Grant> grant = controller.create({id, 1U << (round % 3)}, soon());
    if (!grant.ok() && grant.error().code() == Code::kBusy) continue;
    if (!grant.ok()) return 1;
    ++made;
    for (const std::string& ipu : ipus_of(grant.value())) {
      const std::string mark = str(held, "/", ipu);
      if (!base::open_at(AT_FDCWD, mark, O_WRONLY | O_CREAT | O_EXCL, 0600).ok()) return 2;
    }
    for (const std::string& ipu : ipus_of(grant.value())) {
      if (!base::remove_file(str(held, "/", ipu)).ok()) return 3;
    }
    const Result<Removed> removed = controller.remove(id, Force::kNo, soon());
    if (!removed.ok() || removed.value() != Removed::kNow) return 4;
  }
  return made > 0 ? 0 : 5;
}

TEST_P(ControllerContract, ManyProcessesNeverHoldTheSameIpu) {
  const test::TempDir held;
  std::vector<pid_t> children;
  for (int i = 0; i < traits().processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(churn(controller(), i, traits().rounds, held.path()));
    ASSERT_GT(child, 0);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
  }
  EXPECT_TRUE(held.entries().empty());
  EXPECT_TRUE(controller().list(soon()).take().empty());
}

INSTANTIATE_TEST_SUITE_P(Implementations, ControllerContract, testing::ValuesIn(test::subjects()),
                         [](const testing::TestParamInfo<test::Subject>& param) {
                           return std::string(param.param.name);
                         });

}  // namespace
}  // namespace vipu
