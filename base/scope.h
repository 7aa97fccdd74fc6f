// SPDX-License-Identifier: Apache-2.0
// ScopeExit: one cleanup that runs when the scope ends.
#pragma once

#include <utility>

namespace base {

// Runs FUNCTION once, at the end of the scope, unless dismissed. FUNCTION must not fail: a cleanup
// that can fail is a named function, whose result FUNCTION drops deliberately.
template <typename Function>
class [[nodiscard]] ScopeExit {
 public:
  explicit ScopeExit(Function function) : function_(std::move(function)) {}
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;
  ~ScopeExit() {
    if (armed_) function_();
  }
  void dismiss() { armed_ = false; }

 private:
  Function function_;
  bool armed_ = true;
};

}  // namespace base
