// SPDX-License-Identifier: Apache-2.0
// Device rules of cgroups that the test makes, for a process of the test in them.
#include "hook/container/device/device_rules.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "base/fs.h"
#include "base/scope.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace hook {
namespace {

using base::str;

const oci::DeviceNode kNull{"/dev/null", 1, 3};
const oci::DeviceNode kZero{"/dev/zero", 1, 5};
const oci::DeviceNode kFull{"/dev/full", 1, 7};

// A program as engines attach it: nothing is allowed.
base::Fd deny_everything() {
  bpf_insn code[2] = {};
  code[0].code = BPF_ALU | BPF_MOV | BPF_K;
  code[1].code = BPF_JMP | BPF_EXIT;
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  attr.insn_cnt = 2;
  attr.insns = reinterpret_cast<uintptr_t>(code);
  attr.license = reinterpret_cast<uintptr_t>("Apache-2.0");
  return base::Fd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr)));
}

long attach(int cgroup, int program, uint32_t flags) {
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.target_fd = static_cast<uint32_t>(cgroup);
  attr.attach_bpf_fd = static_cast<uint32_t>(program);
  attr.attach_type = BPF_CGROUP_DEVICE;
  attr.attach_flags = flags;
  return ::syscall(SYS_bpf, BPF_PROG_ATTACH, &attr, sizeof attr);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

class DeviceRulesTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }
  void TearDown() override {
    end();
    if (!cgroup_.empty()) {
      EXPECT_EQ(::rmdir(cgroup_.c_str()), 0) << cgroup_;
    }
  }

  // A cgroup of the test below HIERARCHY, with a process in it.
  void enter(const std::string& hierarchy) {
    cgroup_ = str(hierarchy, "/ipu-device-rules-", ::getpid());
    ASSERT_EQ(::mkdir(cgroup_.c_str(), 0755), 0) << cgroup_;
    directory_ = base::open_at(AT_FDCWD, cgroup_, O_RDONLY | O_DIRECTORY).take();
    pid_ = ::fork();
    if (pid_ == 0) {
      for (;;) ::pause();
    }
    const base::Fd procs = base::open_at(directory_.get(), "cgroup.procs", O_WRONLY).take();
    ASSERT_TRUE(test::succeeds(base::write_all(procs.get(), std::to_string(pid_), "procs")));
  }
  void end() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // What opening DEVICE says to a process of the cgroup: 0 or an errno.
  int open_in_cgroup(const oci::DeviceNode& device, int flags = O_RDWR) {
    const pid_t child = ::fork();
    if (child == 0) {
      const base::Fd procs = base::open_at(directory_.get(), "cgroup.procs", O_WRONLY).take();
      if (!base::write_all(procs.get(), std::to_string(::getpid()), "procs").ok()) ::_exit(255);
      ::_exit(::open(device.path.c_str(), flags) >= 0 ? 0 : errno);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WEXITSTATUS(status);
  }
  base::Status allow(const std::vector<oci::DeviceNode>& devices) {
    return device::DeviceCgroups::of(pid_, "/sys/fs/cgroup").take().allow(devices);
  }

  std::string cgroup_;
  base::Fd directory_;
  pid_t pid_ = -1;
};

TEST_F(DeviceRulesTest, OfTheFirstVersionAreAddedTo) {
  // Where there is only the second version, the tests below are all.
  if (!exists("/sys/fs/cgroup/devices")) return;
  enter("/sys/fs/cgroup/devices");
  const base::Fd deny = base::open_at(directory_.get(), "devices.deny", O_WRONLY).take();
  ASSERT_TRUE(test::succeeds(base::write_all(deny.get(), "a", "devices.deny")));
  ASSERT_EQ(open_in_cgroup(kNull), EPERM);
  ASSERT_TRUE(test::succeeds(allow({kNull, kFull})));
  EXPECT_EQ(open_in_cgroup(kNull), 0);
  EXPECT_EQ(open_in_cgroup(kFull), 0);
  EXPECT_EQ(open_in_cgroup(kZero), EPERM);
}

class DeviceProgramsTest : public DeviceRulesTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(DeviceProgramsTest, OfTheSecondVersionAreAddedTo) {
  const bool is_hybrid = exists("/sys/fs/cgroup/unified/cgroup.procs");
  enter(is_hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup");
  const base::Fd program = deny_everything();
  ASSERT_TRUE(program.valid());
  ASSERT_EQ(attach(directory_.get(), program.get(), GetParam()), 0);
  ASSERT_EQ(open_in_cgroup(kNull), EPERM);
  ASSERT_TRUE(test::succeeds(allow({kNull, kFull})));
  EXPECT_EQ(open_in_cgroup(kNull), 0);
  EXPECT_EQ(open_in_cgroup(kFull, O_RDONLY), 0);
  EXPECT_EQ(open_in_cgroup(kZero), EPERM);
  EXPECT_EQ(open_in_cgroup({"/dev/random", 1, 8}), EPERM);
  // Once more, to what it became.
  ASSERT_TRUE(test::succeeds(allow({kZero})));
  EXPECT_EQ(open_in_cgroup(kZero), 0);
  EXPECT_EQ(open_in_cgroup(kNull), 0);
}

INSTANTIATE_TEST_SUITE_P(Flags, DeviceProgramsTest,
                         testing::Values(BPF_F_ALLOW_MULTI, BPF_F_ALLOW_OVERRIDE, 0U));

TEST_F(DeviceRulesTest, OfSeveralProgramsAreAddedToEach) {
  const bool is_hybrid = exists("/sys/fs/cgroup/unified/cgroup.procs");
  enter(is_hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup");
  const base::Fd first = deny_everything();
  const base::Fd second = deny_everything();
  ASSERT_EQ(attach(directory_.get(), first.get(), BPF_F_ALLOW_MULTI), 0);
  ASSERT_EQ(attach(directory_.get(), second.get(), BPF_F_ALLOW_MULTI), 0);
  ASSERT_TRUE(test::succeeds(allow({kNull})));
  EXPECT_EQ(open_in_cgroup(kNull), 0);
  EXPECT_EQ(open_in_cgroup(kZero), EPERM);
}

// As crun has it under systemd: the program is the scope's, the process below it.
TEST_F(DeviceRulesTest, OfASystemdScopeAreAddedTo) {
  const bool is_hybrid = exists("/sys/fs/cgroup/unified/cgroup.procs");
  const std::string scope = str(is_hybrid ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup",
                                "/ipu-device-rules-", ::getpid(), ".scope");
  ASSERT_EQ(::mkdir(scope.c_str(), 0755), 0);
  const base::ScopeExit remove([&] {
    end();
    (void)::rmdir(cgroup_.c_str());
    cgroup_.clear();
    EXPECT_EQ(::rmdir(scope.c_str()), 0);
  });
  enter(scope);
  const base::Fd directory = base::open_at(AT_FDCWD, scope, O_RDONLY | O_DIRECTORY).take();
  const base::Fd program = deny_everything();
  ASSERT_EQ(attach(directory.get(), program.get(), BPF_F_ALLOW_MULTI), 0);
  ASSERT_EQ(open_in_cgroup(kNull), EPERM);
  ASSERT_TRUE(test::succeeds(allow({kNull})));
  EXPECT_EQ(open_in_cgroup(kNull), 0);
  EXPECT_EQ(open_in_cgroup(kZero), EPERM);
}

TEST_F(DeviceRulesTest, OfNobodyAreLeftAsTheyAre) {
  const base::Result<device::DeviceCgroups> ours =
      device::DeviceCgroups::of(::getpid(), "/nowhere");
  ASSERT_TRUE(test::succeeds(ours));
  EXPECT_TRUE(test::succeeds(ours.value().allow({kNull})));
}

}  // namespace
}  // namespace hook
