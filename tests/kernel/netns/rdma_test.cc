// SPDX-License-Identifier: Apache-2.0
// RDMA where the kernel of the test machine has none, or where it has: `make check-rdma` has more.
#include "netns/rdma.h"

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "tests/kernel/netns/wire.h"
#include "tests/support/outcome.h"

namespace netns {
namespace {

using base::Code;

class RdmaTest : public Wire {
 protected:
  static bool kernel_has_rdma() {
    return base::Fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA)).valid();
  }
};

TEST_F(RdmaTest, HasAModeWhereTheKernelHasRdma) {
  EXPECT_EQ(take(rdma_mode(here())).has_value(), kernel_has_rdma());
}

TEST_F(RdmaTest, HasNoDevicesInANewNamespaceOrNoInterfaceOfThem) {
  for (const RdmaPort& port : take(rdma_ports(here()))) EXPECT_EQ(port.interface, "");
}

TEST_F(RdmaTest, DoesNotMoveADeviceThatIsNotThere) {
  EXPECT_TRUE(test::fails(move_rdma_device(here(), "mlx5_9", there()), Code::kNotFound,
                          "no RDMA device 'mlx5_9'"));
}

}  // namespace
}  // namespace netns
