// SPDX-License-Identifier: Apache-2.0
// ipu-vipu-client and ipu-fleet-client confine themselves before they read their request.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string_view>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/unit/confine/child.h"

namespace test {
namespace {

using std::chrono::milliseconds;

bool has_filter(pid_t pid) {
  const base::Result<std::string> text =
      base::read_file(base::str("/proc/", pid, "/status"), 65536);
  return text.ok() && text.value().find("\nSeccomp:\t2\n") != std::string::npos;
}

class ClientTest : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Programs, ClientTest,
                         testing::Values(PROGRAM_DIR "/ipu-vipu-client",
                                         PROGRAM_DIR "/ipu-vipu-client-plain",
                                         PROGRAM_DIR "/ipu-fleet-client"));

TEST_P(ClientTest, IsConfinedWhileItWaitsForItsRequest) {
  int input[2];
  ASSERT_EQ(::pipe2(input, O_CLOEXEC), 0);
  base::Fd theirs(input[0]);
  base::Fd ours(input[1]);
  const pid_t pid = start_child([&] {
    (void)::alarm(30);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (::dup2(theirs.get(), 0) < 0 || ::dup2(null, 1) < 0) return 126;
    const bool is_fleet = std::string_view(GetParam()).ends_with("/ipu-fleet-client");
    (void)::execl(GetParam(), "client", is_fleet ? nullptr : "ask", nullptr);
    return 127;
  });
  theirs.reset();
  const auto patience = base::Deadline::after(milliseconds(20'000));
  while (!has_filter(pid) && !patience.passed()) base::sleep_for(milliseconds(1), patience);
  EXPECT_TRUE(has_filter(pid));
  ours.reset();
  EXPECT_EQ(wait_for(pid), (Ending{0, 0}));
}

}  // namespace
}  // namespace test
