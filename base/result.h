// SPDX-License-Identifier: Apache-2.0
// The only error channel: every fallible function returns Result<T> or Status, and TRY propagates
// errors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace base {

// The kinds of errors, by how a program may react. Messages are for people, codes for programs.
enum class Code {
  kInvalid,      // the input is wrong; trying again cannot help
  kNotFound,     // the named thing does not exist
  kExists,       // the named thing already exists, and differs
  kDenied,       // not allowed, by the kernel or by policy
  kBusy,         // no capacity, or in use; trying again later may help
  kTimeout,      // a deadline passed
  kUnavailable,  // a server cannot be reached; trying again later may help
  kUnsupported,  // this system, engine or version cannot do it
  kInternal,     // everything else
};

// A failure as one readable line: what was tried, on what object, and why it failed.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  // Returns the error "WHAT: text of err" with the code that fits ERR. text_of in result.cc lists
  // the few texts that differ from strerror's.
  static Error from_errno(int err, std::string_view what);

  Code code() const { return code_; }
  int sys_errno() const { return errno_; }  // 0 if the failure did not come from the kernel
  const std::string& message() const { return message_; }

  // Returns the same error with "CONTEXT: " before its message.
  Error&& wrap(std::string_view context) &&;

 private:
  Code code_;
  int errno_ = 0;
  std::string message_;
};

// Holds a T or an Error. Reading the wrong side terminates the program. There is no default state:
// absence is Result<std::optional<T>>. A Result<bool> answers a question of its caller's own file;
// at the border of a room an enum says what yes and no mean.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "a Result owns its value");

 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // A pointer or a number is no bool.
  template <typename U>
  requires(std::is_same_v<T, bool>&& std::is_scalar_v<U> && !std::is_same_v<U, bool>)
      Result(U value)
  = delete;
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  const T& value() const& { return std::get<0>(state_); }
  T& value() & { return std::get<0>(state_); }
  T take() && { return std::get<0>(std::move(state_)); }
  const Error& error() const& { return std::get<1>(state_); }
  Error error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  void take() && {}
  const Error& error() const& { return error_.value(); }
  Error error() && { return std::move(error_).value(); }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;  // return {} is success

// Tells whether a remove function found something to remove.
enum class Removed { kNow, kWasAbsent };

}  // namespace base

// Evaluates to the value of EXPR, or returns its error from the calling function. Use at most one
// in a full expression, and none in a braced initializer (g++ 12 leaks the earlier members).
#define TRY(expr)                                                 \
  __extension__({                                                 \
    auto try_result_ = (expr);                                    \
    if (!try_result_.ok()) return std::move(try_result_).error(); \
    std::move(try_result_).take();                                \
  })

// Works as TRY, with "CONTEXT: " before the message of a failure.
#define TRY_CTX(context, expr)                                                  \
  __extension__({                                                               \
    auto try_result_ = (expr);                                                  \
    if (!try_result_.ok()) return std::move(try_result_).error().wrap(context); \
    std::move(try_result_).take();                                              \
  })
