// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/ipuof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/local_hosts.h"
#include "tests/support/outcome.h"
#include "tests/unit/vipu/local/soon.h"

namespace vipu {
namespace {

using namespace base::names;

// "1:3" for device 3 of 10.5.1.1, in the order of the grant.
std::vector<std::string> devices_of(const Grant& grant) {
  std::vector<std::string> names;
  for (const IpuofDevice& device : grant.gcds.at(0).devices) {
    names.push_back(str(device.ip.substr(device.ip.rfind('.') + 1), ":", device.device_id));
  }
  return names;
}
using Names = std::vector<std::string>;

class IpuofTest : public testing::Test {
 protected:
  Result<Grant> create(const std::string& id, uint32_t size) {
    return controller_->create({id, size}, soon());
  }

  test::IpuofHost host_{4};
  std::unique_ptr<Controller> controller_ = host_.controller();
};

TEST_F(IpuofTest, ASliceHasItsDevicesAsTheyAreInTheFileAndAllAttributes) {
  const Result<Grant> grant = create("p0", 4);
  ASSERT_TRUE(test::succeeds(grant));
  ASSERT_EQ(grant.value().gcds.size(), 1U);
  const IpuofConfig& slice = grant.value().gcds[0];
  EXPECT_EQ(slice.attributes, host_.config.attributes);
  EXPECT_EQ(slice.devices, std::vector<IpuofDevice>(host_.config.devices.begin(),
                                                    host_.config.devices.begin() + 4));
  EXPECT_TRUE(grant.value().cards.empty());
  EXPECT_TRUE(grant.value().controller_address.empty());
}

TEST_F(IpuofTest, BlocksFollowTheDeviceIdsOfTheMachines) {
  EXPECT_EQ(devices_of(create("p0", 2).take()), (Names{"1:1", "1:0"}));
  EXPECT_EQ(devices_of(create("p1", 2).take()), (Names{"1:3", "1:2"}));
  EXPECT_EQ(devices_of(create("p2", 1).take()), (Names{"2:0"}));
  EXPECT_EQ(create("p3", 8).take().gcds[0].devices.front().ip, "10.5.1.3");
  EXPECT_TRUE(test::fails(create("p4", 4), Code::kBusy, "largest free: 2"));
}

TEST_F(IpuofTest, MachinesAreInTheOrderInWhichTheFileNamesThem) {
  IpuofConfig config = host_.config;
  std::rotate(config.devices.begin(), config.devices.begin() + 12, config.devices.end());
  host_.write(config);
  EXPECT_EQ(devices_of(create("p0", 4).take()), (Names{"4:3", "4:2", "4:1", "4:0"}));
  EXPECT_EQ(devices_of(create("p1", 4).take()), (Names{"1:3", "1:2", "1:1", "1:0"}));
}

TEST_F(IpuofTest, AnIpuThatTheFileLeavesOutKeepsItsNumber) {
  IpuofConfig config = host_.config;
  config.devices.erase(config.devices.begin() + 2);  // device 1 of machine 1
  host_.write(config);
  const Survey survey = controller_->survey(soon()).take();
  EXPECT_EQ(survey.domains, std::vector<uint32_t>{16});
  EXPECT_EQ(survey.tainted, (std::vector<TaintedIpu>{{{0, 1}, "is not in the IPUoF file"}}));
  EXPECT_EQ(devices_of(create("p0", 1).take()), (Names{"1:0"}));
  EXPECT_EQ(devices_of(create("p1", 2).take()), (Names{"1:3", "1:2"}));
}

TEST_F(IpuofTest, ALargeFileHasDomainsOf64) {
  const test::IpuofHost large(20);
  const auto controller = large.controller();
  EXPECT_EQ(controller->survey(soon()).take().domains, (std::vector<uint32_t>{64, 16}));
  EXPECT_EQ(controller->create({"p0", 64}, soon()).take().gcds[0].devices.size(), 64U);
}

TEST_F(IpuofTest, TaintedIpusAreNeverGiven) {
  controller_ = host_.controller({0, 5, 99});
  const Survey survey = controller_->survey(soon()).take();
  ASSERT_EQ(survey.tainted.size(), 2U);
  EXPECT_EQ(survey.tainted[0].place, (IpuPlace{0, 0}));
  EXPECT_EQ(survey.tainted[1].place, (IpuPlace{0, 5}));
  EXPECT_EQ(create("p0", 8).take().gcds[0].devices.front().ip, "10.5.1.3");
  EXPECT_TRUE(test::fails(create("p1", 4), Code::kBusy, "taint"));
  EXPECT_EQ(devices_of(create("p2", 1).take()), (Names{"1:1"}));
}

TEST_F(IpuofTest, APartIsAllThatThePoolHas) {
  const auto part_of = [&](Block part, std::vector<uint32_t> taints = {}) {
    return make_ipuof_controller({"slices", host_.file, host_.state_file, taints, {}, part});
  };
  controller_ = part_of({8, 8}, {1, 9});
  const Survey survey = controller_->survey(soon()).take();
  EXPECT_EQ(survey.domains, std::vector<uint32_t>{8});
  EXPECT_EQ(survey.tainted, (std::vector<TaintedIpu>{{{0, 1}, "is tainted in the configuration"}}));
  EXPECT_EQ(controller_->attributes({}, soon()).take().size(), 8U);
  EXPECT_EQ(devices_of(create("p0", 4).take()), (Names{"4:3", "4:2", "4:1", "4:0"}));
  EXPECT_EQ(devices_of(create("p1", 2).take()), (Names{"3:3", "3:2"}));
  EXPECT_TRUE(test::fails(create("p2", 16), Code::kInvalid, "16"));
  EXPECT_EQ(create("p3", 1).take().gcds[0].attributes, host_.config.attributes);
  EXPECT_TRUE(test::fails(create("p4", 1), Code::kBusy, "taint"));
}

// Two hosts with one file, each with a store of its own.
TEST_F(IpuofTest, PartsOfTwoHostsHaveNoIpuInCommon) {
  std::set<std::string> given;
  for (const Block part : {Block{0, 8}, Block{8, 8}}) {
    const auto controller = make_ipuof_controller(
        {"slices", host_.file, str(host_.state_file, part.first), {}, {}, part});
    for (const char* id : {"p0", "p1"}) {
      for (const std::string& device : devices_of(controller->create({id, 4}, soon()).take()))
        EXPECT_TRUE(given.insert(device).second) << device;
    }
    EXPECT_TRUE(test::fails(controller->create({"p2", 1}, soon()), Code::kBusy, ""));
  }
  EXPECT_EQ(given.size(), 16U);
}

TEST_F(IpuofTest, APartMayEndBehindTheFileButNotBegin) {
  const auto part_of = [&](Block part) {
    return make_ipuof_controller({"slices", host_.file, host_.state_file, {}, {}, part});
  };
  EXPECT_EQ(part_of({0, 64})->survey(soon()).take().domains, std::vector<uint32_t>{16});
  EXPECT_TRUE(test::fails(part_of({16, 16})->survey(soon()), Code::kInvalid,
                          "has IPUs 0 to 15, but 'part' is \"16-31\"; correct 'part'"));
  const test::IpuofHost large(40);
  const auto of_large = [&](Block part) {
    return make_ipuof_controller({"slices", large.file, large.state_file, {}, {}, part});
  };
  EXPECT_EQ(of_large({0, 128})->survey(soon()).take().domains, (std::vector<uint32_t>{64, 64}));
  EXPECT_EQ(of_large({128, 128})->survey(soon()).take().domains, std::vector<uint32_t>{32});
}

// What was made before its IPUs left the part is still removed.
TEST_F(IpuofTest, PartitionsOutsideOfThePartCanBeRemoved) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  controller_ =
      make_ipuof_controller({"slices", host_.file, host_.state_file, {}, {}, Block{8, 8}});
  EXPECT_EQ(controller_->list(soon()).take().at(0).ready, ReadyState::kError);
  EXPECT_TRUE(test::succeeds(controller_->remove("p0", Force::kNo, soon())));
  EXPECT_TRUE(controller_->list(soon()).take().empty());
}

TEST_F(IpuofTest, APartitionThatIsNotReconfigurableIsNotSliced) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  IpuofConfig config = host_.config;
  config.attributes["Fabric Reconfigurable"] = "false";
  host_.write(config);
  EXPECT_TRUE(test::fails(create("p1", 4), Code::kUnsupported, "not reconfigurable"));
  EXPECT_EQ(controller_->list(soon()).take().size(), 1U);
  EXPECT_TRUE(test::succeeds(controller_->config("p0", std::nullopt, soon())));
}

TEST_F(IpuofTest, WithoutAFileItIsUnavailableButPartitionsCanBeRemoved) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  host_.remove_source();
  EXPECT_TRUE(test::fails(create("p1", 4), Code::kUnavailable, host_.file));
  EXPECT_TRUE(test::fails(controller_->list(soon()), Code::kUnavailable));
  EXPECT_EQ(controller_->remove("p0", Force::kNo, soon()).take(), base::Removed::kNow);
}

TEST_F(IpuofTest, ABrokenFileIsRefusedByName) {
  host_.write_text("[]");
  EXPECT_TRUE(test::fails(create("p0", 4), Code::kInvalid, host_.file));
  EXPECT_TRUE(test::fails(controller_->survey(soon()), Code::kInvalid, "bare list"));
}

TEST_F(IpuofTest, APartitionWhoseDevicesAreGoneIsInErrorUntilTheyComeBack) {
  const Grant before = create("p0", 4).take();
  ASSERT_TRUE(test::succeeds(create("p1", 4)));
  IpuofConfig config = host_.config;
  config.devices.erase(config.devices.begin(), config.devices.begin() + 2);
  host_.write(config);
  const auto list = controller_->list(soon()).take();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].ready, ReadyState::kError);
  EXPECT_EQ(list[0].ipus.size(), 4U);
  EXPECT_EQ(list[1].ready, ReadyState::kActive);
  const PartitionStatus status = controller_->status("p0", soon()).take();
  EXPECT_EQ(status.ready, ReadyState::kError);
  ASSERT_EQ(status.errors.size(), 1U);
  EXPECT_NE(status.errors[0].find("10.5.1.1:2, 10.5.1.1:3"), std::string::npos);
  EXPECT_TRUE(
      test::fails(controller_->config("p0", std::nullopt, soon()), Code::kNotFound, "10.5.1.1:3"));
  EXPECT_TRUE(test::fails(controller_->wait("p0", soon()), Code::kInternal, "10.5.1.1:3"));
  EXPECT_TRUE(test::fails(controller_->reset("p0", Relocate::kNo, soon()), Code::kInternal));
  host_.write(host_.config);
  EXPECT_EQ(controller_->config("p0", std::nullopt, soon()).take(), before);
}

TEST_F(IpuofTest, AFileInAnotherOrderGivesNothingTwice) {
  const Grant before = create("p0", 4).take();
  IpuofConfig config = host_.config;
  std::rotate(config.devices.begin(), config.devices.begin() + 4, config.devices.end());
  host_.write(config);
  EXPECT_EQ(controller_->config("p0", std::nullopt, soon()).take(), before);
  for (int i = 1; i < 4; ++i) {
    const Grant other = create(str("p", i), 4).take();
    EXPECT_NE(other.gcds[0].devices[0].ip, before.gcds[0].devices[0].ip);
  }
  EXPECT_TRUE(test::fails(create("p4", 1), Code::kBusy));
}

TEST_F(IpuofTest, ADamagedStateFileStopsEveryCallAndIsKept) {
  ASSERT_TRUE(test::succeeds(create("p0", 4)));
  ASSERT_TRUE(test::succeeds(base::write_atomic(host_.state_file, "{", {})));
  EXPECT_TRUE(test::fails(create("p1", 4), Code::kInvalid, host_.state_file));
  EXPECT_TRUE(test::fails(controller_->list(soon()), Code::kInvalid, host_.state_file));
  EXPECT_TRUE(
      test::fails(controller_->remove("p0", Force::kYes, soon()), Code::kInvalid, "restore it"));
  EXPECT_EQ(base::read_file(host_.state_file, 64).take(), "{");
}

TEST_F(IpuofTest, AttributesAreThoseOfTheMachines) {
  const auto ipus = controller_->attributes({"10.5.1.2"}, soon()).take();
  ASSERT_EQ(ipus.size(), 4U);
  EXPECT_EQ(ipus[0].agent, "10.5.1.2");
  EXPECT_EQ(ipus[0].ipu, 3U);
  EXPECT_EQ(ipus[0].attributes.at("chip id"), "chip-4");
  EXPECT_EQ(ipus[0].attributes.at("routing id"), "28");
}

TEST_F(IpuofTest, ErrorsNameThePoolAndTheCall) {
  EXPECT_TRUE(test::fails(controller_->status("p9", soon()), Code::kNotFound,
                          "pool 'slices': status: there is no partition 'p9'"));
}

}  // namespace
}  // namespace vipu
