// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/env.h"

#include "hook/config/paths.h"
#include "vipu/process_controller.h"

namespace hook {
namespace {

// Debian's `nobody` and `nogroup`: the user that owns nothing. By number, because a static program
// cannot ask the name service.
constexpr base::Credentials kNobody{65534, 65534};

}  // namespace

Env product_env(Ledger& ledger) {
  const auto controller = [](const std::string& address) {
    return vipu::make_process_controller({client_program(), address, kNobody});
  };
  return Env{ledger, controller, run_dir(), hook_program()};
}

}  // namespace hook
