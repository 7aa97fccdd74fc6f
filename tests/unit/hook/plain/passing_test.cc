// SPDX-License-Identifier: Apache-2.0
#include "hook/passing/passing.h"
#include "hook/container/request/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "base/version.h"
#include "hook/container/request/keys.h"
#include "hook/plain/low_level.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::plain {
namespace {

using passing::may_join;

constexpr const char* kOwnNetwork = R"({"process":{"env":["A=path","B=\"x\""]},"root":{"path":"r"},
  "linux":{"namespaces":[{"type":"pid"},{"type":"network"}],"devices":[{"path":"/dev/null"}]}})";
constexpr const char* kJoins =
    R"({"linux":{"namespaces":[{"type":"network","path":"/proc/1/ns/net"}]}})";

TEST(MayJoin, IsNoForAContainerWithNamespacesOfItsOwn) {
  EXPECT_FALSE(may_join(kOwnNetwork));
  EXPECT_FALSE(may_join("{}"));
  EXPECT_FALSE(may_join(R"({"process":{"args":["namespaces","path"]}})"));
}

TEST(MayJoin, IsYesForAPath) {
  EXPECT_TRUE(may_join(kJoins));
  EXPECT_TRUE(may_join(R"({"linux":{"NameSpaces" :\n\t[ {"Path":"/x"} ]}})"))
      << "runc reads keys in any case";
}

TEST(MayJoin, IsYesInEveryDoubt) {
  for (const char* text : {
           R"({"linux":{"name\u0073paces":[{"path":"/x"}]}})",
           R"({"linux":{"namespaces":[{"p\u0061th":"/x"}]}})",
           "{\"linux\":{\"name\xc5\xbfpaces\":[{\"path\":\"/x\"}]}}",  // U+017F: an s to runc
           R"({"linux":{"namespaces":/*]*/[{"path":"/x"}]}})",         // crun reads comments
           R"({"linux":{"namespaces":[/*]*/{"path":"/x"}]}})",
           R"({"linux":{"namespaces":[{"x":[],"path":"/x"}]}})",
           R"({"linux":{'namespaces':[{"path":"/x"}]}})",
           R"({"linux":{"namespaces":{"path":"/x"}}})",
           R"({"linux":{"namespaces":[{"type":"network")",
       }) {
    EXPECT_TRUE(may_join(text)) << text;
  }
}

TEST(MayAsk, IsYesForEachNameThatAContainerCanAskBy) {
  for (const request::KeyName& key : request::kKeys) {
    EXPECT_TRUE(passing::may_ask(base::str(R"({"env":[")", key.variable, R"(=1"]})")));
    EXPECT_TRUE(passing::may_ask(base::str(R"({"annotations":{")", key.annotation, R"(":"1"}})")));
  }
  EXPECT_TRUE(passing::may_ask(R"({"env":["IPU_COUTN=4"]})"));
  EXPECT_FALSE(passing::may_ask(kOwnNetwork));
  EXPECT_FALSE(passing::may_ask(R"({"env":["IPUOF_CONFIG_PATH=/x","MY_IPU_COUNT=1"]})"));
}

class PassesTo : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    ASSERT_TRUE(test::succeeds(base::write_atomic(runtime_, "#!/bin/sh\n", {0755, {}, {}})));
    ASSERT_TRUE(test::succeeds(base::write_atomic(paths_.config_file, "", {})));
    const auto tick = std::chrono::milliseconds(50);
    base::sleep_for(tick, base::Deadline::after(tick));
    ASSERT_TRUE(test::succeeds(remember_runtime(paths_.run_dir, runtime_)));
    ASSERT_TRUE(test::succeeds(record_choice(paths_.run_dir, paths_.config_file,
                                             state_of(paths_.config_file), {runtime_}, runtime_)));
    write_spec(kOwnNetwork);
  }
  void write_spec(const std::string& text) const {
    ASSERT_TRUE(test::succeeds(base::write_atomic(dir_ / "config.json", text, {})));
  }
  void mark_a_namespace() const {
    ASSERT_TRUE(test::succeeds(base::ensure_dir(paths_.run_dir + passing::kMarksDir, 0700)));
  }
  [[nodiscard]] std::string asked(const std::vector<std::string_view>& args) const {
    const passing::Site site{paths_.run_dir, paths_.config_file, version_};
    passing::Text runtime;
    const bool passes = passing::passes_to(passing::parse_command_line(args), site, runtime);
    return passes ? std::string(runtime.view()) : "";
  }
  [[nodiscard]] std::string created() const {
    return asked({"create", "--bundle", bundle_, "web"});
  }

  test::TempDir dir_;
  const std::string bundle_ = dir_.path();
  const std::string runtime_ = dir_ / "runc";
  const std::string version_ = base::product_version();
  struct {
    std::string run_dir, config_file;
  } paths_{dir_ / "run", dir_ / "config.toml"};
};

TEST_F(PassesTo, TheRememberedRuntimeForWhatMakesNoContainer) {
  mark_a_namespace();
  forget_choice(paths_.run_dir);
  for (const std::vector<std::string_view>& args :
       {std::vector<std::string_view>{"state", "web"}, {"kill", "web", "9"}, {"--version"}, {}}) {
    EXPECT_EQ(asked(args), runtime_);
  }
}

TEST_F(PassesTo, TheRuntimeForAContainerThatIsNoneOfOurBusiness) {
  EXPECT_EQ(created(), runtime_);
  write_spec(kJoins);
  EXPECT_EQ(created(), runtime_) << "no namespace is marked";
  mark_a_namespace();
  EXPECT_EQ(created(), "");
  write_spec(kOwnNetwork);
  EXPECT_EQ(created(), runtime_) << "it joins none";
}

TEST_F(PassesTo, NobodyIfTheContainerMayAskForIpus) {
  for (const char* text :
       {R"({"process":{"env":["IPU_COUNT=4"]}})", R"({"process":{"env":["IPU_COUTN=4"]}})",
        R"({"annotations":{"graphcore.ai/ipu.count":"4"}})"}) {
    write_spec(text);
    EXPECT_EQ(created(), "") << text;
  }
  write_spec(base::str(R"({"mounts":[{"source":")", paths_.run_dir, R"(/leases/1/ipuof"}]})"));
  EXPECT_EQ(created(), "") << "it names files of a lease";
}

TEST_F(PassesTo, NobodyIfTheConfigurationMayChooseAnotherRuntime) {
  ASSERT_TRUE(test::succeeds(base::write_atomic(paths_.config_file, "#", {})));
  EXPECT_EQ(created(), "");
}

TEST_F(PassesTo, NobodyIfTheBundleCannotBeRead) {
  EXPECT_EQ(asked({"create", "--bundle", "/nonexistent", "web"}), "");
  EXPECT_EQ(asked({"create", "--bundle", bundle_, "--config", "other.json", "web"}), "");
  write_spec(std::string(2 << 20, ' '));
  EXPECT_EQ(created(), "") << "too long";
  ASSERT_EQ(::unlink((dir_ / "config.json").c_str()), 0);
  ASSERT_EQ(::mkfifo((dir_ / "config.json").c_str(), 0600), 0);
  EXPECT_EQ(created(), "") << "a FIFO, at which nobody waits";
}

TEST_F(PassesTo, NobodyForACheckpointAndForAnExecBesideIpus) {
  EXPECT_EQ(asked({"checkpoint", "web"}), "");
  EXPECT_EQ(asked({"exec", "--process", "p.json", "web"}), runtime_);
  mark_a_namespace();
  EXPECT_EQ(asked({"exec", "--process", "p.json", "web"}), "");
}

TEST_F(PassesTo, NobodyIfTheRuntimeIsThisProgram) {
  ASSERT_EQ(::unlink(runtime_.c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/exe", runtime_.c_str()), 0);
  EXPECT_EQ(created(), "");
  EXPECT_EQ(asked({"state", "web"}), "");
}

TEST_F(PassesTo, NobodyIfOthersMayWriteTheRuntime) {
  ASSERT_EQ(::chmod(runtime_.c_str(), 0777), 0);
  EXPECT_EQ(created(), "");
  EXPECT_EQ(asked({"state", "web"}), "");
  ASSERT_EQ(::unlink(runtime_.c_str()), 0);
  EXPECT_EQ(asked({"state", "web"}), "");
}

}  // namespace
}  // namespace hook::plain
