// SPDX-License-Identifier: Apache-2.0
// Assertions on Result and Status that show the error: ASSERT_TRUE(test::succeeds(result)).
#pragma once

#include <gtest/gtest.h>

#include "base/result.h"

namespace test {

template <typename T>
testing::AssertionResult succeeds(const base::Result<T>& result) {
  if (result.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "failed with code " << static_cast<int>(result.error().code()) << ": "
         << result.error().message();
}

// Succeeds if RESULT failed with CODE and TEXT is in the message.
template <typename T>
testing::AssertionResult fails(const base::Result<T>& result, base::Code code,
                               std::string_view text = "") {
  if (result.ok()) return testing::AssertionFailure() << "succeeded";
  const base::Error& error = result.error();
  if (error.code() == code && error.message().find(text) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "failed with code " << static_cast<int>(error.code()) << " and not "
         << static_cast<int>(code) << ", or without '" << text << "': " << error.message();
}

}  // namespace test
