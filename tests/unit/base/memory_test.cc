// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "gtest/gtest.h"

// Sanitizers have a malloc() of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

constexpr size_t kHeap = 1 << 20;
constexpr size_t kUsed = kHeap / 2;  // in bytes; 128 pages of 4 KiB

long faults() {
  rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

long faults_of_use() {
  const long before = faults();
  void* const memory = std::malloc(kUsed);
  if (memory == nullptr) return 1000;
  std::memset(memory, 1, kUsed);
  const long after = faults();
  std::free(memory);
  return after - before;
}

// In a child, so that the tests' own heap stays as it is.
TEST(MapMemoryTest, HasTheKernelMapTheHeapAhead) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    base::map_memory(kHeap);
    const long taken = faults_of_use();
    ::_exit(taken < 20 ? 0 : static_cast<int>(std::min(taken, 200L)));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "page faults";
}

}  // namespace
#endif
