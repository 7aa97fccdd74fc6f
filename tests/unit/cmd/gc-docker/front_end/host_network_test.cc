// SPDX-License-Identifier: Apache-2.0
// --host-network: the command of Graphcore's tool.
#include "cmd/gc-docker/front_end/host_network.h"

#include <gmock/gmock.h>

#include "tests/unit/cmd/gc-docker/front_end/callers.h"

namespace front {
namespace {

using testing::HasSubstr;
using testing::Not;

const Words kHostNetwork = {"--host-network", "--", "-it", "image"};
constexpr const char* kStart =
    "docker run --ulimit memlock=-1:-1 --net=host --cap-add=IPC_LOCK --ipc=host ";

std::string expected(std::string_view rest) { return base::str(kStart, rest, " -it image"); }

TEST(HostNetworkTest, TheControllersVariables) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_HOST", "10.1.3.101"},
                                  {"IPUOF_VIPU_API_PARTITION_ID", "p0"},
                                  {"IPUOF_VIPU_API_TIMEOUT", "300"},
                                  {"HOME", "/root"},
                                  {"UNRELATED", "x"}});
  EXPECT_EQ(line(caller, kHostNetwork),
            expected("--device=/dev/infiniband/ -e IPUOF_VIPU_API_HOST=10.1.3.101 -e "
                     "IPUOF_VIPU_API_PARTITION_ID=p0 -e IPUOF_VIPU_API_TIMEOUT=300"));
  EXPECT_EQ(notes(caller, kHostNetwork), "");
}

TEST(HostNetworkTest, AnExplicitVariableWins) {
  const Caller caller =
      pod_host({{"IPUOF_VIPU_API_HOST", "10.1.3.101"}, {"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  EXPECT_EQ(line(caller, {"--host-network", "--", "-e", "IPUOF_VIPU_API_PARTITION_ID=p1", "image"}),
            base::str(kStart,
                      "--device=/dev/infiniband/ -e IPUOF_VIPU_API_HOST=10.1.3.101 -e "
                      "IPUOF_VIPU_API_PARTITION_ID=p1 image"));
}

TEST(HostNetworkTest, AFileIsMountedAndNamed) {
  Caller caller =
      pod_host({{"IPUOF_CONFIG_PATH", "/data/p0.conf"}, {"IPUOF_VIPU_API_PARTITION_ID", "p1"}});
  add_file(caller, "/data/p0.conf");
  EXPECT_EQ(line(caller, kHostNetwork),
            expected("--device=/dev/infiniband/ -v /data/p0.conf:/etc/ipuof.conf.d/p0.conf:ro -e "
                     "IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/p0.conf"));
}

TEST(HostNetworkTest, ADirectoryIsMountedWithAllItsFiles) {
  Caller caller = pod_host({{"HOME", "/root"}});
  caller.infiniband = false;
  add_directory(caller, "/root/.ipuof.conf.d", {"a.conf", "b.conf"});
  EXPECT_EQ(line(caller, kHostNetwork), expected("-v /root/.ipuof.conf.d:/etc/ipuof.conf.d"));
  EXPECT_EQ(line(caller, {"--host-network", "--", "-v", "/root/.ipuof.conf.d:/x", "image"}),
            base::str(kStart,
                      "-v /root/.ipuof.conf.d:/etc/ipuof.conf.d -v /root/.ipuof.conf.d:/x image"));
}

TEST(HostNetworkTest, AMountOfTheUsersIsEnough) {
  Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  caller.infiniband = false;
  add_directory(caller, "/data", {"p1.conf"});
  EXPECT_EQ(line(caller, {"--host-network", "--", "-v", "/data:/etc/ipuof.conf.d", "image"}),
            base::str(kStart, "-v /data:/etc/ipuof.conf.d image"));
}

TEST(HostNetworkTest, NetworkAndIpcAreNotGivenTwice) {
  const Caller caller = pod_host({{"IPUOF_VIPU_API_PARTITION_ID", "p0"}});
  const std::string command =
      line(caller, {"--host-network", "--", "--net=host", "--ipc=private", "image"});
  EXPECT_THAT(command, Not(HasSubstr("--net=host --cap-add")));
  EXPECT_THAT(command, Not(HasSubstr("--ipc=host")));
  EXPECT_THAT(command, HasSubstr("--net=host --ipc=private image"));
}

TEST(HostNetworkTest, Cards) {
  EXPECT_EQ(line(cards_host(2), {"--host-network", "--device-id", "1", "--", "-it", "image"}),
            expected("--device=/dev/ipu1:/dev/ipu1 --device=/dev/ipu1_ex:/dev/ipu1_ex "
                     "--device=/dev/ipu1_mem:/dev/ipu1_mem"));
  const std::string both = line(cards_host(2), kHostNetwork);
  EXPECT_THAT(both, HasSubstr("--device=/dev/ipu0:/dev/ipu0 "));
  EXPECT_THAT(both, HasSubstr("--device=/dev/ipu1:/dev/ipu1 "));
  EXPECT_EQ(line(cards_host(2), {"--host-network", "--device-id=2", "--", "-it", "image"}), both);
}

TEST(HostNetworkTest, NothingToGiveIsRefused) {
  EXPECT_THAT(refusal(pod_host(), kHostNetwork), HasSubstr("no IPUs are selected"));
  EXPECT_THAT(refusal(Caller(), kHostNetwork), HasSubstr("no IPUs are selected"));
}

}  // namespace
}  // namespace front
