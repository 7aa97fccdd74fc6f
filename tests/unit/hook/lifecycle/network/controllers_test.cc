// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/names.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::IsEmpty;

class ControllersTest : public testing::Test {
 protected:
  ControllersTest() {
    config::PoolConfig numeric = host_.config.pools[0];
    numeric.name = "numeric";
    numeric.controller = "10.1.3.101:8090";
    pool().controller = "vipu.example:8090";
    host_.config.pools.push_back(numeric);
  }

  config::PoolConfig& pool() { return host_.config.pools[0]; }
  Result<Controllers> known() { return known_controllers(host_.env.run_dir, host_.config); }
  std::vector<std::string> addresses() {
    std::vector<std::string> all;
    for (const auto& [address, controller] : known().take()) all.push_back(to_string(address));
    return all;
  }
  Status record(const std::vector<std::string>& addresses) {
    return record_controller(host_.env.run_dir, pool(), addresses);
  }
  std::vector<Error> look_up() {
    return look_up_controllers(host_.env, host_.config, test::HookHost::soon());
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return host_.dir / ("run/controllers/" + name);
  }
  void write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(base::ensure_dir(host_.dir / "run/controllers", 0700).ok());
    ASSERT_TRUE(base::write_atomic(file(name), text, {}).ok());
  }

  test::HookHost host_;
};

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST_F(ControllersTest, AnAddressIsKnownAndANameOnceItWasLookedUp) {
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101"));
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102", "fd00::1", "10.1.3.101"})));
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.102", "fd00::1"));
  EXPECT_EQ(known().take().at(netns::parse_address("fd00::1").take()), "vipu.example:8090");
  EXPECT_EQ(mode_of(file("pod16")), 0600U);
  EXPECT_EQ(mode_of(host_.dir / "run/controllers"), 0700U);
  EXPECT_EQ(mode_of(host_.dir / "run"), 0711U);
}

TEST_F(ControllersTest, ALaterLookUpCounts) {
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102"})));
  ASSERT_TRUE(test::succeeds(record({"10.1.3.103"})));
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.103"));
}

TEST_F(ControllersTest, TheAddressesOfAnotherNameDoNotCount) {
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102"})));
  pool().controller = "other.example:8090";
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101"));
  pool().controller = "10.1.3.9:8090";
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.9", "10.1.3.101"));
}

TEST_F(ControllersTest, OnlyAFewSingleAddressesAreRecorded) {
  std::vector<std::string> many;
  for (size_t i = 0; i < vipu::kMaxControllerAddresses; ++i) many.push_back(str("fd00:1:2:3::", i));
  EXPECT_TRUE(test::succeeds(record(many)));
  many.emplace_back("10.1.3.102");
  EXPECT_TRUE(test::fails(record(many), Code::kInvalid, "it has 17 addresses, not 1 to 16"));
  EXPECT_TRUE(test::fails(record({}), Code::kInvalid, "it has 0 addresses, not 1 to 16"));
  for (const char* bad : {"10.1.3.0/24", "::/0", "", "vipu.example", "::ffff:10.1.3.101"}) {
    EXPECT_TRUE(test::fails(record({bad}), Code::kInvalid,
                            "addresses of controller vipu.example:8090, which containers must not"))
        << bad;
  }
  EXPECT_EQ(addresses().size(), 1 + vipu::kMaxControllerAddresses);
}

TEST_F(ControllersTest, NothingIsRecordedOfAControllerThatIsConfiguredByAddress) {
  ASSERT_TRUE(
      test::succeeds(record_controller(host_.env.run_dir, host_.config.pools[1], {"10.9.9.9"})));
  EXPECT_FALSE(std::filesystem::exists(host_.dir / "run/controllers"));
}

TEST_F(ControllersTest, ADamagedFileIsAnErrorThatSaysWhatToDo) {
  std::string many = "vipu.example:8090\n";
  for (int i = 0; i < 17; ++i) many += str("10.1.3.", i, "\n");
  for (const std::string& bad :
       {std::string(), std::string("\n"), std::string("vipu.example:8090\n"),
        std::string("vipu.example:8090\n10.1.3.102"),
        std::string("vipu.example:8090\n10.1.0.0/16\n"),
        std::string("vipu.example:8090\n10.1.3.102\n\n"), many, std::string(5000, '\n')}) {
    write("pod16", bad);
    EXPECT_TRUE(test::fails(known(), Code::kInvalid,
                            str("addresses of controller vipu.example:8090 in '", file("pod16"))))
        << bad;
    EXPECT_TRUE(test::fails(known(), Code::kInvalid, "; run 'ipuctl gc', which looks the name up"));
  }
  EXPECT_TRUE(test::succeeds(record({"10.1.3.102"})));
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.102"));
}

TEST_F(ControllersTest, GcLooksUpNamesAndForgetsOtherPools) {
  host_.controller.set_own_addresses({"10.1.3.102", "10.1.3.103"});
  write("gone", "gone.example:8090\n10.1.3.1\n");
  write("numeric", "numeric.example:8090\n10.1.3.1\n");
  write(".pod16.0123456789abcdef", "vipu.exam");
  EXPECT_THAT(look_up(), IsEmpty());
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.102", "10.1.3.103"));
  EXPECT_THAT(host_.asked_controllers, ElementsAre("vipu.example:8090"));
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(host_.dir / "run/controllers")) {
    files.push_back(entry.path().filename());
  }
  EXPECT_THAT(files, ElementsAre("pod16"));
}

TEST_F(ControllersTest, WhatGcCannotLookUpStaysAsItWas) {
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102"})));
  host_.controller.set_unreachable(true);
  const std::vector<Error> obstacles = look_up();
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_THAT(obstacles[0].message(),
              testing::StartsWith("pool 'pod16' keeps the addresses of its controller that were "
                                  "found before: "));
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.102"));
}

TEST_F(ControllersTest, ADamagedFileHidesNoOtherController) {
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102"})));
  config::PoolConfig other = pool();
  other.name = "other";
  host_.config.pools.push_back(other);
  write("other", "nonsense");
  const Remembered known = remembered_controllers(host_.env.run_dir, host_.config);
  EXPECT_EQ(known.controllers.size(), 2U);
  ASSERT_EQ(known.damaged.size(), 1U);
  EXPECT_THAT(known.damaged[0].message(), testing::HasSubstr(file("other")));
}

TEST_F(ControllersTest, AStartLooksUpTheNamesOfDamagedFilesAlone) {
  const auto learn = [&] {
    return learn_controllers(host_.env, host_.config, test::HookHost::soon());
  };
  ASSERT_TRUE(test::succeeds(record({"10.1.3.102"})));
  host_.controller.set_own_addresses({"10.1.3.103"});
  EXPECT_TRUE(test::succeeds(learn()));
  EXPECT_THAT(host_.asked_controllers, IsEmpty());
  write("pod16", "nonsense");
  host_.controller.set_unreachable(true);
  EXPECT_TRUE(test::fails(learn(), Code::kInvalid, "cannot be read"));
  host_.controller.set_unreachable(false);
  EXPECT_TRUE(test::succeeds(learn()));
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.1.3.103"));
}

TEST_F(ControllersTest, GcMakesADamagedFileAnew) {
  write("pod16", "nonsense");
  EXPECT_THAT(look_up(), IsEmpty());
  EXPECT_THAT(addresses(), ElementsAre("10.1.3.101", "10.5.1.254"));
}

}  // namespace
}  // namespace hook::lifecycle::network
