// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <type_traits>

#include "base/scope.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error(Code::kInvalid, "it is odd");
  return number / 2;
}

Result<int> quarter_of(int number) {
  const int half = TRY_CTX("first half", half_of(number));
  return TRY_CTX("second half", half_of(half));
}

Status check_even(int number) {
  TRY(half_of(number));
  return {};
}

TEST(ResultOfBool, TakesABoolAndNothingThatMerelyConvertsToOne) {
  static_assert(std::is_convertible_v<bool, Result<bool>>);
  static_assert(std::is_convertible_v<Error, Result<bool>>);
  static_assert(!std::is_constructible_v<Result<bool>, const char*>);
  static_assert(!std::is_constructible_v<Result<bool>, int>);
  EXPECT_FALSE(Result<bool>(false).value());
}

TEST(Try, GivesTheValueOfASuccess) {
  ASSERT_TRUE(test::succeeds(quarter_of(12)));
  EXPECT_EQ(quarter_of(12).value(), 3);
}

TEST(Try, ReturnsTheErrorOfAFailure) {
  EXPECT_TRUE(test::fails(check_even(3), Code::kInvalid, "it is odd"));
  EXPECT_TRUE(test::succeeds(check_even(4)));
}

TEST(Try, PutsItsContextInFrontOfTheMessage) {
  EXPECT_EQ(quarter_of(3).error().message(), "first half: it is odd");
  EXPECT_EQ(quarter_of(6).error().message(), "second half: it is odd");
}

TEST(Try, MovesTheValueOut) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&]() -> Result<std::unique_ptr<int>> {
    std::unique_ptr<int> value = TRY(make());
    *value += 1;
    return value;
  };
  EXPECT_EQ(*use().value(), 8);
}

TEST(Try, EvaluatesItsExpressionOnce) {
  int calls = 0;
  const auto count = [&]() -> Result<int> { return ++calls; };
  const auto use = [&]() -> Status {
    TRY(count());
    return {};
  };
  EXPECT_TRUE(use().ok());
  EXPECT_EQ(calls, 1);
}

TEST(Result, TakesItsValueByMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = std::move(result).take();
  EXPECT_EQ(*value, 7);
}

TEST(Result, HoldsAnEmptyOptionalAsASuccess) {
  const Result<std::optional<int>> absent = std::optional<int>();
  ASSERT_TRUE(absent.ok());
  EXPECT_FALSE(absent.value().has_value());
}

TEST(Result, EndsTheProgramWhenTheWrongSideIsRead) {
  const Result<int> failed = Error(Code::kBusy, "no room");
  const Status succeeded;
  EXPECT_DEATH([&]() noexcept { (void)failed.value(); }(), "");
  EXPECT_DEATH([&]() noexcept { (void)succeeded.error(); }(), "");
}

TEST(Error, HasNoErrnoUnlessTheKernelGaveOne) {
  EXPECT_EQ(Error(Code::kInvalid, "x").sys_errno(), 0);
  EXPECT_EQ(Error::from_errno(EPIPE, "x").sys_errno(), EPIPE);
}

TEST(Error, KeepsCodeAndErrnoWhenItIsWrapped) {
  const Error error = Error::from_errno(EACCES, "open 'x'").wrap("bundle 'b'");
  EXPECT_EQ(error.message(), "bundle 'b': open 'x': access denied");
  EXPECT_EQ(error.code(), Code::kDenied);
  EXPECT_EQ(error.sys_errno(), EACCES);
}

TEST(Error, HasTheCodeThatFitsTheErrno) {
  const struct {
    int err;
    Code code;
  } kCases[] = {
      {ENOENT, Code::kNotFound},
      {ENODEV, Code::kNotFound},
      {ESRCH, Code::kNotFound},
      {EEXIST, Code::kExists},
      {EPERM, Code::kDenied},
      {EACCES, Code::kDenied},
      {EROFS, Code::kDenied},
      {EBUSY, Code::kBusy},
      {EAGAIN, Code::kBusy},
      {ENOSPC, Code::kBusy},
      {ETIMEDOUT, Code::kTimeout},
      {ECONNREFUSED, Code::kUnavailable},
      {ENETUNREACH, Code::kUnavailable},
      {EINVAL, Code::kInvalid},
      {ENOSYS, Code::kUnsupported},
      {EOPNOTSUPP, Code::kUnsupported},
      {EIO, Code::kInternal},
      {EPIPE, Code::kInternal},
  };
  for (const auto& example : kCases) {
    EXPECT_EQ(Error::from_errno(example.err, "x").code(), example.code) << example.err;
  }
}

// Engines look for these words in a runtime's error and pick another exit status for them.
TEST(Error, AvoidsTheWordsThatEnginesSearchFor) {
  EXPECT_EQ(Error::from_errno(ENOENT, "open 'x'").message(), "open 'x': not found");
  EXPECT_EQ(Error::from_errno(ESRCH, "kill 7").message(), "kill 7: process not found");
  EXPECT_EQ(Error::from_errno(EACCES, "open 'x'").message(), "open 'x': access denied");
  EXPECT_EQ(Error::from_errno(EPERM, "mount").message(), "mount: not permitted");
  EXPECT_EQ(Error::from_errno(EPIPE, "write").message(), "write: Broken pipe");
}

TEST(ScopeExit, RunsOnceAtTheEndOfTheScope) {
  int runs = 0;
  {
    const ScopeExit count([&] { ++runs; });
    EXPECT_EQ(runs, 0);
  }
  EXPECT_EQ(runs, 1);
}

TEST(ScopeExit, DoesNotRunOnceDismissed) {
  int runs = 0;
  {
    ScopeExit count([&] { ++runs; });
    count.dismiss();
  }
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace base
