// SPDX-License-Identifier: Apache-2.0
// Requests to the RDMA netlink interface and its replies against bytes, for a little-endian host.
#include "netns/internal/rdma_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>

#include <cstring>

namespace netns::internal {
namespace {

using testing::ElementsAreArray;
using Bytes = std::vector<uint8_t>;

// A netlink message as the kernel would send it: BODY is its attributes.
class Reply {
 public:
  explicit Reply(const Bytes& body) : words_((sizeof(nlmsghdr) + body.size() + 3) / 4) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<uint32_t>(sizeof header + body.size());
    header.nlmsg_type = 0x1406;
    std::memcpy(words_.data(), &header, sizeof header);
    if (!body.empty()) std::memcpy(words_.data() + sizeof header / 4, body.data(), body.size());
  }
  [[nodiscard]] const nlmsghdr& message() const {
    const void* const start = words_.data();
    return *static_cast<const nlmsghdr*>(start);
  }

 private:
  std::vector<uint32_t> words_;  // aligned as netlink is
};

Bytes attributes_of(const nl::Message& message) {
  const void* const start = message.raw();
  const auto* const bytes = static_cast<const uint8_t*>(start);
  return {bytes + sizeof(nlmsghdr), bytes + message.raw()->nlmsg_len};
}

// Types are (RDMA_NL_NLDEV << 10) + command: 5 << 10 = 0x1400.
TEST(RdmaMessages, AskForTheMode) {
  const nl::Message request = rdma_mode_request();
  EXPECT_EQ(request.raw()->nlmsg_type, 0x1406);
  EXPECT_EQ(request.raw()->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  EXPECT_TRUE(attributes_of(request).empty());
}

TEST(RdmaMessages, KnowTheMode) {
  // RDMA_NLDEV_SYS_ATTR_NETNS_MODE is 66.
  EXPECT_EQ(parse_rdma_mode(Reply({5, 0, 66, 0, 1, 0, 0, 0}).message()), RdmaMode::kShared);
  EXPECT_EQ(parse_rdma_mode(Reply({5, 0, 66, 0, 0, 0, 0, 0}).message()), RdmaMode::kExclusive);
  EXPECT_EQ(parse_rdma_mode(Reply({}).message()), std::nullopt);
  // With an attribute that is newer than this program, and RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK.
  EXPECT_EQ(parse_rdma_mode(
                Reply({5, 0, 200, 0, 7, 0, 0, 0, 5, 0, 66, 0, 0, 0, 0, 0, 5, 0, 93, 0, 1, 0, 0, 0})
                    .message()),
            RdmaMode::kExclusive);
}

TEST(RdmaMessages, AskForAllDevices) {
  const nl::Message request = rdma_devices_request();
  EXPECT_EQ(request.raw()->nlmsg_type, 0x1401);
  EXPECT_EQ(request.raw()->nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
}

const Bytes kIndex{8, 0, 1, 0, 3, 0, 0, 0};                              // DEV_INDEX 3
const Bytes kName{11, 0, 2, 0, 'm', 'l', 'x', '5', '_', '0', 0, 0};      // DEV_NAME
const Bytes kPort{8, 0, 3, 0, 2, 0, 0, 0};                               // PORT_INDEX 2
const Bytes kInterface{10, 0, 51, 0, 'r', 'n', 'i', 'c', '0', 0, 0, 0};  // NDEV_NAME

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(RdmaMessages, KnowADevice) {
  EXPECT_EQ(parse_rdma_device(Reply(kIndex + kName + kPort).message()),
            (RdmaDeviceName{3, "mlx5_0"}));
  EXPECT_EQ(parse_rdma_device(Reply(kIndex).message()), std::nullopt);
  EXPECT_EQ(parse_rdma_device(Reply(kName).message()), std::nullopt);
}

TEST(RdmaMessages, AskForThePortsOfADevice) {
  const nl::Message request = rdma_ports_request({3, "mlx5_0"});
  EXPECT_EQ(request.raw()->nlmsg_type, 0x1405);
  EXPECT_EQ(request.raw()->nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
  EXPECT_THAT(attributes_of(request), ElementsAreArray(kIndex));
}

TEST(RdmaMessages, KnowAPort) {
  const auto port = parse_rdma_port(Reply(kIndex + kName + kPort + kInterface).message());
  ASSERT_TRUE(port.has_value());
  EXPECT_EQ(port->device, "mlx5_0");
  EXPECT_EQ(port->port, 2U);
  EXPECT_EQ(port->interface, "rnic0");
  EXPECT_EQ(parse_rdma_port(Reply(kIndex + kName + kPort).message())->interface, "");
  EXPECT_FALSE(parse_rdma_port(Reply(kIndex + kName).message()).has_value());
  EXPECT_FALSE(parse_rdma_port(Reply({8, 0, 3}).message()).has_value());
}

TEST(RdmaMessages, AskToMoveADevice) {
  const nl::Message request = rdma_move_request({3, "mlx5_0"}, 9);
  EXPECT_EQ(request.raw()->nlmsg_type, 0x1402);
  EXPECT_EQ(request.raw()->nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK);
  // RDMA_NLDEV_NET_NS_FD is 68.
  EXPECT_THAT(attributes_of(request), ElementsAreArray(kIndex + Bytes{8, 0, 68, 0, 9, 0, 0, 0}));
  EXPECT_EQ(request.what(), "move RDMA device 'mlx5_0' to another network namespace");
}

}  // namespace
}  // namespace netns::internal
