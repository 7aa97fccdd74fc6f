// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/docker_config.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"
#include "tests/unit/hook/engines/entry.h"

namespace hook::engines {
namespace {

using base::Code;

constexpr const char* kDockerFile = "daemon.json";
std::string added_to_docker(const FileText& text, const RuntimeEntry& entry = kEntry) {
  return add_docker_runtime(text, entry, kDockerFile).take().value();
}

FileText removed_from_docker(const FileText& text) {
  return remove_docker_runtime(text, {}, "ipu", kDockerFile).take();
}

TEST(DockerConfigTest, AnAbsentOrEmptyFileBecomesOneWithTheRuntime) {
  const std::string whole =
      "{\n  \"runtimes\": {\n    \"ipu\": {\n      \"path\": \"/usr/bin/ipu-container-runtime\"\n"
      "    }\n  }\n}\n";
  EXPECT_EQ(added_to_docker(std::nullopt), whole);
  EXPECT_EQ(added_to_docker(""), whole);
  EXPECT_EQ(added_to_docker(" \n"), whole);
}

TEST(DockerConfigTest, OtherKeysKeepTheirBytes) {
  EXPECT_EQ(
      added_to_docker("{\"data-root\":\"/d\",  \"shutdown-timeout\": "
                      "1.0e1,\n\"runtimes\":{\"x\":{\"path\":\"/x\"}}}"),
      "{\"data-root\":\"/d\",  \"shutdown-timeout\": 1.0e1,\n\"runtimes\":{\"x\":{\"path\":\"/x\"},"
      "\"ipu\":{\"path\":\"/usr/bin/ipu-container-runtime\"}}}");
}

TEST(DockerConfigTest, TwiceChangesNothing) {
  const std::string once = added_to_docker("{\"debug\": true}");
  EXPECT_EQ(added_to_docker(once), once);
}

TEST(DockerConfigTest, WhatIsTakenAwayIsWhatWasAdded) {
  for (const std::string text :
       {"{\n    \"debug\": true\n}\n", "{\"runtimes\": {\"x\": {\"path\": \"/x\"}}}",
        "{\"default-runtime\": \"x\"}"}) {
    EXPECT_EQ(removed_from_docker(added_to_docker(text)), text);
  }
  EXPECT_EQ(removed_from_docker(added_to_docker(std::nullopt)), "{}\n");
  EXPECT_EQ(removed_from_docker(std::nullopt), std::nullopt);
  EXPECT_EQ(removed_from_docker("{ }"), "{ }");
}

TEST(DockerConfigTest, TheDefaultIsChangedOnlyWhenAskedFor) {
  EXPECT_EQ(added_to_docker("{\"default-runtime\":\"x\"}").find("\"default-runtime\":\"x\""), 1);
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  const std::string made = added_to_docker("{\"default-runtime\":\"x\"}", entry);
  EXPECT_TRUE(find_docker_runtime(made, "ipu", kDockerFile).take().is_default);
  EXPECT_EQ(removed_from_docker(made), "{}");  // as if none had been named
}

TEST(DockerConfigTest, TheDefaultFromBeforeIsTheDefaultAgain) {
  RuntimeEntry entry = kEntry;
  entry.make_default = true;
  const FileText before = R"({"default-runtime":"x","runtimes":{"x":{"path":"/x"}}})";
  const std::string made = added_to_docker(before, entry);
  const auto removed_from = [&](const std::string& text) {
    return *remove_docker_runtime(text, before, "ipu", kDockerFile).take();
  };
  EXPECT_EQ(removed_from("{\"debug\":true," + made.substr(1)),
            "{\"debug\":true," + before->substr(1));
  // Not where somebody chose another one since, nor where dockerd would not know it any more.
  EXPECT_EQ(removed_from(R"({"default-runtime":"y"})"), R"({"default-runtime":"y"})");
  EXPECT_EQ(removed_from(R"({"default-runtime":"ipu"})"), "{}");
  EXPECT_EQ(*remove_docker_runtime(R"({"default-runtime":"ipu"})", R"({"default-runtime":"runc"})",
                                   "ipu", kDockerFile)
                 .take(),
            R"({"default-runtime":"runc"})");
}

TEST(DockerConfigTest, IsAskedOnItsOwnSocket) {
  const auto host = [](const std::vector<std::string>& args, const FileText& text) {
    return docker_host(args, text, "unix:///usual", kDockerFile);
  };
  const FileText file = R"({"hosts":["tcp://0.0.0.0:1","unix:///file"]})";
  EXPECT_EQ(host({"d"}, std::nullopt).take(), "unix:///usual");
  EXPECT_EQ(host({"d"}, file).take(), "unix:///file");
  EXPECT_EQ(host({"d", "-H", "tcp://1", "--host=unix:///option"}, file).take(), "unix:///option");
  EXPECT_EQ(host({"d", "-H", "fd://"}, std::nullopt).take(), "unix:///usual");
  EXPECT_TRUE(test::fails(host({"d", "-H", "tcp://1"}, file), Code::kUnavailable, "tcp://1"));
  EXPECT_TRUE(test::fails(host({"d"}, "["), Code::kInvalid, kDockerFile));
}

TEST(DockerConfigTest, AKeyThatIsAnOptionOfItsIsNotForItsFile) {
  RuntimeEntry entry = kEntry;
  const auto check = [&](const std::string& option) {
    return check_docker_options({"dockerd", option}, "dockerd (process 7)", entry, kDockerFile);
  };
  EXPECT_TRUE(test::fails(check("--add-runtime=x=/x"), Code::kInvalid,
                          "dockerd (process 7) has the option --add-runtime"));
  EXPECT_TRUE(test::succeeds(check("--default-runtime=x")));
  entry.make_default = true;
  EXPECT_TRUE(test::fails(check("--default-runtime=x"), Code::kInvalid, "--default-runtime"));
  EXPECT_TRUE(test::succeeds(check("--debug")));
}

TEST(DockerConfigTest, FindsWhatIsThere) {
  const Registered found = find_docker_runtime(added_to_docker("{}"), "ipu", kDockerFile).take();
  EXPECT_EQ(found.path, kEntry.path);
  EXPECT_FALSE(found.is_default);
  EXPECT_EQ(find_docker_runtime("{}", "ipu", kDockerFile).take().path, "");
  EXPECT_EQ(find_docker_runtime(std::nullopt, "ipu", kDockerFile).take().path, "");
}

TEST(DockerConfigTest, AnotherRuntimeOfTheNameIsNotReplaced) {
  EXPECT_TRUE(test::fails(
      add_docker_runtime(R"({"runtimes":{"ipu":{"path":"/other"}}})", kEntry, kDockerFile),
      Code::kExists, "runtime 'ipu' already exists, with path '/other'"));
  EXPECT_TRUE(test::fails(
      add_docker_runtime(R"({"runtimes":{"ipu":{"runtimeType":"io.x"}}})", kEntry, kDockerFile),
      Code::kExists, "already exists, with no path"));
}

TEST(DockerConfigTest, ARuntimeOfSomebodyElseIsNotTakenAway) {
  EXPECT_TRUE(test::fails(remove_docker_runtime(R"({"runtimes":{"ipu":{"path":"/usr/bin/runc"}}})",
                                                {}, "ipu", kDockerFile),
                          Code::kExists, "'/usr/bin/runc'"));
}

TEST(DockerConfigTest, WhatIsNoConfigurationIsRefused) {
  EXPECT_TRUE(
      test::fails(add_docker_runtime("{", kEntry, kDockerFile), Code::kInvalid, "daemon.json"));
  EXPECT_TRUE(
      test::fails(add_docker_runtime("[]", kEntry, kDockerFile), Code::kInvalid, "JSON object"));
  EXPECT_TRUE(test::fails(add_docker_runtime(R"({"runtimes":[]})", kEntry, kDockerFile),
                          Code::kInvalid, "'runtimes'"));
  EXPECT_TRUE(test::fails(remove_docker_runtime("{", {}, "ipu", kDockerFile), Code::kInvalid,
                          "daemon.json"));
}

}  // namespace
}  // namespace hook::engines
