// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/docker_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace front {
namespace {

using base::str;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

// Each option as "name=value".
Words options_of(const Words& words) {
  Words texts;
  for (const DockerOption& option : read_docker_arguments(words).options) {
    texts.push_back(str(option.name, "=", option.value));
  }
  return texts;
}

TEST(DockerArgumentsTest, OptionsEndAtTheImage) {
  EXPECT_THAT(options_of({"--rm", "image", "--net=host"}), ElementsAre("rm="));
  EXPECT_THAT(options_of({"--name", "job", "image", "-e", "A=B"}), ElementsAre("name=job"));
  EXPECT_THAT(options_of({"--rm", "--", "image", "--net=host"}), ElementsAre("rm="));
  EXPECT_THAT(options_of({"image", "--net=host"}), IsEmpty());
  EXPECT_THAT(options_of({}), IsEmpty());
}

TEST(DockerArgumentsTest, AValueThatLooksLikeAnOptionOrAnImageIsAValue) {
  EXPECT_THAT(options_of({"--entrypoint", "--net=host", "--rm", "image"}),
              ElementsAre("entrypoint=--net=host", "rm="));
  EXPECT_THAT(options_of({"--pids-limit", "-1", "--rm", "image"}),
              ElementsAre("pids-limit=-1", "rm="));
  EXPECT_THAT(options_of({"--rm=false", "--tty", "--net", "host", "image"}),
              ElementsAre("rm=false", "tty=", "network=host"));
}

TEST(DockerArgumentsTest, FlagsOfBothEnginesTakeNoWord) {
  for (const char* flag : {"--detach",
                           "--disable-content-trust",
                           "--env-host",
                           "--http-proxy",
                           "--init",
                           "--interactive",
                           "--no-healthcheck",
                           "--no-hosts",
                           "--oom-kill-disable",
                           "--passwd",
                           "--privileged",
                           "--publish-all",
                           "--quiet",
                           "--read-only",
                           "--read-only-tmpfs",
                           "--replace",
                           "--rm",
                           "--rmi",
                           "--rootfs",
                           "--sig-proxy",
                           "--tls-verify",
                           "--tty",
                           "--unsetenv-all",
                           "--use-api-socket",
                           "-d",
                           "-i",
                           "-t",
                           "-P",
                           "-q",
                           "-it",
                           "-dit",
                           "-d=true"}) {
    const Words options = options_of({flag, "--net=host", "image"});
    ASSERT_EQ(options.size(), 2U) << flag;
    EXPECT_EQ(options.back(), "network=host") << flag;
  }
}

TEST(DockerArgumentsTest, ShortOptions) {
  EXPECT_THAT(options_of({"-e", "X=Y", "image"}), ElementsAre("env=X=Y"));
  EXPECT_THAT(options_of({"-eX=Y", "image"}), ElementsAre("env=X=Y"));
  EXPECT_THAT(options_of({"-e=X=Y", "image"}), ElementsAre("env=X=Y"));
  EXPECT_THAT(options_of({"-de", "X=Y", "image"}), ElementsAre("env=X=Y"));
  EXPECT_THAT(options_of({"-itv", "/a:/b", "image"}), ElementsAre("volume=/a:/b"));
  EXPECT_THAT(options_of({"-itv/a:/b", "-w", "/x", "image"}),
              ElementsAre("volume=/a:/b", "workdir=/x"));
  EXPECT_THAT(options_of({"-p", "80:80", "-u0", "image"}), ElementsAre("publish=80:80", "u=0"));
  EXPECT_THAT(options_of({"-it=false", "image"}), ElementsAre("t=false"));
  EXPECT_THAT(options_of({"-e"}), ElementsAre("env="));
  EXPECT_THAT(options_of({"-", "--net=host"}), IsEmpty());
}

TEST(DockerArgumentsTest, OptionsThatAreTakenOutLeaveTheRestAsItWas) {
  const DockerArguments arguments = read_docker_arguments(
      {"--rm", "--net", "host", "-itv", "/a:/etc", "-eX=Y", "image", "--net", "host"});
  Words kept = without(arguments, {arguments.options[1], arguments.options[2]});
  EXPECT_THAT(kept, ElementsAre("--rm", "-it", "-eX=Y", "image", "--net", "host"));
  EXPECT_EQ(without(arguments, {}), arguments.words);
}

TEST(DockerArgumentsTest, TheLastWordOnAVariableCounts) {
  const DockerArguments arguments =
      read_docker_arguments({"-e", "A=1", "-e", "A=2", "--env", "FROM_CALLER", "--env=UNSET",
                             "-eB=x=y", "image", "-eC=1"});
  const Variables variables =
      explicit_variables(arguments, {"# a comment\n\nA=0\nD=4\nFROM_CALLER=no\n"},
                         {{"FROM_CALLER", "yes"}, {"OTHER", "no"}});
  EXPECT_THAT(variables,
              UnorderedElementsAre(Pair("A", "2"), Pair("B", "x=y"), Pair("D", "4"),
                                   Pair("FROM_CALLER", "yes"), Pair("UNSET", std::nullopt)));
}

// As docker reads it: leading blanks, Windows' ends of lines and a byte order mark are no matter.
TEST(DockerArgumentsTest, AFileOfVariablesThatAnotherSystemWrote) {
  const Variables variables = explicit_variables(read_docker_arguments({"image"}),
                                                 {"\xEF\xBB\xBF"
                                                  "A=1\r\n  \tB=2 \r\n  # no\r\n\r\n"},
                                                 {});
  EXPECT_THAT(variables, UnorderedElementsAre(Pair("A", "1"), Pair("B", "2 ")));
}

TEST(DockerArgumentsTest, Mounts) {
  const DockerArguments arguments =
      read_docker_arguments({"-v", "/a/b:/c/:ro", "--volume=data:/d", "-v", "/anonymous", "--mount",
                             "type=bind,src=/e,dst=/f/,readonly", "image", "-v", "/x:/y"});
  Words texts;
  for (const DockerMount& mount : mounts_of(arguments)) {
    texts.push_back(str(mount.source, " ", mount.target));
  }
  EXPECT_THAT(texts, ElementsAre("/a/b /c", "data /d", " /anonymous", "/e /f"));
}

TEST(DockerArgumentsTest, WhatIsCutShortIsRead) {
  EXPECT_THAT(options_of({"--name"}), ElementsAre("name="));
  EXPECT_THAT(mounts_of(read_docker_arguments({"-v", "", "--mount", "x", "image"})),
              testing::SizeIs(2));
}

}  // namespace
}  // namespace front
