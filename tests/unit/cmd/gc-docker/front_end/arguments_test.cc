// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace front {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Args = std::vector<std::string>;

FrontEndArguments parsed(const Args& args) {
  base::Result<FrontEndArguments> result = parse_front_end(args);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message());
  return result.ok() ? std::move(result).take() : FrontEndArguments();
}

std::string refusal(const Args& args) {
  const base::Result<FrontEndArguments> result = parse_front_end(args);
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().code(), base::Code::kInvalid);
  return result.error().message();
}

TEST(FrontEndArgumentsTest, WhatFollowsTheTwoDashesIsForDocker) {
  const FrontEndArguments arguments =
      parsed({"--device-id", "0", "--device-id=6", "--echo", "--", "-ti", "--echo", "image"});
  EXPECT_THAT(arguments.device_ids, ElementsAre(0U, 6U));
  EXPECT_TRUE(arguments.echo);
  EXPECT_FALSE(arguments.host_network);
  EXPECT_THAT(arguments.docker, ElementsAre("-ti", "--echo", "image"));
}

TEST(FrontEndArgumentsTest, ShortDeviceIdStandsBeforeTheTwoDashes) {
  const FrontEndArguments arguments = parsed({"-d", "0", "-d", "6", "--echo", "--", "-d", "image"});
  EXPECT_THAT(arguments.device_ids, ElementsAre(0U, 6U));
  EXPECT_TRUE(arguments.echo);
  EXPECT_THAT(arguments.docker, ElementsAre("-d", "image"));
  EXPECT_THAT(parsed({"-d", "7"}).docker, ElementsAre("-d", "7"));
  EXPECT_THAT(parsed({"-d", "image", "--", "x"}).docker, ElementsAre("-d", "image", "--", "x"));
}

TEST(FrontEndArgumentsTest, CountAndHostNetwork) {
  EXPECT_EQ(parsed({"--count", "4", "--", "image"}).count, 4U);
  EXPECT_EQ(parsed({"--count=16", "--", "image"}).count, 16U);
  EXPECT_EQ(parsed({"--", "image"}).count, std::nullopt);
  EXPECT_TRUE(parsed({"--host-network", "--", "image"}).host_network);
}

TEST(FrontEndArgumentsTest, ALeadingRunIsTolerated) {
  const Args docker = {"-it", "image"};
  EXPECT_EQ(parsed({"run", "-it", "image"}).docker, docker);
  EXPECT_EQ(parsed({"--", "run", "-it", "image"}).docker, docker);
  EXPECT_EQ(parsed({"run", "--", "-it", "image"}).docker, docker);
  EXPECT_EQ(parsed({"--count", "2", "run", "-it", "image"}).docker, docker);
  EXPECT_EQ(parsed({"run", "--count", "2", "-it", "image"}).docker, docker);
  EXPECT_EQ(parsed({"run", "--count", "2", "-it", "image"}).count, 2U);
}

TEST(FrontEndArgumentsTest, OneRunOnly) {
  EXPECT_THAT(parsed({"--", "run", "run"}).docker, ElementsAre("run"));
  EXPECT_THAT(parsed({"run", "--", "run"}).docker, ElementsAre("run"));
  EXPECT_THAT(parsed({"run", "run", "x"}).docker, ElementsAre("run", "x"));
}

TEST(FrontEndArgumentsTest, WithoutTheTwoDashesTheFirstForeignWordIsDockers) {
  EXPECT_THAT(parsed({"--echo", "-it", "image", "--count", "3"}).docker,
              ElementsAre("-it", "image", "--count", "3"));
  EXPECT_THAT(parsed({"image", "--", "x"}).docker, ElementsAre("image", "--", "x"));
}

TEST(FrontEndArgumentsTest, AnOptionOfNobodyBeforeTheTwoDashesIsRefused) {
  EXPECT_EQ(refusal({"--cuont", "4", "--", "image"}),
            "'--cuont' is not one of the options that may stand before '--', --count, --device-id,"
            " --host-network and --echo; give the options of 'run' after '--'");
  EXPECT_THAT(refusal({"--count", "4", "--rm", "--", "image"}), HasSubstr("'--rm' is not one of"));
  EXPECT_THAT(refusal({"--cuont=4", "--echo", "--", "image"}), HasSubstr("'--cuont=4' is not"));
  EXPECT_THAT(refusal({"--cuont", "--", "image"}), HasSubstr("'--cuont' is not"));
  // There, docker finds its image.
  EXPECT_THAT(parsed({"--rm", "image", "--", "x"}).docker, ElementsAre("--rm", "image", "--", "x"));
  EXPECT_THAT(parsed({"run", "--rm", "--", "image"}).docker, ElementsAre("--rm", "--", "image"));
  EXPECT_THAT(parsed({"--", "--rm", "--", "image"}).docker, ElementsAre("--rm", "--", "image"));
  EXPECT_THAT(parsed({"--rm", "--name"}).docker, ElementsAre("--rm", "--name"));
}

TEST(FrontEndArgumentsTest, HelpNeedsNoImage) {
  EXPECT_TRUE(parsed({"--help"}).help);
  EXPECT_TRUE(parsed({"run", "--help"}).help);
  EXPECT_TRUE(parsed({"--version"}).version);
  EXPECT_FALSE(parsed({"--", "--help"}).help);
}

TEST(FrontEndArgumentsTest, BadInputIsRefusedWithWhatIsAccepted) {
  EXPECT_THAT(refusal({}), HasSubstr("no image is given; append '--"));
  EXPECT_THAT(refusal({"--echo", "--"}), HasSubstr("no image is given"));
  EXPECT_THAT(refusal({"run"}), HasSubstr("no image is given"));
  for (const char* count : {"0", "-4", "four", "", "4 ", "99999999999"}) {
    EXPECT_THAT(refusal({"--count", count, "--", "image"}),
                HasSubstr("is not a number of IPUs: give a power of two, such as --count 4"));
  }
  EXPECT_EQ(refusal({"--count", "3", "--", "image"}),
            "--count 3 is not a power of two; give --count 2 or --count 4");
  EXPECT_EQ(refusal({"--count=65535", "--", "image"}),
            "--count 65535 is not a power of two; give --count 32768 or --count 65536");
  for (const char* id : {"-1", "0,1", "", "a", "99999999999"}) {
    EXPECT_THAT(refusal({"--device-id", id, "--", "image"}), HasSubstr("give one number, from 0"));
  }
  EXPECT_THAT(refusal({"--count"}), HasSubstr("--count needs a number"));
  EXPECT_THAT(refusal({"--count", "4", "--device-id", "0", "--", "image"}),
              HasSubstr("--count and --device-id cannot be combined"));
  EXPECT_THAT(refusal({"--count", "4", "--host-network", "--", "image"}),
              HasSubstr("--count and --host-network cannot be combined"));
}

}  // namespace
}  // namespace front
