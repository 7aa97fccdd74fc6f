// SPDX-License-Identifier: Apache-2.0
// A client that is absent, crashes, or says what it should not.
#include "vipu/process_controller.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "tests/support/outcome.h"

namespace vipu {
namespace {

using base::Code;
using base::Deadline;
using std::chrono::milliseconds;

class ProcessControllerTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/process-controller-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { (void)base::remove_flat_dir(directory_); }

  // A controller whose client is this shell script.
  std::unique_ptr<Controller> with_client(const std::string& script) {
    const std::string path = directory_ + "/client";
    const base::FileAttributes executable{0755, std::nullopt, std::nullopt};
    EXPECT_TRUE(
        test::succeeds(base::write_atomic(path, "#!/bin/sh\n" + script + "\n", executable)));
    return make_process_controller({path, "10.1.3.101:8090", std::nullopt});
  }

  base::Result<std::vector<Partition>> list(const std::string& script,
                                            milliseconds time = milliseconds(10'000)) {
    return with_client(script)->list(Deadline::after(time));
  }

  std::string directory_;
};

TEST_F(ProcessControllerTest, GivesTheReplyOfTheClient) {
  const auto version = with_client(R"(cat >/dev/null; echo '{"ok":"1.18.0"}')")
                           ->version(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_EQ(version.value(), "1.18.0");
}

TEST_F(ProcessControllerTest, ErrorsNameTheControllerTheCallAndThePartition) {
  const auto status = with_client(R"(echo '{"error":{"code":"busy","message":"no capacity"}}')")
                          ->status("p0", Deadline::after(milliseconds(10'000)));
  EXPECT_TRUE(test::fails(status, Code::kBusy,
                          "V-IPU controller 10.1.3.101:8090: status 'p0': no capacity"));
}

TEST_F(ProcessControllerTest, TheClientHasLessTimeThanItsCaller) {
  const auto version = with_client(R"(sed 's/.*"timeout_ms":\([0-9]*\).*/{"ok":"\1"}/')")
                           ->version(Deadline::after(milliseconds(10'000)));
  ASSERT_TRUE(test::succeeds(version));
  EXPECT_LE(std::stoi(version.value()), 9750);
  EXPECT_GT(std::stoi(version.value()), 5000);
}

TEST_F(ProcessControllerTest, AnAbsentClientIsNotAnAbsentPartition) {
  const auto controller =
      make_process_controller({directory_ + "/none", "10.1.3.101:8090", std::nullopt});
  EXPECT_TRUE(test::fails(controller->status("p0", Deadline::after(milliseconds(10'000))),
                          Code::kInternal, "/none'"));
}

TEST_F(ProcessControllerTest, ACrashIsNamed) {
  EXPECT_TRUE(test::fails(list("kill -SEGV $$"), Code::kInternal, "signal 11"));
  EXPECT_TRUE(test::fails(list("exit 3"), Code::kInternal, "exit status 3"));
  EXPECT_TRUE(test::fails(list(R"(echo '{"ok":[]}'; exit 3)"), Code::kInternal, "exit status 3"));
}

TEST_F(ProcessControllerTest, GarbageIsRefused) {
  EXPECT_TRUE(test::fails(list("exit 0"), Code::kInternal, "malformed"));
  EXPECT_TRUE(test::fails(list("echo hello"), Code::kInternal, "malformed"));
  EXPECT_TRUE(test::fails(list(R"(echo '{"ok":7}')"), Code::kInternal, "malformed"));
}

TEST_F(ProcessControllerTest, AGrantOfAnotherSizeIsRefused) {
  const auto controller = with_client(
      R"(cat <<'END'
{"ok":{"controller_address":"","gcds":[{"attributes":{},"devices":[{"ip":"10.5.1.1",
"server_port":50052,"rdma_port":50152,"device_id":0,"ipulink_segment_id":0,"routing_id":0,
"ipu_arch_id":2,"ipu_id":0,"chip_id":"","gwsw_version":"","ipum_sw_version":""}]}]}}
END)");
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  EXPECT_TRUE(test::succeeds(controller->create({"p0", 1, false, ""}, deadline)));
  EXPECT_TRUE(test::fails(controller->create({"p0", 2, false, ""}, deadline), Code::kInternal,
                          "create 'p0': it was given 1 devices for 2 IPUs"));
}

TEST_F(ProcessControllerTest, MoreThanAReplyCanBeIsRefused) {
  EXPECT_TRUE(test::fails(list("head -c 5000000 /dev/zero"), Code::kInternal, "more than 4194304"));
}

TEST_F(ProcessControllerTest, AClientThatHangsEndsAtTheDeadline) {
  EXPECT_TRUE(test::fails(list("exec sleep 60", milliseconds(100)), Code::kTimeout));
  EXPECT_TRUE(test::fails(list("exit 0", milliseconds(0)), Code::kTimeout, "no time left"));
}

}  // namespace
}  // namespace vipu
