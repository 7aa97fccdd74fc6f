// SPDX-License-Identifier: Apache-2.0
// Single values of a configuration's text.
#include "hook/config/edit.h"

#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

constexpr const char* kText = R"(# ours
[pool]
name = "pod64"     # the largest
warm = { "4" = 2 }
[pool.tls]
ca = "/ca.pem"

[[network.rail]]
parent = "rnic0.5"
peers = [
  "10.5.0.9",  # storage
  "10.5.0.10",
]
[[network.rail]]
parent = "rnic1"  # ünïcode before
"mtu" = 4200 # bytes

[policy]
max_ipus = 64
)";

std::string set(const std::string& key, const std::string& value, const char* text = kText) {
  const Result<std::string> changed = with_value(text, "c", key, value);
  return changed.ok() ? changed.value() : changed.error().message();
}

std::string unset(const std::string& key, const char* text = kText) {
  const Result<std::string> changed = without_key(text, "c", key);
  return changed.ok() ? changed.value() : changed.error().message();
}

std::string get(const std::string& key) {
  const Result<std::string> value = value_in(kText, "c", key);
  return value.ok() ? value.value() : value.error().message();
}

// Returns TEXT with its one OLD replaced.
std::string replaced(std::string text, const std::string& old, const std::string& by) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), by);
}

TEST(ConfigEdit, FindsAValueByTheNamesOfItsTables) {
  EXPECT_EQ(get("policy.max_ipus"), "64");
  EXPECT_EQ(get("pool.name"), "'pod64'");
  EXPECT_EQ(get("pool.pod64.name"), "'pod64'");
  EXPECT_EQ(get("pool.pod64.tls.ca"), "'/ca.pem'");
  EXPECT_EQ(get("network.rail.rnic1.mtu"), "4200");
  EXPECT_EQ(get("network.rail.1.mtu"), "4200");
  EXPECT_EQ(get("network.rail.\"rnic0.5\".parent"), "'rnic0.5'");
}

TEST(ConfigEdit, ReplacesAValueAndNothingElse) {
  EXPECT_EQ(set("policy.max_ipus", "32"), replaced(kText, "64\n", "32\n"));
  EXPECT_EQ(set("pool.name", "pod16"), replaced(kText, "\"pod64\"", "'pod16'"));
  EXPECT_EQ(set("network.rail.rnic1.mtu", "9000"), replaced(kText, "4200", "9000"));
  EXPECT_EQ(
      set("network.rail.0.peers", R"(["10.5.0.1"])"),
      replaced(kText, "[\n  \"10.5.0.9\",  # storage\n  \"10.5.0.10\",\n]", "[\"10.5.0.1\"]"));
  EXPECT_EQ(set("network.rail.rnic1.parent", "rnic2"), replaced(kText, "\"rnic1\"", "'rnic2'"));
}

TEST(ConfigEdit, AddsAKeyBelowTheHeaderOfItsTable) {
  EXPECT_EQ(set("policy.max_wait", "10m"),
            replaced(kText, "[policy]\n", "[policy]\nmax_wait = '10m'\n"));
  EXPECT_EQ(set("pool.pod64.timeout", "60s"),
            replaced(kText, "[pool]\n", "[pool]\ntimeout = '60s'\n"));
  EXPECT_EQ(set("network.rail.1.mode", "bridge"),
            replaced(kText, "[[network.rail]]\nparent = \"rnic1\"",
                     "[[network.rail]]\nmode = 'bridge'\nparent = \"rnic1\""));
  EXPECT_EQ(set("a.b", "1", "[a]"), "[a]\nb = 1\n");
  EXPECT_EQ(set("a.b", "1", "  [ a ] # x\n[c]"), "  [ a ] # x\nb = 1\n[c]\n");
  EXPECT_EQ(set("a.c", "1", "[a.b]\n"), "[a.b]\n\n[a]\nc = 1\n");
}

TEST(ConfigEdit, AddsATableAtTheEnd) {
  EXPECT_EQ(set("agent.max_ipus", "8"), str(kText, "\n[agent]\nmax_ipus = 8\n"));
  EXPECT_EQ(set("network.rdma", "off"), str(kText, "\n[network]\nrdma = 'off'\n"));
  EXPECT_EQ(set("agent.max_ipus", "8", ""), "[agent]\nmax_ipus = 8\n");
  EXPECT_EQ(set("a.\"b c\".d", "true", "x = 1"), "x = 1\n\n[a.'b c']\nd = true\n");
}

TEST(ConfigEdit, RemovesTheLinesOfAKey) {
  EXPECT_EQ(unset("policy.max_ipus"), replaced(kText, "max_ipus = 64\n", ""));
  EXPECT_EQ(unset("network.rail.1.mtu"), replaced(kText, "\"mtu\" = 4200 # bytes\n", ""));
  EXPECT_EQ(unset("network.rail.\"rnic0.5\".peers"),
            replaced(kText, "peers = [\n  \"10.5.0.9\",  # storage\n  \"10.5.0.10\",\n]\n", ""));
  EXPECT_EQ(unset("a.b", "[a]\nb = 1"), "[a]\n");
}

TEST(ConfigEdit, SaysWhatCannotBeMeant) {
  for (const char* key : {"", ".", "policy", "policy.", ".max_ipus", "a..b", "\"a.b", "\"\".b"})
    EXPECT_TRUE(test::fails(with_value(kText, "c", key, "1"), Code::kInvalid,
                            "is not like \"policy.max_ipus\""))
        << key;
  EXPECT_TRUE(test::fails(value_in(kText, "c", "network.rail.mtu"), Code::kInvalid,
                          "has to say which one: 'rnic0.5', 'rnic1' or a number from 0 on"));
  EXPECT_TRUE(test::fails(value_in(kText, "c", "network.rail.2.mtu"), Code::kInvalid, "which one"));
  EXPECT_TRUE(test::fails(with_value(kText, "c", "policy.max_ipus.x", "1"), Code::kInvalid,
                          "goes on after 'max_ipus', which is a value"));
  EXPECT_TRUE(test::fails(value_in(kText, "c", "policy.max_wait"), Code::kNotFound,
                          "c does not set 'policy.max_wait'"));
  EXPECT_TRUE(test::fails(without_key(kText, "c", "agent.x"), Code::kNotFound, "does not set"));
  EXPECT_TRUE(
      test::fails(with_value("[", "c", "policy.max_wait", "1"), Code::kInvalid, "c line 1"));
  EXPECT_TRUE(test::fails(with_value(kText, "c", "policy.max_wait", "1\n[x]"), Code::kInvalid,
                          "control characters"));
}

// Whatever is not one line or one value of its own stays for an editor.
TEST(ConfigEdit, LeavesAloneWhatItCannotChangeInOnePlace) {
  for (const Result<std::string>& changed :
       {with_value(kText, "c", "pool.tls", "1"), with_value(kText, "c", "network.rail", "1"),
        with_value("a = { b = 1 }\n", "c", "a.c", "1"), without_key("a = { b = 1 }\n", "c", "a.b"),
        without_key(kText, "c", "pool.tls"), without_key(kText, "c", "network.rail")})
    EXPECT_TRUE(test::fails(changed, Code::kInvalid, "change it in c by an editor"));
  EXPECT_EQ(set("a.b", "2", "a = { b = 1, c = 3 }\n"), "a = { b = 2, c = 3 }\n");
}

TEST(ConfigEdit, TakesTomlWithTheSignOfCommentsInQuotes) {
  for (const char* value : {R"("a # b")", R"(["#", "é # c"])", R"({ "#" = 2 })", "'#'"}) {
    const Result<std::string> changed = with_value("[a]\n", "c", "a.b", value);
    ASSERT_TRUE(test::succeeds(changed)) << value;
    EXPECT_EQ(changed.value(), str("[a]\nb = ", value, '\n'));
  }
}

TEST(ConfigEdit, TakesATextThatIsNoToml) {
  for (const char* value : {"1 # 2", "pod64", "it's", "a\"b", "1\\", "[", "\"", "2 \n"}) {
    const Result<std::string> changed = with_value("[a]\n", "c", "a.b", value);
    if (std::string_view(value).find('\n') != std::string_view::npos) {
      EXPECT_FALSE(changed.ok());
      continue;
    }
    ASSERT_TRUE(test::succeeds(changed)) << value;
    EXPECT_TRUE(test::succeeds(value_in(changed.value(), "c", "a.b")));
    EXPECT_EQ(without_key(changed.value(), "c", "a.b").take(), "[a]\n") << value;
  }
}

// Every key of the example can be changed and taken away again without a trace.
TEST(ConfigEdit, GivesBackTheExampleAsItWas) {
  const std::string example =
      base::read_file(TEST_DATA_DIR "/../../packaging/config.toml", 1 << 20).take();
  for (const char* key : {"policy.max_ipus", "pool.pod64.timeout", "network.rail.0.mtu",
                          "network.gid_wait", "agent.max_ipus", "fleet.prefix"}) {
    const Result<std::string> set = with_value(example, "c", key, "7");
    ASSERT_TRUE(test::succeeds(set)) << key;
    EXPECT_EQ(value_in(set.value(), "c", key).take(), "7") << key;
    EXPECT_TRUE(test::succeeds(without_key(set.value(), "c", key))) << key;
  }
}

}  // namespace
}  // namespace hook::config
