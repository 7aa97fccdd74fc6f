// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/leftovers.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/plan.h"

namespace hook::lifecycle::start {

using namespace base::names;

std::optional<std::string> without_leftovers(const std::string& run_dir,
                                             const std::string& hook_program,
                                             const std::string& poststop_program,
                                             std::string_view spec) {
  plan::PlanInput any;
  any.lease_dir = inject::lease_dir(run_dir, "any");
  any.hook_program = hook_program;
  any.poststop_program = poststop_program;
  const oci::SpecEdit edit = plan::make_plan(any).edit;
  if (spec.find(edit.leases) == std::string_view::npos) return std::nullopt;
  Result<std::string> edited = oci::forget_edit(spec, edit);
  if (!edited.ok() || edited.value() == spec) return std::nullopt;
  return std::move(edited).take();
}

}  // namespace hook::lifecycle::start
