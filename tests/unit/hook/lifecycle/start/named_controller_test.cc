// SPDX-License-Identifier: Apache-2.0
// Which addresses does a container not reach if controllers are configured by name?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/network/controllers.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using testing::ElementsAre;

constexpr const char* kName = "vipu.example:8090";

class NamedControllerTest : public testing::Test {
 protected:
  // Adds a pool whose controller has a name.
  void add_other() {
    host_.config.pools.push_back(host_.config.pools[0]);
    host_.config.pools[1].name = "other";
    host_.config.pools[1].controller = kName;
  }
  // Starts a container, which must fail; nothing of it may be left.
  Status fail_to_start() {
    Status failed = host_.prepare("web", 4);
    EXPECT_TRUE(host_.is_empty());
    return failed;
  }
  test::HookHost host_;
};

std::vector<std::string> texts_of(const std::vector<netns::Prefix>& prefixes) {
  std::vector<std::string> texts;
  for (const netns::Prefix& prefix : prefixes) texts.push_back(to_string(prefix));
  return texts;
}

TEST_F(NamedControllerTest, ProhibitsAllAddressesOfAControllerThatIsConfiguredByName) {
  host_.config.pools[0].controller = kName;
  host_.controller.set_own_addresses({"10.1.3.101", "10.1.3.102", "fd00::1"});
  const ledger::Lease first = host_.start("a", 4);
  EXPECT_THAT(
      texts_of(first.prohibited),
      ElementsAre("10.1.3.101/32", "10.1.3.102/32", "10.5.0.0/16", "10.5.1.254/32", "fd00::1/128"));
  host_.controller.set_own_addresses({"10.1.3.103"});
  const ledger::Lease second = host_.start("b", 4);
  EXPECT_THAT(texts_of(second.prohibited),
              ElementsAre("10.1.3.103/32", "10.5.0.0/16", "10.5.1.254/32"));
  EXPECT_EQ(host_.stored(first).prohibited, first.prohibited);
}

TEST_F(NamedControllerTest, ProhibitsTheNamesOfOtherPoolsThatWereLookedUpBefore) {
  add_other();
  host_.controller.set_own_addresses({"10.1.3.102"});
  EXPECT_THAT(texts_of(host_.start("a", 4).prohibited),
              ElementsAre("10.1.3.102/32", "10.5.0.0/16", "10.5.1.254/32"));
  host_.controller.set_own_addresses({"10.1.3.104"});
  ASSERT_TRUE(test::succeeds(network::record_controller(host_.env.run_dir, host_.config.pools[1],
                                                        {"10.1.3.103", "fd00::1"})));
  EXPECT_THAT(
      texts_of(host_.start("b", 4).prohibited),
      ElementsAre("10.1.3.103/32", "10.1.3.104/32", "10.5.0.0/16", "10.5.1.254/32", "fd00::1/128"));
}

// A partition of the controller that the pool had before tells nothing about the present one.
TEST_F(NamedControllerTest, LooksTheControllerUpIfThePartitionIsOfAFormerOne) {
  host_.config.pools[0].controller = "former.example:8090";
  ledger::PartitionRecord made;
  made.pool = "pod16";
  made.name = "p0";
  made.source = config::source_of(host_.config.pools[0]);
  made.ipus = 4;
  made.owner = base::current_process().take();
  made.boot_id = base::boot_id().take();
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(made)));
  ASSERT_TRUE(host_.controller.create({"p0", 4}, test::HookHost::soon()).ok());
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().mark_ready(made)));
  host_.controller.set_own_addresses({"10.1.3.101"});
  host_.config.pools[0].controller = kName;
  request::Request request;
  request.partition = "p0";
  ASSERT_TRUE(test::succeeds(host_.prepare("web", request)));
  EXPECT_THAT(host_.asked_controllers, ElementsAre("former.example:8090", kName));
}

// The name of another pool's controller, or a client that lies, could cut a container's own IPUs.
TEST_F(NamedControllerTest, RefusesIpusAtAnAddressOfAController) {
  host_.config.pools[0].controller = kName;
  host_.controller.set_own_addresses({"10.1.3.101", "10.5.1.1"});
  EXPECT_TRUE(test::fails(fail_to_start(), Code::kDenied,
                          "IPU 0 of 10.5.1.1, but it is a controller, vipu.example:8090"));
}

TEST_F(NamedControllerTest, RefusesAControllerWithoutKnownAddresses) {
  host_.config.pools[0].controller = kName;
  host_.controller.set_own_addresses({});
  EXPECT_TRUE(test::fails(fail_to_start(), Code::kInvalid,
                          "addresses of controller vipu.example:8090, which containers must not "
                          "reach: it has 0 addresses"));
}

// Where that fails too, the start is refused: see ControllersTest.
TEST_F(NamedControllerTest, LooksANameUpWhoseFileIsDamaged) {
  add_other();
  host_.controller.set_own_addresses({"10.1.3.105"});
  ASSERT_TRUE(base::ensure_dir(host_.dir / "run/controllers", 0700).ok());
  ASSERT_TRUE(base::write_atomic(host_.dir / "run/controllers/other", "nonsense", {}).ok());
  EXPECT_THAT(texts_of(host_.start("a", 4).prohibited), testing::Contains("10.1.3.105/32"));
  EXPECT_THAT(base::read_file(host_.dir / "run/controllers/other", 4096).take(),
              testing::HasSubstr("\n10.1.3.105\n"));
}

}  // namespace
}  // namespace hook::lifecycle::start
