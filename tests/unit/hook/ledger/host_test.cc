// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/host.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/fs.h"
#include "hook/ledger/ledger.h"
#include "tests/support/outcome.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"
#include "vipu/made_name.h"

namespace hook::ledger {
namespace {

using base::Code;

constexpr const char* kMachine = "3d1219c7c4c5404aaa1f6d2a48adfda4\n";

HostWitnesses host(const char* machine, const char* board = "", const char* rnic = "",
                   const char* id = "") {
  return {id, machine, board, rnic};
}

class HostTest : public LedgerFixture {
 protected:
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(dir_ / file).parent_path());
    ASSERT_TRUE(base::write_atomic(dir_ / file, text, {}).ok());
  }
  void add_rnic(const std::string& name, const std::string& pci, const std::string& guid) {
    write("sys/devices/" + pci + "/vendor", "0x15b3");
    write("sys/class/infiniband/" + name + "/node_guid", guid);
    std::filesystem::create_directory_symlink(dir_ / ("sys/devices/" + pci),
                                              dir_ / ("sys/class/infiniband/" + name + "/device"));
  }
  HostWitnesses read(const std::string& id = "") {
    return read_witnesses(id, {dir_ / "machine-id", dir_ / "sys"});
  }
};

TEST_F(HostTest, KnowsAHostByDigests) {
  EXPECT_EQ(read(), HostWitnesses()) << "nothing is there";
  write("machine-id", kMachine);
  write("sys/class/dmi/id/product_uuid", "4C4C4544-0034-5210-8052-B4C04F564433\n");
  add_rnic("mlx5_0", "0000:81:00.0", "0c42:a103:0065:cdb2\n");
  const HostWitnesses all = read("rack3-7");
  for (const std::string& one : {all.id, all.machine, all.board, all.rnic}) {
    EXPECT_EQ(one.size(), 16U);
    EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos) << one;
    EXPECT_EQ(std::string(kMachine).find(one), std::string::npos) << one;
  }
  EXPECT_EQ(read("rack3-7"), all);
  write("sys/class/dmi/id/product_uuid", "4c4c4544-0034-5210-8052-b4c04f564433\n");
  EXPECT_EQ(read("rack3-7"), all) << "kernels differ in the case";
  EXPECT_EQ(tag_of(all).size(), 8U);
}

TEST_F(HostTest, LeavesOutWhatManyHostsHave) {
  write("machine-id", "uninitialized\n");
  for (const char* uuid :
       {"00000000-0000-0000-0000-000000000000\n", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n",
        "03000200-0400-0500-0006-000700080009\n", "Not Settable\n", "\n"}) {
    write("sys/class/dmi/id/product_uuid", uuid);
    EXPECT_EQ(read(), HostWitnesses()) << uuid;
  }
  add_rnic("mlx5_0", "0000:81:00.0", "0000:0000:0000:0000\n");
  EXPECT_EQ(read(), HostWitnesses()) << "an RNIC without a GUID";
}

TEST_F(HostTest, TakesTheFirstRnicBesideItsFunctions) {
  add_rnic("roce1", "0000:81:00.1", "0c42:a103:0065:cdb3\n");
  const std::string second = read().rnic;
  add_rnic("roce9", "0000:81:00.0", "0c42:a103:0065:cdb2\n");
  const std::string first = read().rnic;
  EXPECT_NE(first, second) << "by the place, not by the name";
  add_rnic("roce0v0", "0000:80:00.2", "0c42:a103:0065:ffff\n");
  write("sys/devices/0000:80:00.2/physfn/vendor", "0x15b3");
  EXPECT_EQ(read().rnic, first) << "a VF has no GUID of its own that lasts";
}

TEST_F(HostTest, HasAnotherTagIfOneWitnessDiffers) {
  const HostWitnesses all = host("m", "b", "r", "i");
  for (std::string HostWitnesses::*one :
       {&HostWitnesses::id, &HostWitnesses::board, &HostWitnesses::rnic}) {
    HostWitnesses other = all;
    other.*one = "x";
    EXPECT_NE(tag_of(other), tag_of(all));
  }
  HostWitnesses diskless = all;
  diskless.machine = "of this boot";
  EXPECT_EQ(tag_of(diskless), tag_of(all)) << "[host] id is there instead";
  EXPECT_NE(tag_of(host("m")), tag_of(host("n")));
}

TEST(Difference, IsThatOfMostWitnesses) {
  EXPECT_EQ(difference(host("m", "b", "r"), host("m", "b", "r")), "");
  EXPECT_EQ(difference(host("m", "b", "r"), host("x", "b", "r")), "") << "a new machine-id";
  EXPECT_EQ(difference(host("m", "b", "r"), host("m", "b", "x")), "") << "a new RNIC";
  EXPECT_EQ(difference(host("m", "b", "r"), host("m", "x", "x")), "board and RNIC");
  EXPECT_EQ(difference(host("m", "b"), host("m", "x")), "board") << "a golden image";
  EXPECT_EQ(difference(host("m"), host("x")), "machine-id");
  EXPECT_EQ(difference(host("m"), host("", "b")), "") << "nothing can be compared";
  EXPECT_EQ(difference(host("m", "b", "r"), host("m", "", "")), "") << "drivers not loaded";
}

TEST(Difference, IsAConfiguredId) {
  EXPECT_EQ(difference(host("m", "b", "r", "i"), host("m", "b", "r", "x")), "[host] id");
  EXPECT_EQ(difference(host("m", "b", "r", "i"), host("x", "b", "r", "i")), "") << "diskless";
  EXPECT_EQ(difference(host("m", "b", "r", "i"), host("m", "x", "x", "i")), "board and RNIC")
      << "one configuration on two hosts";
  EXPECT_EQ(difference(host("m", "b", "r", "i"), host("m", "b", "r")), "") << "not read";
  EXPECT_EQ(difference(host("m", "b", "r"), host("m", "b", "r", "i")), "") << "new";
  EXPECT_EQ(difference(host("m", "b", "", "i"), host("x", "b")), "") << "diskless, not read";
}

TEST_F(HostTest, ANewLedgerIsOfTheHostAndOfTheBoot) {
  Ledger ledger = open();
  EXPECT_TRUE(ledger.host().needs_id().take());
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("m", "b"))));
  EXPECT_FALSE(ledger.host().needs_id().take());
  EXPECT_EQ(ledger.host().tag(), tag_of(host("m", "b")));
  EXPECT_TRUE(ledger.host().is_of_this_boot().take());
  EXPECT_TRUE(test::succeeds(ledger.host().check()));
  Ledger later = open();
  ASSERT_TRUE(test::succeeds(later.host().be_on(host("m", "b", "r"))));
  EXPECT_EQ(later.host().tag(), tag_of(host("m", "b"))) << "as the names that were given";
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("x", "b", "r"))))
      << "one of three that it knows now";
}

TEST_F(HostTest, AHostThatAnImageMayShareHasDigitsOfItsOwn) {
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("m"))));
  Ledger ledger = open();
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("m"))));
  EXPECT_NE(ledger.host().tag(), tag_of(host("m")));
  EXPECT_TRUE(vipu::is_host(ledger.host().tag()));
  Ledger later = open();
  ASSERT_TRUE(test::succeeds(later.host().be_on(host("m", "b", "r")))) << "drivers are loaded";
  EXPECT_EQ(later.host().tag(), ledger.host().tag());
  EXPECT_FALSE(later.host().is_of_this_boot().take());
}

TEST_F(HostTest, AnUnusedLedgerOfAnImageIsOfWhoeverHasIt) {
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("m", "b"))));
  Ledger copy = open();
  ASSERT_TRUE(test::succeeds(copy.host().be_on(host("m", "x"))));
  EXPECT_TRUE(test::succeeds(copy.host().check()));
  EXPECT_EQ(copy.host().tag(), tag_of(host("m", "x")));
}

TEST_F(HostTest, WithAConfiguredIdTheMachineIdSaysNothing) {
  acquire("web");
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("m", "b", "", "i"))));
  Ledger ledger = open();
  EXPECT_TRUE(ledger.host().needs_id().take());
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("of this boot", "b"))));
  EXPECT_TRUE(test::succeeds(ledger.host().check())) << "the configuration cannot be read";
}

TEST_F(HostTest, ALedgerThatHeldSomethingIsOfNoBoot) {
  acquire("web");
  Ledger ledger = open();
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("m"))));
  EXPECT_FALSE(ledger.host().is_of_this_boot().take());
}

TEST_F(HostTest, ALedgerOfAnotherHostCanBeReadOnly) {
  const Lease lease = acquire("web");
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("m", "b"))));
  Ledger copy = open();
  ASSERT_TRUE(test::succeeds(copy.host().be_on(host("m", "x"))));
  EXPECT_TRUE(test::fails(copy.host().check(), Code::kDenied, "ipuctl ledger adopt-host"));
  EXPECT_TRUE(test::fails(copy.host().check(), Code::kDenied, "with another board)"));
  EXPECT_TRUE(test::fails(open().host().check_is(host("m", "x")), Code::kDenied, "another board"));
  EXPECT_TRUE(test::succeeds(open().host().check_is(host("m", "b"))));
  EXPECT_EQ(copy.get("web").take().id, lease.id);
  Lease mine = lease;
  EXPECT_TRUE(test::fails(copy.begin_release(mine, {1, 1, 0}, ""), Code::kDenied, "another host"));
  EXPECT_TRUE(test::fails(copy.drain().begin(""), Code::kDenied, "another host"));
  EXPECT_EQ(stored(lease).state, LeaseState::kIntent);
}

TEST_F(HostTest, ALedgerIsAdoptedWithAllThatItHolds) {
  const Lease lease = acquire("web");
  ASSERT_TRUE(test::succeeds(open().host().be_on(host("m", "b"))));
  Ledger ledger = open();
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("m", "x"))));
  ASSERT_TRUE(test::succeeds(ledger.host().adopt(host("m", "x"))));
  EXPECT_TRUE(test::succeeds(ledger.host().check()));
  EXPECT_EQ(ledger.host().tag(), tag_of(host("m", "x")));
  EXPECT_FALSE(ledger.host().is_of_this_boot().take()) << "what it does not have may be of before";
  Lease mine = lease;
  EXPECT_TRUE(test::succeeds(ledger.begin_release(mine, {1, 1, 0}, "")));
  Ledger before = open();
  ASSERT_TRUE(test::succeeds(before.host().be_on(host("m", "b"))));
  EXPECT_TRUE(test::fails(before.host().check(), Code::kDenied, "another host"));
}

TEST_F(HostTest, RemembersItsMarkInItsFleet) {
  Ledger ledger = open();
  ASSERT_TRUE(test::succeeds(ledger.host().be_on(host("m", "b"))));
  EXPECT_EQ(ledger.host().fleet_mark("/f/", "id").take(), FleetMark());
  ASSERT_TRUE(test::succeeds(ledger.host().join_fleet("/f/", "id")));
  ASSERT_TRUE(test::succeeds(ledger.host().keep_fleet_mark("/f/", "id", {500, 2})));
  EXPECT_EQ(open().host().fleet_mark("/f/", "id").take(), FleetMark()) << "of no host yet";
  Ledger again = open();
  ASSERT_TRUE(test::succeeds(again.host().be_on(host("m", "b"))));
  EXPECT_EQ(again.host().fleet_mark("/f/", "id").take(), (FleetMark{500, 2}));
  EXPECT_EQ(again.host().fleet_mark("/g/", "id").take(), FleetMark());
  EXPECT_EQ(again.host().fleet_mark("/f/", "other").take(), FleetMark());
  // A store that went back counts from a lower revision.
  ASSERT_TRUE(test::succeeds(again.host().keep_fleet_mark("/f/", "id", {100, 3})));
  EXPECT_EQ(ledger.host().fleet_mark("/f/", "id").take(), (FleetMark{100, 3}));
  const FleetMark imported{200, 3, "0123456789abcdef"};
  ASSERT_TRUE(test::succeeds(again.host().keep_fleet_mark("/f/", "id", imported)));
  EXPECT_EQ(ledger.host().fleet_mark("/f/", "id").take(), imported);
  // As the release before this one wrote it.
  ASSERT_TRUE(test::succeeds(
      test::run_sql(path_,
                    "UPDATE meta SET value = replace(value, ' 0123456789abcdef ', ' ')"
                    " WHERE name = 'fleet_mark'")));
  EXPECT_EQ(ledger.host().fleet_mark("/f/", "id").take(), (FleetMark{200, 3}));
  ASSERT_TRUE(test::succeeds(again.host().adopt(host("m", "x"))));
  EXPECT_EQ(again.host().fleet_mark("/f/", "id").take(), FleetMark()) << "another tag";
  ASSERT_TRUE(test::succeeds(ledger.host().leave_fleet()));
  EXPECT_EQ(ledger.host().fleet_mark("/f/", "id").take(), FleetMark());
}

}  // namespace
}  // namespace hook::ledger
