// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/job/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What is wrong with the OPTIONS of a job.
std::string refusal(std::vector<std::string> options, bool are_settings = false) {
  if (!are_settings) options.insert(options.begin(), "--");
  const auto parsed = parse_arguments(options);
  return parsed.ok() ? "" : parsed.error().message();
}

TEST(SlurmRequestTest, WhatIsWrittenIsReadAgain) {
  for (const Request& request :
       {Request{}, Request{.ipus = "4"},
        Request{.ipus = "64", .account = "a b=c", .reconfigurable = true},
        Request{.partition = "team.1", .gcd = "all"}, Request{.partition = "p", .gcd = "0"}}) {
    EXPECT_EQ(parse_arguments(to_arguments(request)).take().request, request);
  }
}

TEST(SlurmRequestTest, SettingsHaveDefaults) {
  EXPECT_EQ(parse_arguments({}).take().settings, Settings{});
  const Settings settings =
      parse_arguments({"wait=90s", "cgroup=/slurm/ipu", "uplink=/etc/a.conflist"}).take().settings;
  EXPECT_EQ(settings, (Settings{"90s", "/slurm/ipu", "/etc/a.conflist"}));
}

TEST(SlurmRequestTest, TheFirstMistakeIsNamed) {
  EXPECT_THAT(refusal({"ipus"}), HasSubstr("'ipus' is no NAME=VALUE"));
  EXPECT_THAT(refusal({"colour=red"}), HasSubstr("the option 'colour' is unknown"));
  for (const char* const value : {"", "0", "-4", "4x", "4097", " 4", "99999999999999999999"})
    EXPECT_THAT(refusal({std::string("ipus=") + value}), HasSubstr("--ipus: "));
  for (const char* const value : {"", "-p", "a b", "a/b", "a\nb"})
    EXPECT_THAT(refusal({std::string("partition=") + value}), HasSubstr("--ipu-partition: "));
  EXPECT_THAT(refusal({std::string("partition=") + std::string(129, 'a')}),
              HasSubstr("--ipu-partition: "));
  for (const char* const value : {"", "a\nipus=64"})
    EXPECT_THAT(refusal({std::string("account=") + value}), HasSubstr("the job's account: "));
  for (const char* const value : {"", "one", "-1", "ALL"})
    EXPECT_THAT(refusal({"partition=p", std::string("gcd=") + value}), HasSubstr("--ipu-gcd: "));
  for (const char* const value : {"", "25h", "soon"})
    EXPECT_THAT(refusal({std::string("wait=") + value}, true),
                HasSubstr("wait of plugstack.conf: "));
  for (const char* const value : {"", "/", "a/b", "/a/../b", "/a b"})
    EXPECT_THAT(refusal({std::string("cgroup=") + value}, true),
                HasSubstr("cgroup of plugstack.conf: "));
}

TEST(SlurmRequestTest, SettingsAreNoOptions) {
  EXPECT_THAT(refusal({"ipus=4"}, true),
              HasSubstr("the setting 'ipus' of plugstack.conf is unknown"));
  EXPECT_THAT(refusal({"uplink=/etc/a"}), HasSubstr("the option 'uplink' is unknown"));
  EXPECT_THAT(refusal({"--"}), HasSubstr("'--' is no NAME=VALUE"));
}

TEST(SlurmRequestTest, OptionsThatContradictEachOther) {
  EXPECT_THAT(refusal({"ipus=4", "partition=p"}), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal({"ipus=4", "gcd=auto"}), HasSubstr("--ipu-gcd needs --ipu-partition=NAME"));
  EXPECT_THAT(refusal({"partition=p", "reconfigurable=1"}), HasSubstr("needs --ipus=N"));
}

TEST(SlurmRequestTest, TheRuntimeIsAskedByItsVariables) {
  const Settings settings{.wait = "10s"};
  EXPECT_THAT(to_environment({.ipus = "4", .account = "physics", .reconfigurable = true}, settings),
              ElementsAre("IPU_COUNT=4", "IPU_RECONFIGURABLE=1", "IPU_WAIT=10s",
                          "SLURM_JOB_ACCOUNT=physics"));
  const Request request = parse_arguments({"--", "partition=p", "gcd=auto"}).take().request;
  EXPECT_THAT(to_environment(request, settings), ElementsAre("IPU_PARTITION=p", "IPU_WAIT=10s"));
}

}  // namespace
}  // namespace slurm
