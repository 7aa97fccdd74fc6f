// SPDX-License-Identifier: Apache-2.0
// The example of a configuration, packaging/config.toml, from which operators start.
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

std::string example() {
  return base::read_file(TEST_DATA_DIR "/../../packaging/config.toml", 1 << 20).take();
}

base::Result<Config> parse_example(const std::string& text) {
  return parse_config(text, "/etc/x.toml", {{}, "/no/vipu-cli.hcl", "/no/dev", "/no/conf.d"});
}

// Takes the '#' from the first line that begins with "# WORDS".
std::string with_line(std::string text, const std::string& words) {
  const size_t at = text.find("\n# " + words);
  EXPECT_NE(at, std::string::npos) << words;
  return text.erase(at + 1, 2);
}

TEST(Example, IsAConfigurationForAHostWithSeveralTenants) {
  const base::Result<Config> config = parse_example(example());
  ASSERT_TRUE(test::succeeds(config));
  EXPECT_EQ(config.value().network.guard_forwarding, true);
  EXPECT_EQ(config.value().network.rails.at(0).others, netns::Others::kDrop);
}

TEST(Example, HasEachOptionalKeyWhereItCanBeUsed) {
  for (const char* key :
       {"allocation", "cluster", "warm", "forward_allowed", "filter", "rdma", "host_network",
        "gid_wait", "duplicate_probe", "forbidden", "rdma_handles", "rdma_objects", "machines",
        "scheme", "mode", "mtu", "peers", "max_gids"}) {
    EXPECT_TRUE(test::succeeds(parse_example(with_line(example(), base::str(key, " = "))))) << key;
  }
}

TEST(Example, HasEachOptionalTable) {
  const std::vector<std::vector<const char*>> tables = {
      {"[policy]", "max_ipus", "sources", "shared_net_admin", "vipu_endpoint", "tenant_variable",
       "refuse_misspelled", "max_wait", "max_wait_cri", "max_waiters = 64"},
      {"[[tenant]]", "name = \"vision\"", "guaranteed", "limit", "borrow_time", "max_wait = \"5m\"",
       "max_waiters = 16", "may_reserve", "users"},
      {"[policy]", "default_tenant"},
      {"[container]", "shm_size"},
      {"[agent]", "show_others", "max_ipus = 64                    # how many IPUs the",
       "max_wait = \"1h\"", "max_time"},
      {"[ledger]", "history"},
      {"[monitor]", "command", "interval", "timeout = \"10s\""},
      {"[log]", "level", "file = \"/var"},
      {"[runtime]", "paths"},
      {"[pool.tls]", "ca", "certificate", "key", "server_name"}};
  for (const std::vector<const char*>& table : tables) {
    std::string text = example();
    for (const char* words : table) text = with_line(text, words);
    EXPECT_TRUE(test::succeeds(parse_example(text))) << table.front();
  }
}

}  // namespace
}  // namespace hook::config
