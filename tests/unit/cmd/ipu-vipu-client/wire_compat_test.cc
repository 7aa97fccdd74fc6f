// SPDX-License-Identifier: Apache-2.0
// What ipu-vipu-client really sends and understands, against the field tables of the V-IPU API:
// requests are taken as bytes from the wire and decoded by protoc, which knows no message of ours;
// answers are bytes that are put together here by field number.
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/unit/cmd/ipu-vipu-client/raw_server.h"
#include "vipu/process_controller.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr const char* kProtoc = "/usr/bin/protoc";

// BYTES as protoc shows a message that it does not know: numbers and values.
std::string decoded(const std::string& bytes) {
  base::Command command;
  command.path = kProtoc;
  command.args = {"protoc", "--decode_raw"};
  command.input = bytes;
  command.max_output = size_t{1} << 20;
  const auto output = base::run(command, Deadline::after(milliseconds(10'000)));
  if (!output.ok()) return output.error().message();
  return output.value().exit_status == 0 ? output.value().out : "(not a message)";
}

// A field of an answer, by its number. Lengths and values go up to 2^28.
std::string varint(uint32_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string field(uint32_t number, uint32_t value) { return varint(number << 3) + varint(value); }
std::string field(uint32_t number, const std::string& bytes) {
  return varint(number << 3 | 2) + varint(static_cast<uint32_t>(bytes.size())) + bytes;
}
std::string entry(const std::string& key, const std::string& value) {
  return field(1, key) + field(2, value);
}

class WireCompatTest : public testing::Test {
 protected:
  static constexpr const char* kCreate = "/virmgrpc.UserService/CreatePartition";
  static constexpr const char* kList = "/virmgrpc.UserService/ListPartitions";
  static constexpr const char* kStatus = "/virmgrpc.UserService/GetPartitionStatus";
  static constexpr const char* kConfig = "/virmgrpc.UserService/GetPartitionIpuofConfig";
  static constexpr const char* kReset = "/virmgrpc.UserService/ResetPartition";
  static constexpr const char* kRemove = "/virmgrpc.UserService/RemovePartition";
  static constexpr const char* kAttributes = "/virmgrpc.UserService/ListIPUAttributes";
  static constexpr const char* kVersion = "/virmgrpc.VersionService/GetVersion";

  void SetUp() override {
    const bool is_there = ::access(kProtoc, X_OK) == 0;
    if (!is_there && test::tests_must_run()) FAIL() << kProtoc << " is absent";
    if (!is_there) GTEST_SKIP() << kProtoc << " is absent";
  }
  Controller& controller() { return *controller_; }
  std::string request(const char* path) { return decoded(server_.request(path)); }
  static Deadline soon() { return Deadline::after(milliseconds(10'000)); }

  test::RawServer server_;

 private:
  std::unique_ptr<Controller> controller_ =
      make_process_controller({PROGRAM_DIR "/ipu-vipu-client", {server_.address()}});
};

TEST_F(WireCompatTest, CreatePartition) {
  server_.answer(kList, "");  // the name is free
  server_.answer(kCreate, field(1, "t0"));
  const PartitionRequest everything{.id = "t0",
                                    .size = 300,
                                    .reconfigurable = true,
                                    .allocation = "alloc-1",
                                    .cluster = "clus-1",
                                    .link_routing = LinkRouting::kRingSwnc,
                                    .gateway_routing = GatewayRouting::kSwRing,
                                    .sync = SyncType::kPodNativeReplicatedPipeline,
                                    .segments = 2,
                                    .gcds = 5,
                                    .replicas = 6,
                                    .ipus = {{{11, 12}, 13, 14}, {{0, 21}, 0, 22}},
                                    .disable_auto_reset = true,
                                    .relocatable = true};
  ASSERT_TRUE(test::succeeds(controller().submit(everything, soon())));
  // CreatePartitionRequest 2, 3, 5; PartitionRequirements 1 to 12; PartitionIpu 1 to 4.
  EXPECT_EQ(request(kCreate), R"(2 {
  1: "t0"
  2: 300
  3: "clus-1"
  4: 4
  5: 2
  6: 3
  7: 4
  8: 5
  9: 1
  10: 6
  11: "alloc-1"
  12 {
    1: 11
    2: 13
    3: 12
    4: 14
  }
  12 {
    3: 21
    4: 22
  }
}
3: 1
5: 1
)");
}

TEST_F(WireCompatTest, CreatePartitionLeavesOutWhatIsLeftToTheController) {
  server_.answer(kList, "");
  server_.answer(kCreate, field(1, "t0"));
  ASSERT_TRUE(test::succeeds(controller().submit({.id = "t0", .size = 4}, soon())));
  EXPECT_EQ(request(kCreate), "2 {\n  1: \"t0\"\n  2: 4\n}\n");
}

TEST_F(WireCompatTest, EachEnumeratorHasItsNumber) {
  server_.answer(kList, "");
  server_.answer(kCreate, field(1, "t0"));
  const auto submitted = [&](const PartitionRequest& wanted) {
    EXPECT_TRUE(test::succeeds(controller().submit(wanted, soon())));
    return request(kCreate);
  };
  const auto expected = [](int number, int value) {
    return str("2 {\n  1: \"t0\"\n  ", number, ": ", value, "\n}\n");
  };
  const std::pair<LinkRouting, int> links[] = {
      {LinkRouting::kDnc, 1}, {LinkRouting::kSwnc, 2}, {LinkRouting::kBtnc, 3}};
  for (const auto& [value, number] : links) {
    EXPECT_EQ(submitted({.id = "t0", .link_routing = value}), expected(4, number));
  }
  EXPECT_EQ(submitted({.id = "t0", .gateway_routing = GatewayRouting::kRing}), expected(6, 2));
  const std::pair<SyncType, int> syncs[] = {{SyncType::kGs2Default, 1},
                                            {SyncType::kGs2IndependentRails, 2},
                                            {SyncType::kPodNativeDefault, 3}};
  for (const auto& [value, number] : syncs) {
    EXPECT_EQ(submitted({.id = "t0", .sync = value}), expected(7, number));
  }
}

TEST_F(WireCompatTest, ListPartitions) {
  const std::string ipu = field(1, 1) + field(2, 2) + field(3, 3) + field(4, 4);
  const std::string spec = field(1, "clus-1") + field(2, ipu) + field(2, ipu) + field(3, 4) +
                           field(4, 3) + field(5, 2) + field(6, 7) + field(7, 1) + field(8, 3) +
                           field(9, 300) + field(10, "alloc-1") + field(99, "of a later protocol");
  server_.answer(kList, field(1, field(1, "t0") + field(2, spec) + field(3, 2) + field(4, "v")) +
                            field(1, field(1, "t1") + field(3, 4)));
  const auto list = controller().list(soon());
  ASSERT_TRUE(test::succeeds(list));
  ASSERT_EQ(list.value().size(), 2U);
  const Partition expected{"t0",
                           "clus-1",
                           "alloc-1",
                           {{1, 3}, {1, 3}},
                           2,
                           300,
                           7,
                           true,
                           ReadyState::kActive,
                           LinkRouting::kRingSwnc,
                           GatewayRouting::kSwRing,
                           SyncType::kPodNativeDefault};
  EXPECT_EQ(list.value()[0], expected);
  EXPECT_EQ(list.value()[1].ready, ReadyState::kError);
  EXPECT_EQ(request(kList), "");
}

TEST_F(WireCompatTest, GetPartitionStatus) {
  const std::string time = field(1, 1'600'000'000 >> 4) + field(2, 8);
  server_.answer(kStatus,
                 field(1, field(1, "t0") + field(2, 4) + field(3, 5) + field(4, "e1") +
                              field(4, "e2") + field(5, 3) + field(6, 2) + field(7, time)));
  const auto status = controller().status("t0", soon());
  ASSERT_TRUE(test::succeeds(status));
  const PartitionStatus expected{ReadyState::kError, OperationState::kFailed, {"e1", "e2"}, 2, 3,
                                 1'600'000'000 >> 4};
  EXPECT_EQ(status.value(), expected);
  EXPECT_EQ(request(kStatus), "1: \"t0\"\n");
}

TEST_F(WireCompatTest, EachStateHasItsNumber) {
  const ReadyState ready[] = {ReadyState::kUndefined, ReadyState::kPending, ReadyState::kActive,
                              ReadyState::kRemoved, ReadyState::kError};
  const OperationState operation[] = {OperationState::kUndefined, OperationState::kIdle,
                                      OperationState::kCreating,  OperationState::kRemoving,
                                      OperationState::kResetting, OperationState::kFailed};
  for (uint32_t number = 0; number <= 6; ++number) {
    server_.answer(kStatus, field(1, field(1, "t0") + field(2, number) + field(3, number)));
    const auto status = controller().status("t0", soon());
    ASSERT_TRUE(test::succeeds(status));
    EXPECT_EQ(request(kStatus), "1: \"t0\"\n");
    EXPECT_EQ(status.value().ready, number < 5 ? ready[number] : ReadyState::kUndefined);
    EXPECT_EQ(status.value().operation,
              number < 6 ? operation[number] : OperationState::kUndefined);
  }
}

TEST_F(WireCompatTest, GetPartitionIpuofConfig) {
  const std::string device = field(1, "10.5.1.3") + field(2, 50052) + field(3, 50152) +
                             field(4, 3) + field(5, 24) + field(6, 25) + field(7, 26) +
                             field(8, 27) + field(9, "chip") + field(10, "gw") + field(11, "ipum");
  const std::string gcd = field(2, device) + field(3, entry("GCD Id", "0"));
  server_.answer(kConfig, field(1, field(2, 1) + field(3, 1) + field(5, 1) + field(6, 2) +
                                       field(7, 1) + field(8, gcd) + field(9, "v")));
  const auto grant = controller().config("t0", 0, soon());
  ASSERT_TRUE(test::succeeds(grant));
  const IpuofConfig expected{{{"10.5.1.3", 50052, 50152, 3, 24, 25, 26, 27, "chip", "gw", "ipum"}},
                             {{"GCD Id", "0"}}};
  EXPECT_EQ(grant.value().gcds, std::vector<IpuofConfig>{expected});
  // GCD 0 is a message that is there and empty; no GCD is none.
  EXPECT_EQ(request(kConfig), "1: \"t0\"\n2: \"\"\n");
  ASSERT_TRUE(test::succeeds(controller().config("t0", 300, soon())));
  EXPECT_EQ(request(kConfig), "1: \"t0\"\n2 {\n  1: 300\n}\n");
  ASSERT_TRUE(test::succeeds(controller().config("t0", std::nullopt, soon())));
  EXPECT_EQ(request(kConfig), "1: \"t0\"\n");
}

TEST_F(WireCompatTest, ResetPartition) {
  server_.answer(kReset, "");
  server_.answer(kStatus, field(1, field(2, 2) + field(3, 1)));
  ASSERT_TRUE(test::succeeds(controller().reset("t0", Relocate::kNo, soon())));
  EXPECT_EQ(request(kReset), "1: \"t0\"\n");
  ASSERT_TRUE(test::succeeds(controller().reset("t0", Relocate::kYes, soon())));
  EXPECT_EQ(request(kReset), "1: \"t0\"\n2: 1\n");
}

TEST_F(WireCompatTest, RemovePartition) {
  server_.answer(kRemove, "");
  server_.answer(kList, "");
  ASSERT_TRUE(test::succeeds(controller().remove("t0", Force::kNo, soon())));
  EXPECT_EQ(request(kRemove), "1: \"t0\"\n");
}

TEST_F(WireCompatTest, ListIpuAttributes) {
  const std::string attributes = field(1, entry("clock", "1330MHz"));
  server_.answer(kAttributes,
                 field(1, field(1, "ag0") + field(2, field(1, 3) + field(2, attributes))));
  const auto ipus = controller().attributes({"ag0", "ag1"}, soon());
  ASSERT_TRUE(test::succeeds(ipus));
  const std::vector<IpuAttributes> expected = {{"ag0", 3, {{"clock", "1330MHz"}}}};
  EXPECT_EQ(ipus.value(), expected);
  EXPECT_EQ(request(kAttributes), "1: \"ag0\"\n1: \"ag1\"\n");
}

TEST_F(WireCompatTest, GetVersion) {
  server_.answer(kVersion, field(1, "1.18.0"));
  EXPECT_EQ(controller().version(soon()).take(), "1.18.0");
  EXPECT_EQ(request(kVersion), "");
}

TEST_F(WireCompatTest, BytesThatAreNoMessageAreAnError) {
  for (const std::string& garbage :
       {std::string("\x0a\x7f"), std::string("\xff\xff\xff"), std::string(1000, '\x0f')}) {
    server_.answer(kVersion, garbage);
    EXPECT_TRUE(test::fails(controller().version(soon()), base::Code::kInternal,
                            "its answer cannot be parsed (INTERNAL"));
  }
}

TEST_F(WireCompatTest, AnAnswerThatIsTooLongIsNotALackOfCapacity) {
  server_.answer(kVersion, field(1, std::string(size_t{5} << 20, 'x')));
  EXPECT_TRUE(test::fails(controller().version(soon()), base::Code::kInternal,
                          "its answer is too long (INTERNAL"));
}

}  // namespace
}  // namespace vipu
