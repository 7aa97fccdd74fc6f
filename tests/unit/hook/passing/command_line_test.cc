// SPDX-License-Identifier: Apache-2.0
#include "hook/passing/command_line.h"

#include <gtest/gtest.h>

namespace hook::passing {
namespace {

using Args = std::vector<std::string_view>;

CommandLine parse(const Args& args) { return parse_command_line(args); }

struct Example {
  const char* name;
  Args args;
  std::string subcommand;
  std::string container = {};
  std::string bundle = {};
  std::string config_name = "config.json";
};

void PrintTo(const Example& example, std::ostream* out) { *out << example.name; }

class CommandLineTest : public testing::TestWithParam<Example> {};

TEST_P(CommandLineTest, IsReadAsTheRuntimesReadIt) {
  const CommandLine line = parse_command_line(GetParam().args);
  EXPECT_EQ(line.subcommand, GetParam().subcommand);
  EXPECT_EQ(line.container, GetParam().container);
  EXPECT_EQ(line.bundle, GetParam().bundle);
  EXPECT_EQ(line.config_name, GetParam().config_name);
}

const Example kExamples[] = {
    {"OfContainerd",
     {"--root", "/var/run/docker/runtime-runc/moby", "--log", "/run/log.json", "--log-format",
      "json", "--systemd-cgroup", "create", "--bundle", "/run/b", "--pid-file", "/run/init.pid",
      "--console-socket", "/tmp/pty.sock", "abc"},
     "create",
     "abc",
     "/run/b"},
    {"OfPodman",
     {"--log-format=json", "--log=/run/l", "create", "--bundle", "/b", "--pid-file", "/p",
      "--no-pivot", "--preserve-fds", "2", "abc"},
     "create",
     "abc",
     "/b"},
    {"EmptyCommandLine", {}, ""},
    {"OnlyGlobalSwitches", {"--debug", "--systemd-cgroup"}, ""},
    {"Version", {"--version"}, ""},
    {"ContainerNamedCreate", {"delete", "create"}, "delete"},
    {"ContainerNamedRun", {"--root", "/r", "kill", "run", "KILL"}, "kill"},
    {"ContainerNamedCreateThatIsCreated",
     {"create", "-b", "/b", "create"},
     "create",
     "create",
     "/b"},
    {"RootNamedCreate", {"--root", "create", "state", "abc"}, "state"},
    {"RootWithEqualsSign", {"--root=/r", "create", "abc"}, "create", "abc"},
    {"RootInTheNextWord", {"--root", "/r", "create", "abc"}, "create", "abc"},
    {"RootWithOneDash", {"-root", "/r", "create", "abc"}, "create", "abc"},
    {"RootWithoutItsValue", {"--root"}, ""},
    {"EqualsSignInAValue",
     {"--root=/a=b", "create", "--bundle=/c=d", "abc"},
     "create",
     "abc",
     "/c=d"},
    {"CgroupManagerOfCrun", {"--cgroup-manager", "systemd", "run", "abc"}, "run", "abc"},
    {"NoSubreaper", {"run", "-no-subreaper", "abc"}, "run", "abc"},
    {"UnknownGlobalSwitch", {"--from-the-future", "create", "abc"}, "create", "abc"},
    {"UnknownGlobalWithValue", {"--from-the-future", "x", "create", "abc"}, "create", "abc"},
    {"UnknownGlobalWithEqualsSign", {"--from-the-future=x", "create", "abc"}, "create", "abc"},
    {"UnknownGlobalAtTheEnd", {"--from-the-future"}, ""},
    {"EndOfTheGlobals", {"--debug", "--", "create", "abc"}, "create", "abc"},
    {"BundleWithOneLetter", {"create", "-b", "/b", "abc"}, "create", "abc", "/b"},
    {"BundleInOneWord", {"create", "-b/b", "abc"}, "create", "abc", "/b"},
    {"BundleInOneWordWithEqualsSign", {"create", "-b/b=c", "abc"}, "create", "abc", "/b=c"},
    {"BundleWithOneDash", {"create", "-bundle=/b", "abc"}, "create", "abc", "/b"},
    {"BundleAfterTheContainer", {"create", "abc", "--bundle", "/b"}, "create", "abc", "/b"},
    {"BundleWithoutItsValue", {"create", "abc", "--bundle"}, "create", "abc"},
    {"ConfigOfCrun", {"create", "-f", "other.json", "abc"}, "create", "abc", "", "other.json"},
    {"ConfigOfCrunSpelledOut", {"run", "--config=o.json", "abc"}, "run", "abc", "", "o.json"},
    {"ConfigOfCrunInOneWord", {"run", "-fo.json", "abc"}, "run", "abc", "", "o.json"},
    {"PidFileThatLooksLikeAName", {"create", "--pid-file", "x", "abc"}, "create", "abc"},
    {"EndOfTheOptions", {"create", "--", "abc"}, "create", "abc"},
    {"Restore", {"restore", "--image-path", "/i", "--bundle", "/b", "abc"}, "restore", "abc", "/b"},
    {"CheckpointOfContainerd",
     {"--root", "/r", "--log", "/l", "checkpoint", "--image-path", "/i", "--work-path", "/w",
      "--leave-running", "abc"},
     "checkpoint",
     "abc"},
    {"CheckpointWithAllThatHasAValue",
     {"checkpoint", "--image-path", "a", "--work-path", "b", "--parent-path", "c", "--status-fd",
      "-1", "--page-server", "d:1", "--manage-cgroups-mode", "soft", "--empty-ns", "network",
      "--network-lock", "skip", "abc"},
     "checkpoint",
     "abc"},
    {"CheckpointWithSwitchesOnly",
     {"checkpoint", "--tcp-established", "--ext-unix-sk", "--shell-job", "-file-locks",
      "--lazy-pages", "--pre-dump", "--auto-dedup", "abc"},
     "checkpoint",
     "abc"},
    {"CheckpointWithEqualsSign", {"checkpoint", "--image-path=/i", "abc"}, "checkpoint", "abc"},
    {"CheckpointWithOneDash", {"checkpoint", "-image-path", "/i", "abc"}, "checkpoint", "abc"},
    {"CheckpointBeforeItsOptions",
     {"checkpoint", "abc", "--image-path", "/i", "def"},
     "checkpoint",
     "abc"},
    {"CheckpointAfterTheOptions", {"checkpoint", "--", "abc"}, "checkpoint", "abc"},
    {"CheckpointWithoutItsValue", {"checkpoint", "--image-path"}, "checkpoint"},
    {"CheckpointOfAContainerNamedCreate", {"checkpoint", "create"}, "checkpoint", "create"},
    {"ContainerNamedCheckpoint", {"delete", "checkpoint"}, "delete"},
    {"RestoreWithASwitchOfOneDash",
     {"restore", "-file-locks", "--bundle", "/b", "abc"},
     "restore",
     "abc",
     "/b"},
    {"ExecWithABundleInItsArguments", {"exec", "abc", "create", "--bundle", "/b"}, "exec", "abc"},
};

INSTANTIATE_TEST_SUITE_P(Examples, CommandLineTest, testing::ValuesIn(kExamples),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(CommandLine, CreatesOnlyByTheThreeSubcommandsThatDo) {
  for (const char* subcommand : {"create", "run", "restore"}) {
    EXPECT_TRUE(parse({subcommand, "abc"}).creates()) << subcommand;
  }
  for (const char* subcommand :
       {"start", "exec", "delete", "state", "kill", "spec", "checkpoint"}) {
    EXPECT_FALSE(parse({subcommand, "create"}).creates()) << subcommand;
  }
  EXPECT_FALSE(parse({}).creates());
}

TEST(CommandLine, SavesOnlyByCheckpoint) {
  EXPECT_TRUE(parse({"--debug", "checkpoint", "abc"}).saves());
  for (const char* subcommand : {"restore", "delete", "exec", "create"}) {
    EXPECT_FALSE(parse({subcommand, "checkpoint"}).saves()) << subcommand;
  }
}

TEST(CommandLine, KnowsWhereAndHowToLog) {
  const CommandLine json = parse({"--log=/l", "--log-format", "json", "create", "a"});
  EXPECT_EQ(json.log, "/l");
  EXPECT_TRUE(json.log_json);
  const CommandLine text = parse({"--log", "/l", "--log-format=text", "create", "a"});
  EXPECT_EQ(text.log, "/l");
  EXPECT_FALSE(text.log_json);
  EXPECT_EQ(parse({"create", "--log", "/l"}).log, "");
}

TEST(CommandLine, HasTheFirstWordAsContainer) {
  EXPECT_EQ(parse({"create", "first", "second"}).container, "first");
}

TEST(CommandLine, MayBeVeryLong) {
  const std::string container(128 * 1024, 'x');
  EXPECT_EQ(parse({"create", container}).container, container);
  const Args many(100'000, "--debug");
  EXPECT_EQ(parse_command_line(many).subcommand, "");
}

TEST(CommandLine, KnowsTheFileOfAProcessThatIsAdded) {
  struct Case {
    Args args;
    size_t at;
    std::string prefix;
  };
  const std::vector<Case> cases = {
      {{"exec", "--process", "/p", "--detach", "--pid-file", "/f", "abc"}, 2, ""},
      {{"--root", "/r", "exec", "-t", "-p", "/p", "abc"}, 5, ""},
      {{"exec", "--process=/p", "abc"}, 1, "--process="},
      {{"exec", "-process=/p", "abc"}, 1, "-process="},
      {{"exec", "-p=/p", "abc"}, 1, "-p="},
      {{"exec", "-p/p", "abc"}, 1, "-p"},
      {{"exec", "--console-socket", "-p", "--process", "/p", "--", "abc"}, 4, ""}};
  for (const Case& each : cases) {
    const CommandLine line = parse_command_line(each.args);
    EXPECT_TRUE(line.adds());
    EXPECT_EQ(line.process, "/p");
    EXPECT_EQ(line.process_at, each.at);
    EXPECT_EQ(line.process_prefix, each.prefix);
    EXPECT_EQ(line.container, "abc");
  }
}

TEST(CommandLine, TakesNoWordOfTheAddedProgramForAnOption) {
  for (const Args& args : {Args{"exec", "abc", "ssh", "-p", "22"}, Args{"exec", "abc"},
                           Args{"exec", "--process"}, Args{"create", "--process", "/p", "abc"}}) {
    EXPECT_FALSE(parse_command_line(args).adds());
  }
}

TEST(CommandLine, KnowsWhereTheRuntimeKeepsItsState) {
  EXPECT_EQ(parse({"--root", "/r", "create", "a"}).root, "/r");
  EXPECT_EQ(parse({"--root=/r", "--debug", "create", "a"}).root, "/r");
  EXPECT_EQ(parse({"create", "--root", "/r", "a"}).root, "");
}

}  // namespace
}  // namespace hook::passing
