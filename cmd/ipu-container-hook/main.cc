// SPDX-License-Identifier: Apache-2.0
// ipu-container-hook: called by the low-level runtime, with the container's state on standard
// input.
//   ipu-container-hook createRuntime|prestart|poststop --lease ID
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/attach.h"
#include "hook/lifecycle/release.h"
#include "hook/oci/state.h"

namespace {

using base::Code;
using base::Error;
using base::Status;

// Shorter than the timeout in config.json, so that the reason comes from here and not from a
// SIGKILL.
constexpr std::chrono::milliseconds kTime{10'000};

Status run(const std::vector<std::string_view>& args) {
  const bool well_formed =
      args.size() == 3 && args[1] == "--lease" && hook::is_lease_id(args[2]) &&
      (args[0] == "createRuntime" || args[0] == "prestart" || args[0] == "poststop");
  if (!well_formed) {
    return Error(Code::kInvalid,
                 "usage: ipu-container-hook createRuntime|prestart|poststop --lease ID,"
                 " with the container's state on standard input; ID has 32 hexadecimal digits");
  }
  // Read to its end whatever comes of it: the runtime must not be left writing into a closed pipe.
  const base::Result<std::string> state =
      base::read_all(STDIN_FILENO, hook::kMaxStateBytes, "container state on standard input");
  const auto deadline = base::Deadline::after(kTime);
  hook::Ledger ledger = TRY(hook::Ledger::open(hook::ledger_file()));
  hook::Env env = hook::product_env(ledger);
  const std::string lease_id(args[2]);
  if (args[0] == "poststop") return hook::release_by_id(env, lease_id, deadline);
  return hook::attach_container(env, lease_id, state, deadline);
}

}  // namespace

int main(int argc, char** argv) {
  (void)::clearenv();
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const Status done = run(args);
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "ipu: %s\n", base::one_line(done.error().message(), 1000).c_str());
  // What poststop could not do is in the ledger, for reconcile. A failure here would only keep the
  // engine from deleting the container, and keep other hooks from running.
  return !args.empty() && args[0] == "poststop" ? 0 : 1;
}
