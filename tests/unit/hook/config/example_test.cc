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

// What the parser says that it accepts in a table, whose text begins with BEGIN.
std::vector<std::string> accepted_in(const std::string& begin) {
  const base::Result<Config> config = parse_example(begin + "\nno-such-key = 1\n");
  const std::string message = config.ok() ? "" : config.error().message();
  constexpr std::string_view kBefore = "accepted here: ";
  const size_t at = message.find(kBefore);
  EXPECT_NE(at, std::string::npos) << begin << ": " << message;
  std::vector<std::string> keys;
  if (at == std::string::npos) return keys;
  for (const std::string_view key :
       base::split(std::string_view(message).substr(at + kBefore.size()), ','))
    keys.emplace_back(base::trim(key));
  return keys;
}

// What the example has of all tables with the header of TABLE, "[HEADER]\n...".
std::string tables_of_example(const std::string& table) {
  const size_t begins = table.find_first_not_of('[');
  const std::string header = table.substr(begins, table.find(']') - begins);
  std::string all;
  bool is_inside = false;
  for (const std::string_view line : base::split(example(), '\n')) {
    const std::string_view text = line.starts_with("# ") ? line.substr(2) : line;
    if (text.starts_with('['))
      is_inside = text.starts_with(base::str('[', header, ']')) ||
                  text.starts_with(base::str("[[", header, "]]"));
    if (is_inside) all += base::str('\n', line);
  }
  return all;
}

TEST(Example, HasEachKeyThatIsAccepted) {
  const std::string pool = "[pool]\nname = \"p\"\nprovider = \"vipu\"\ncontroller = \"h:1\"\n";
  for (const std::string& begin :
       {std::string("[pool]"), pool + "[pool.tls]", pool + "[network]",
        pool + "[[network.rail]]\nparent = \"r\"\nsubnet = \"10.5.0.0/16\"\n"
               "range = \"10.5.200.10-10.5.200.99\"",
        pool + "[policy]", pool + "[[tenant]]\nname = \"t\"", pool + "[container]",
        pool + "[ledger]", pool + "[agent]", pool + "[monitor]\ncommand = \"/bin/m\"",
        pool + "[log]", pool + "[runtime]", pool + "[host]",
        pool + "[fleet]\nendpoints = [\"h:1\"]"}) {
    const std::vector<std::string> keys = accepted_in(begin);
    EXPECT_FALSE(keys.empty()) << begin;
    const std::string table = tables_of_example(begin.substr(begin.rfind("\n[") + 1));
    for (const std::string& key : keys) {
      const bool is_there = table.find("\n" + key + " = ") != std::string::npos ||
                            table.find("\n# " + key + " = ") != std::string::npos ||
                            example().find("[pool." + key + "]") != std::string::npos ||
                            example().find("[[network." + key + "]]") != std::string::npos;
      EXPECT_TRUE(is_there) << begin << ": " << key;
    }
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
