// SPDX-License-Identifier: Apache-2.0
// Preconditions of tests. A missing one skips the test, or fails it with TESTS_MUST_RUN=1.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace test {

inline bool tests_must_run() {
  const char* const value = std::getenv("TESTS_MUST_RUN");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace test

// For a test body or SetUp().
#define REQUIRES_ROOT()                                                 \
  do {                                                                  \
    if (geteuid() != 0 && test::tests_must_run()) FAIL() << "not root"; \
    if (geteuid() != 0) GTEST_SKIP() << "not root";                     \
  } while (false)
