// SPDX-License-Identifier: Apache-2.0
// An isolated container: what it asks the product for.
#include "cmd/gc-docker/front_end/translate.h"

#include <gmock/gmock.h>

#include "cmd/gc-docker/front_end/ask.h"
#include "tests/unit/cmd/gc-docker/front_end/callers.h"

namespace front {
namespace {

using testing::HasSubstr;
using testing::Not;

const Words kPlain = {"--", "image"};

TEST(TranslateTest, CountIsANewPartition) {
  EXPECT_EQ(line(pod_host(), {"--count", "4", "--", "--rm", "image", "cat", "a b"}),
            "docker run --runtime=ipu -e IPU_COUNT=4 --rm image cat 'a b'");
  EXPECT_EQ(notes(pod_host(), {"--count", "4", "--", "image"}), "");
}

TEST(TranslateTest, CountCountsBeforeWhatTheHostSays) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  EXPECT_EQ(line(caller, {"--count", "4", "--", "image"}),
            "docker run --runtime=ipu -e IPU_COUNT=4 image");
}

TEST(TranslateTest, APartitionOfTheEnvironment) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_HOST", "10.1.3.101"},
                                  {"IPUOF_VIPU_API_PARTITION_ID", "p0"},
                                  {"IPUOF_VIPU_API_GCD_ID", "1"}});
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=1 image");
  EXPECT_EQ(notes(caller, kPlain), "");
}

TEST(TranslateTest, AFileInAVolume) {
  const Words args = {"--",   "-v", "confs:/ipuof", "-e", "IPUOF_CONFIG_PATH=/ipuof/p1_gcd0.conf",
                      "image"};
  Caller caller = pod_host({{"HOME", "/root"}});
  EXPECT_THAT(refusal(caller, args), HasSubstr("IPUOF_CONFIG_PATH is in the volume 'confs'"));
  EXPECT_THAT(refusal(caller, args), HasSubstr("give --count N"));
  add_file(caller, "/var/lib/docker/volumes/confs/_data/p1_gcd0.conf");
  EXPECT_THAT(line(caller, args), HasSubstr("-e IPU_PARTITION=p1 -e IPU_GCD=0 "));
  caller.engine = "podman";
  EXPECT_THAT(refusal(caller, args), HasSubstr("the volume 'confs'"));
  add_file(caller, "/var/lib/containers/storage/volumes/confs/_data/p1_gcd0.conf");
  EXPECT_THAT(line(caller, args), HasSubstr("-e IPU_PARTITION=p1 -e IPU_GCD=0 "));
}

// The line of Paddle's CI: its file has a name that every partition's file could have.
TEST(TranslateTest, AFileInAVolumeThatNamesNoPartition) {
  const Words args = {"--", "-v", "vol:/ipuof", "-e", "IPUOF_CONFIG_PATH=/ipuof/ipu.conf", "image"};
  Caller caller = pod_host({{"HOME", "/root"}});
  EXPECT_THAT(refusal(caller, args),
              HasSubstr("IPUOF_CONFIG_PATH is in the volume 'vol', in which no IPUoF file can be"
                        " read; give --count N for a new partition, or -e IPU_PARTITION=NAME"));
  add_file(caller, "/var/lib/docker/volumes/vol/_data/ipu.conf");
  EXPECT_THAT(refusal(caller, args),
              HasSubstr("its name is not that of a partition; give --count 16 for a new partition,"
                        " -e IPU_PARTITION=NAME for one that exists, or --host-network"));
  Words with_request = args;
  with_request.insert(with_request.begin() + 1, {"-e", "IPU_PARTITION=p0"});
  EXPECT_THAT(line(caller, with_request), HasSubstr("-e IPU_PARTITION=p0"));
  with_request = args;
  with_request.insert(with_request.begin(), {"--count", "16"});
  EXPECT_THAT(line(caller, with_request), HasSubstr("-e IPU_COUNT=16"));
}

TEST(TranslateTest, AServiceWithoutAPublishedPortIsExplained) {
  EXPECT_THAT(notes(pod_host(), {"--count", "4", "--", "-d", "--name", "x", "image"}),
              HasSubstr("publish its port, such as -p 8000:8000"));
  for (const char* reachable : {"-p=80:80", "-P", "--publish=80", "--network=web", "--net=x"})
    EXPECT_EQ(notes(pod_host(), {"--count", "4", "--", "-d", reachable, "image"}), "") << reachable;
  EXPECT_EQ(notes(pod_host(), {"--count", "4", "--", "-it", "image"}), "");
  EXPECT_EQ(notes(cards_host(1), {"--", "-d", "image"}), "");
}

TEST(TranslateTest, APartitionOfTheOptionsCountsBeforeTheEnvironments) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  EXPECT_EQ(line(caller, {"--", "-e", "IPUOF_VIPU_API_PARTITION_ID=p1", "image"}),
            "docker run --runtime=ipu -e IPU_PARTITION=p1 -e IPUOF_VIPU_API_PARTITION_ID=p1 image");
  EXPECT_THAT(line(caller, {"--", "-e", "IPUOF_VIPU_API_PARTITION_ID", "image"}),
              HasSubstr("-e IPU_PARTITION=p0"));
  EXPECT_THAT(refusal(caller, {"--", "-e", "IPUOF_VIPU_API_PARTITION_ID=", "image"}),
              HasSubstr("no IPUs are selected"));
}

TEST(TranslateTest, TheControllerChoosesThePool) {
  Caller caller =
      pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}, {"IPUOF_VIPU_API_HOST", "10.2.3.101"}});
  EXPECT_THAT(notes(caller, kPlain), HasSubstr("no pool has the controller '10.2.3.101:8090'"));
  caller.pools.push_back({"other"});
  caller.pools.back().controller = "10.2.3.101:8090";
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_POOL=other image");
  EXPECT_THAT(notes(caller, kPlain), Not(HasSubstr("no pool")));
  caller.environment["IPUOF_VIPU_API_PORT"] = "9090";
  EXPECT_THAT(notes(caller, kPlain), HasSubstr("'10.2.3.101:9090'"));
}

TEST(TranslateTest, AFileThatAPoolSharesOutIsAskedForWhole) {
  Caller caller = pod_host({{"IPUOF_CONFIG_PATH", "/data/p16.conf"}});
  add_file(caller, "/data/p16.conf");
  caller.pools.push_back(ipuof_pool("slices", "/data/p16.conf"));
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu -e IPU_COUNT=16 -e IPU_POOL=slices image");
  EXPECT_EQ(notes(caller, kPlain), "");
  caller.pools.erase(caller.pools.begin());
  EXPECT_EQ(line(caller, kPlain), "docker run --runtime=ipu -e IPU_COUNT=16 image");
  caller.places["/data/p16.conf"].files.front().ipus = 0;
  EXPECT_THAT(refusal(caller, kPlain), HasSubstr("cannot be read as an IPUoF file"));
}

TEST(TranslateTest, AFileOfNoPoolNamesItsPartition) {
  Caller caller = pod_host({{"HOME", "/root"}});
  add_directory(caller, "/root/.ipuof.conf.d", {"p0_gcd1_ipuof.conf"});
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=1 image");
  EXPECT_THAT(notes(caller, kPlain), HasSubstr("by the name of '/root/.ipuof.conf.d/p0_gcd1"));
  add_directory(caller, "/root/.ipuof.conf.d", {"my file.conf"});
  EXPECT_THAT(refusal(caller, kPlain), HasSubstr("give --count 16 for a new partition, -e IPU_"));
  EXPECT_THAT(refusal(caller, kPlain), HasSubstr("--host-network"));
}

TEST(TranslateTest, TheFilesOfAllGcdsAskForAll) {
  Caller caller = pod_host({{"HOME", "/root"}});
  const std::string home = "/root/.ipuof.conf.d";
  add_directory(caller, home, {"p0_gcd0_ipuof.conf", "p0_gcd1_ipuof.conf"});
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=all image");
  EXPECT_EQ(line(caller, {"--", "-e", "IPU_GCD=1", "image"}),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=1 image");
  for (const char* other : {"p0_gcd2_ipuof.conf", "p1_gcd1_ipuof.conf", "p0_ipuof.conf"}) {
    add_directory(caller, home, {"p0_gcd0_ipuof.conf", other});
    EXPECT_THAT(refusal(caller, kPlain), HasSubstr("has 2 IPUoF files; choose one")) << other;
  }
}

TEST(TranslateTest, SourcesInTheirOrder) {
  Caller caller = pod_host({{"HOME", "/root"},
                            {"IPUOF_CONFIG_PATH", "/data/named.conf"},
                            {"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  add_file(caller, "/data/named.conf");
  add_file(caller, "/data/given.conf");
  add_directory(caller, "/root/.ipuof.conf.d", {"home.conf"});
  add_directory(caller, "/etc/ipuof.conf.d", {"host.conf"});
  EXPECT_THAT(
      line(caller, {"--", "-e", "IPUOF_CONFIG_PATH=/c/given.conf", "-v", "/data:/c", "image"}),
      HasSubstr("IPU_PARTITION=given"));
  EXPECT_THAT(line(caller, kPlain), HasSubstr("IPU_PARTITION=named"));
  caller.environment.erase("IPUOF_CONFIG_PATH");
  EXPECT_THAT(line(caller, kPlain), HasSubstr("IPU_PARTITION=p0"));
  caller.environment.erase("IPUOF_VIPU_API_PARTITION_ID");
  EXPECT_THAT(line(caller, kPlain), HasSubstr("IPU_PARTITION=home"));
  caller.places.erase("/root/.ipuof.conf.d");
  EXPECT_THAT(line(caller, kPlain), HasSubstr("IPU_PARTITION=host"));
  add_directory(caller, "/etc/ipuof.conf.d", {"host.conf", "other.conf"});
  EXPECT_THAT(refusal(caller, kPlain),
              HasSubstr("has 2 IPUoF files; choose one with IPUOF_CONFIG"));
  add_directory(caller, "/etc/ipuof.conf.d", {});
  EXPECT_THAT(refusal(caller, kPlain), HasSubstr("no IPUs are selected: give --count N"));
}

TEST(TranslateTest, AFileThatIsNamedMustBeThere) {
  EXPECT_THAT(refusal(pod_host({{"IPUOF_CONFIG_PATH", "/data/none.conf"}}), kPlain),
              HasSubstr("IPUOF_CONFIG_PATH is '/data/none.conf', but there is no IPUoF file"));
}

TEST(TranslateTest, NamesOfFiles) {
  EXPECT_EQ(partition_of_file("p0.conf")->partition, "p0");
  EXPECT_EQ(partition_of_file("p0_ipuof.conf")->partition, "p0");
  EXPECT_EQ(partition_of_file("p0_gcd2_ipuof.conf")->gcd, "2");
  EXPECT_EQ(partition_of_file("a_gcdb.conf")->partition, "a_gcdb");
  EXPECT_FALSE(partition_of_file("with space.conf"));
  EXPECT_FALSE(partition_of_file(".conf"));
  EXPECT_FALSE(partition_of_file("ipu.conf"));
  EXPECT_FALSE(partition_of_file("ipuof.conf"));
  EXPECT_EQ(partition_of_file("ipu_gcd0_ipuof.conf")->partition, "ipu");
}

TEST(TranslateTest, CardsAreAllOrThoseOfTheLogicalIds) {
  EXPECT_EQ(line(cards_host(4), kPlain),
            "docker run --runtime=ipu -e IPU_VISIBLE_DEVICES=all image");
  EXPECT_EQ(line(cards_host(4), {"--device-id", "1", "--", "image"}),
            "docker run --runtime=ipu -e IPU_VISIBLE_DEVICES=1 image");
  EXPECT_EQ(line(cards_host(4), {"--device-id", "5", "--", "image"}),
            "docker run --runtime=ipu -e IPU_VISIBLE_DEVICES=2,3 image");
  EXPECT_EQ(line(cards_host(4), {"--count", "2", "--", "image"}),
            "docker run --runtime=ipu -e IPU_COUNT=2 image");
  EXPECT_THAT(refusal(pod_host(), {"--device-id", "0", "--", "image"}),
              HasSubstr("give --count N"));
}

TEST(TranslateTest, CardsOfASecondPoolAreNamedWithIt) {
  Caller caller = pod_host();
  caller.pools.push_back({"cards", hook::config::Provider::kPcie});
  caller.pools.back().groups = {{4, 5}, {6, 7}};
  EXPECT_EQ(line(caller, {"--device-id", "5", "--", "image"}),
            "docker run --runtime=ipu -e IPU_VISIBLE_DEVICES=6,7 -e IPU_POOL=cards image");
}

TEST(TranslateTest, ARequestAmongTheOptionsWins) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  for (const char* request :
       {"-eIPU_COUNT=2", "--env=IPU_PARTITION=p1", "-eIPU_VISIBLE_DEVICES=none",
        "--annotation=graphcore.ai/ipu.count=2"}) {
    EXPECT_EQ(line(caller, {"--", request, "image"}),
              base::str("docker run --runtime=ipu ", request, " image"));
  }
  EXPECT_THAT(notes(caller, {"--count", "4", "--", "-eIPU_COUNT=2", "image"}),
              HasSubstr("--count is ignored, because the options for docker contain IPU_COUNT"));
  Caller with_file = caller;
  with_file.env_files = {"IPU_COUNT=8\n"};
  EXPECT_EQ(line(with_file, {"--", "--env-file", "f", "image"}),
            "docker run --runtime=ipu --env-file f image");
  EXPECT_THAT(line(caller, {"--", "-eIPU_GCD=1", "image"}), HasSubstr("IPU_PARTITION=p0"));
  EXPECT_THAT(line(caller, {"--", "-eIPU_COUNT", "image"}), HasSubstr("IPU_PARTITION=p0"));
}

TEST(TranslateTest, ARuntimeAmongTheOptionsWins) {
  EXPECT_EQ(line(pod_host(), {"--count", "4", "--", "--runtime", "graphcore", "image"}),
            "docker run -e IPU_COUNT=4 --runtime graphcore image");
  // It isolates nothing, so that the host's network is all there is.
  const Words args = {"--count", "4", "--", "--runtime=runc", "--net=host", "image"};
  EXPECT_EQ(line(pod_host(), args), "docker run -e IPU_COUNT=4 --runtime=runc --net=host image");
}

TEST(TranslateTest, ARuntimeThatMayGiveNoIpusIsTold) {
  EXPECT_THAT(notes(pod_host(), {"--count", "4", "--", "--runtime=runc", "image"}),
              HasSubstr("--runtime=runc replaces the runtime 'ipu', so the container gets no IPUs,"
                        " unless 'runc' runs ipu-container-runtime too; leave out --runtime"));
  EXPECT_EQ(notes(pod_host(), {"--count", "4", "--", "--runtime", "ipu", "image"}), "");
}

TEST(TranslateTest, CardsMayHaveTheHostsNetwork) {
  EXPECT_EQ(line(cards_host(4), {"--", "--net=host", "image"}),
            "docker run --runtime=ipu -e IPU_VISIBLE_DEVICES=all --net=host image");
}

TEST(TranslateTest, WhereVariablesMayNotAskAnAnnotationDoes) {
  Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}, {"IPUOF_VIPU_API_GCD_ID", "1"}});
  caller.allows_variables = false;
  EXPECT_EQ(line(caller, kPlain),
            "docker run --runtime=ipu --annotation graphcore.ai/ipu.partition=p0 --annotation "
            "graphcore.ai/ipu.gcd=1 image");
}

TEST(TranslateTest, ANewPartitionIsOfTheControllerThatIsNamed) {
  Caller caller = pod_host({{"IPUOF_VIPU_API_HOST", "10.2.3.101"}});
  caller.pools.push_back({"other"});
  caller.pools.back().controller = "10.2.3.101:8090";
  EXPECT_EQ(line(caller, {"--count", "4", "--", "image"}),
            "docker run --runtime=ipu -e IPU_COUNT=4 -e IPU_POOL=other image");
}

TEST(TranslateTest, TheUsersGcdWinsOverThatOfAFilesName) {
  Caller caller = pod_host({{"IPUOF_CONFIG_PATH", "/data/p0_gcd0_ipuof.conf"}});
  add_file(caller, "/data/p0_gcd0_ipuof.conf");
  EXPECT_EQ(line(caller, {"--", "-e", "IPU_GCD=1", "image"}),
            "docker run --runtime=ipu -e IPU_PARTITION=p0 -e IPU_GCD=1 image");
}

TEST(TranslateTest, TheHostsNetworkBecomesTheContainersOwn) {
  for (const Words& network : {Words{"--net=host"}, Words{"--network", "host"}}) {
    Words args = {"--count", "4", "--", "--rm"};
    args.insert(args.end(), network.begin(), network.end());
    args.insert(args.end(), {"image", "--net=host"});
    EXPECT_EQ(line(pod_host(), args),
              "docker run --runtime=ipu -e IPU_COUNT=4 --rm image --net=host");
    EXPECT_THAT(notes(pod_host(), args), HasSubstr("--net=host is ignored"));
  }
  EXPECT_EQ(notes(pod_host(), {"--count", "4", "--", "--net=none", "image"}), "");
}

TEST(TranslateTest, AMountOverTheIpuofFileSaysWhichIpusAndIsLeftOut) {
  Caller caller = pod_host();
  add_directory(caller, "/data/conf", {"p3.conf"});
  const Words args = {"--", "-itv", "/data/conf:/etc/ipuof.conf.d/", "image"};
  EXPECT_EQ(line(caller, args), "docker run --runtime=ipu -e IPU_PARTITION=p3 -it image");
  EXPECT_THAT(notes(caller, args), HasSubstr("the mount on '/etc/ipuof.conf.d' is ignored"));
}

TEST(TranslateTest, WhatWeakensIsolationIsPassedAndTold) {
  const Words args = {"--count", "4", "--", "--privileged", "--device=/dev/infiniband/", "image"};
  EXPECT_EQ(line(pod_host(), args),
            "docker run --runtime=ipu -e IPU_COUNT=4 --privileged --device=/dev/infiniband/ image");
  EXPECT_THAT(notes(pod_host(), args), HasSubstr("--privileged gives the container all devices"));
  EXPECT_THAT(notes(pod_host(), args), HasSubstr("--device=/dev/infiniband/ gives the container"));
}

TEST(TranslateTest, SharedMemoryIsAsLargeAsTheHostsUnlessSaid) {
  Caller caller = pod_host();
  caller.shared_memory = 1U << 30;
  EXPECT_THAT(line(caller, {"--count", "4", "--", "image"}), HasSubstr(" --shm-size=1073741824 "));
  for (const char* option : {"--shm-size=1g", "--ipc=host"}) {
    EXPECT_EQ(line(caller, {"--count", "4", "--", option, "image"}),
              base::str("docker run --runtime=ipu -e IPU_COUNT=4 ", option, " image"));
  }
}

TEST(TranslateTest, TheLogLevelIsPassedOn) {
  const Caller caller = pod_host({{"IPUOF_LOG_LEVEL", "WARN"}});
  EXPECT_THAT(line(caller, {"--count", "4", "--", "image"}), HasSubstr("-e IPUOF_LOG_LEVEL=WARN"));
  EXPECT_THAT(line(caller, {"--count", "4", "--", "-eIPUOF_LOG_LEVEL=INFO", "image"}),
              Not(HasSubstr("WARN")));
}

TEST(TranslateTest, PodmanTakesTheRuntimeBeforeItsCommand) {
  Caller caller = pod_host();
  caller.engine = "podman";
  caller.runtime = "/usr/bin/ipu-container-runtime";
  EXPECT_EQ(line(caller, {"--count", "4", "--", "image"}),
            "podman --runtime=/usr/bin/ipu-container-runtime run -e IPU_COUNT=4 image");
}

TEST(TranslateTest, TheLineIsReadBackByAShell) {
  EXPECT_EQ(shell_line({"docker", "", "a b", "it's", "$x", "A=b,c:d", "~", "*"}),
            "docker '' 'a b' 'it'\\''s' '$x' A=b,c:d '~' '*'");
}

}  // namespace
}  // namespace front
