// SPDX-License-Identifier: Apache-2.0
#include "vipu/local/pcie.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/local_hosts.h"
#include "tests/support/outcome.h"
#include "tests/unit/vipu/local/soon.h"
#include "vipu/local/cards.h"

namespace vipu {
namespace {

using namespace base::names;
using Numbers = std::vector<uint32_t>;
using test::PcieHost;

Numbers numbers_of(const Grant& grant) {
  Numbers numbers;
  for (const Card& card : grant.cards) numbers.push_back(card.number);
  return numbers;
}

class PcieTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_DEVICES();
    host_ = std::make_unique<PcieHost>(8);
    use(host_->options());
  }
  void use(const PcieOptions& options) { controller_ = make_pcie_controller(options); }
  Result<std::vector<Card>> cards() {
    return local::read_cards(host_->dir / "sys", host_->dir / "dev");
  }
  Result<Grant> create(const std::string& id, uint32_t size) {
    return controller_->create({id, size}, soon());
  }
  Result<Grant> create_named(const std::string& id, const Numbers& numbers) {
    PartitionRequest request{id};
    for (const uint32_t number : numbers) request.ipus.push_back({{0, number}});
    return controller_->create(request, soon());
  }

  std::unique_ptr<PcieHost> host_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(PcieTest, ACardIsWhatSysfsAndItsNodesSay) {
  const Result<Grant> grant = create("p0", 1);
  ASSERT_TRUE(test::succeeds(grant));
  EXPECT_TRUE(grant.value().gcds.empty());
  const Card expected{
      0, "0000:00:00.0", 0, {{"/dev/ipu0", 1, 3}, {"/dev/ipu0_ex", 1, 3}, {"/dev/ipu0_mem", 1, 3}}};
  EXPECT_EQ(grant.value().cards, std::vector<Card>{expected});
}

TEST_F(PcieTest, OlderDriversHaveAMailboxAndOtherNodesAreLeftOut) {
  host_->add_node("ipu3_mailbox");
  host_->add_node("ipu3_other");
  host_->remove_node("ipu3_mem");
  ASSERT_TRUE(test::succeeds(base::write_atomic(host_->dir / "dev/ipu3_mem", "", {})));
  const auto read = cards().take();
  EXPECT_EQ(read[3].nodes,
            (std::vector<CardNode>{
                {"/dev/ipu3", 1, 3}, {"/dev/ipu3_ex", 1, 3}, {"/dev/ipu3_mailbox", 1, 3}}));
}

TEST_F(PcieTest, DevicesOfOthersAreNoCards) {
  host_->set_attribute(2, "vendor", "0x8086\n");
  EXPECT_TRUE(test::succeeds(base::remove_file(
      host_->dir / ("sys/bus/pci/devices/" + PcieHost::pci_of(3) + "/file_name"))));
  const auto read = cards().take();
  ASSERT_EQ(read.size(), 6U);
  EXPECT_EQ(read[2].number, 4U);
}

TEST_F(PcieTest, VendorAndNumaNodeNeedNotBeTold) {
  const std::string device = host_->dir / ("sys/bus/pci/devices/" + PcieHost::pci_of(1));
  ASSERT_TRUE(test::succeeds(base::remove_file(device + "/vendor")));
  ASSERT_TRUE(test::succeeds(base::remove_file(device + "/numa_node")));
  EXPECT_EQ(cards().take()[1].numa_node, -1);
  host_->set_attribute(1, "numa_node", "-1\n");
  EXPECT_EQ(cards().take()[1].numa_node, -1);
}

TEST_F(PcieTest, NumbersComeFromSysfsAndNotFromTheOrderOfTheSlots) {
  host_->remove_card(0);
  host_->add_card(9, 0);
  const auto read = cards().take();
  EXPECT_EQ(read[0].number, 0U);
  EXPECT_EQ(read[0].pci, PcieHost::pci_of(9));
}

TEST_F(PcieTest, BrokenSysfsIsRefused) {
  for (const char* text : {"", "x", "-1", "4 5", "1024", "99999999999"}) {
    host_->set_attribute(4, "file_name", text);
    EXPECT_TRUE(test::fails(cards(), Code::kInvalid, "file_name")) << text;
  }
  host_->set_attribute(4, "file_name", "5\n");
  EXPECT_TRUE(test::fails(cards(), Code::kInvalid, "both IPU card 5"));
}

TEST_F(PcieTest, WithoutACardItIsUnavailable) {
  for (uint32_t i = 0; i < 8; ++i) host_->remove_card(i);
  EXPECT_TRUE(test::fails(create("p0", 1), Code::kUnavailable, "ipu_driver"));
  host_->remove_source();
  EXPECT_TRUE(test::fails(create("p0", 1), Code::kUnavailable, "bus/pci/devices"));
}

TEST_F(PcieTest, WithoutGroupsAllCardsAreOneInTheOrderOfTheirNumbers) {
  EXPECT_EQ(controller_->survey(soon()).take().domains, Numbers{8});
  EXPECT_EQ(numbers_of(create("p0", 2).take()), (Numbers{0, 1}));
  EXPECT_EQ(numbers_of(create("p1", 4).take()), (Numbers{4, 5, 6, 7}));
}

TEST_F(PcieTest, AMissingCardKeepsItsPlace) {
  host_->remove_card(1);
  const Survey survey = controller_->survey(soon()).take();
  EXPECT_EQ(survey.tainted, (std::vector<TaintedIpu>{{{0, 1}, "there is no card 1"}}));
  EXPECT_EQ(numbers_of(create("p0", 2).take()), (Numbers{2, 3}));
}

TEST_F(PcieTest, ACardWithoutItsDeviceIsNotGiven) {
  host_->remove_node("ipu0");
  ASSERT_EQ(::symlink("ipu1", (host_->dir / "dev/ipu0").c_str()), 0);
  const Survey survey = controller_->survey(soon()).take();
  ASSERT_EQ(survey.tainted.size(), 1U);
  EXPECT_EQ(survey.tainted[0].reason, "card 0 has no character device /dev/ipu0");
  EXPECT_EQ(numbers_of(create("p0", 1).take()), (Numbers{1}));
}

TEST_F(PcieTest, ABadCardIsTaintedByItsPciAddress) {
  PcieOptions options = host_->options();
  options.bad = {{create("p0", 1).take().cards[0].pci, "hot"}};
  ASSERT_TRUE(controller_->remove("p0", Force::kNo, soon()).ok());
  use(options);
  EXPECT_EQ(controller_->survey(soon()).take().tainted, (std::vector<TaintedIpu>{{{0, 0}, "hot"}}));
  EXPECT_EQ(numbers_of(create("p0", 4).take()), (Numbers{4, 5, 6, 7}));
}

TEST_F(PcieTest, GroupsAreDomainsInTheirLinkOrder) {
  PcieOptions options = host_->options();
  options.groups = {{0, 4, 2, 6}, {1, 3, 5}};
  use(options);
  EXPECT_EQ(controller_->survey(soon()).take().domains, (Numbers{4, 3}));
  EXPECT_EQ(numbers_of(create("p0", 4).take()), (Numbers{0, 4, 2, 6}));
  EXPECT_EQ(numbers_of(create("p1", 2).take()), (Numbers{1, 3}));
  EXPECT_TRUE(test::fails(create("p2", 2), Code::kBusy, "largest free: 1"));
  const auto list = controller_->list(soon()).take();
  EXPECT_EQ(list[1].ipus, (std::vector<IpuPlace>{{1, 0}, {1, 1}}));
}

TEST_F(PcieTest, ACardIsInOneGroupOnly) {
  PcieOptions options = host_->options();
  options.groups = {{0, 1}, {1, 2}};
  use(options);
  EXPECT_TRUE(test::fails(create("p0", 1), Code::kInvalid, "card 1 is in the groups twice"));
  options.groups = {{0, 1}, {}};
  use(options);
  EXPECT_TRUE(test::fails(create("p0", 1), Code::kInvalid, "empty"));
}

TEST_F(PcieTest, NamedCardsAreNamedByTheirNumbers) {
  PcieOptions options = host_->options();
  options.groups = {{0, 1, 2, 3}, {7, 6, 5, 4}};
  use(options);
  EXPECT_TRUE(test::fails(create_named("p0", {5, 6}), Code::kInvalid, "neither one block"));
  EXPECT_EQ(numbers_of(create_named("p0", {6, 7}).take()), (Numbers{7, 6}));
  EXPECT_TRUE(test::fails(create_named("p1", {6}), Code::kBusy, "'p0'"));
  EXPECT_TRUE(test::fails(create_named("p1", {8}), Code::kInvalid));
  EXPECT_EQ(numbers_of(create_named("p2", {0, 1, 2, 3}).take()), (Numbers{0, 1, 2, 3}));
}

TEST_F(PcieTest, TaintedCardsAreNeverGiven) {
  PcieOptions options = host_->options();
  options.groups = {{3, 2, 1, 0}};
  options.taints = {3, 9};
  use(options);
  EXPECT_EQ(controller_->survey(soon()).take().tainted,
            (std::vector<TaintedIpu>{{{0, 0}, "is tainted in the configuration"}}));
  EXPECT_EQ(numbers_of(create("p0", 1).take()), (Numbers{2}));
  EXPECT_TRUE(test::fails(create_named("p1", {3}), Code::kDenied, "tainted"));
}

TEST_F(PcieTest, APartitionWhoseCardVanishedIsInErrorUntilItComesBack) {
  ASSERT_TRUE(test::succeeds(create("p0", 2)));
  host_->remove_card(1);
  EXPECT_EQ(controller_->list(soon()).take()[0].ready, ReadyState::kError);
  EXPECT_TRUE(test::fails(controller_->config("p0", std::nullopt, soon()), Code::kNotFound,
                          PcieHost::pci_of(1)));
  host_->add_card(1, 1);
  EXPECT_EQ(controller_->list(soon()).take()[0].ready, ReadyState::kActive);
}

TEST_F(PcieTest, ACardThatGetsAnotherNumberStaysWithItsPartition) {
  ASSERT_TRUE(test::succeeds(create("p0", 1)));
  host_->set_attribute(0, "file_name", "8\n");
  for (const char* node : {"ipu8", "ipu8_ex", "ipu8_mem"}) host_->add_node(node);
  const Grant grant = controller_->config("p0", std::nullopt, soon()).take();
  EXPECT_EQ(numbers_of(grant), Numbers{8});
  EXPECT_EQ(grant.cards[0].nodes[0].path, "/dev/ipu8");
  EXPECT_TRUE(test::fails(create_named("p1", {8}), Code::kBusy, "'p0'"));
}

TEST_F(PcieTest, AttributesTellTheSlotAndTheNumaNode) {
  PcieOptions options = host_->options();
  options.groups = {{0, 1}, {2, 3}};
  use(options);
  const auto ipus = controller_->attributes({"group1"}, soon()).take();
  ASSERT_EQ(ipus.size(), 2U);
  EXPECT_EQ(ipus[0].ipu, 2U);
  EXPECT_EQ(ipus[0].attributes.at("pci id"), PcieHost::pci_of(2));
  EXPECT_EQ(ipus[0].attributes.at("numa node"), "0");
}

}  // namespace
}  // namespace vipu
