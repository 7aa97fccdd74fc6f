// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/walls.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kLookTime{100};  // between two looks at one that is being made

// Returns the allocation of partition ID as CONTROLLER lists it. One that is being made may be
// listed before it has all of its parts.
Result<std::string> allocation_of(vipu::Controller& controller, const std::string& id,
                                  const Deadline& deadline) {
  for (;;) {
    const std::vector<vipu::Partition> all = TRY(controller.list(deadline));
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const vipu::Partition& one) { return one.id == id; });
    if (found == all.end()) {
      return Error(Code::kInternal, str("the controller does not list partition ", quote(id),
                                        ", so its allocation is not known; start the container"
                                        " again"));
    }
    const bool may_grow = found->allocation.empty() && found->ready == vipu::ReadyState::kPending;
    if (!may_grow || deadline.passed()) return found->allocation;
    base::sleep_for(kLookTime, deadline);
  }
}

}  // namespace

Status check_new_partition(vipu::Controller& controller, const config::Wall& wall,
                           const std::string& id, const Deadline& deadline) {
  if (!wall.stands) return {};
  return config::check_new(wall, id, TRY(allocation_of(controller, id, deadline)));
}

Status check_named_partition(vipu::Controller& controller, const config::PoolConfig& pool,
                             const Claimant& claimant, const std::string& id,
                             const Deadline& deadline) {
  const config::Wall wall =
      TRY(config::find_wall(pool, claimant.of_host, claimant.of_fleet, claimant.tenant));
  if (!wall.stands) return {};
  return config::check_made(wall, id, TRY(allocation_of(controller, id, deadline)));
}

Error refused_within(const config::Wall& wall, const Error& error) {
  const Code code = error.code();
  const bool may_be_why =
      code == Code::kInvalid || code == Code::kNotFound || code == Code::kDenied;
  if (wall.tenant.empty() || !may_be_why) return error;
  return {code, str(error.message(), "; ", config::wall_text(wall),
                    ": if 'vipu list allocations' does not have it, correct 'allocation' of the"
                    " tenant in config.toml, or with 'ipuctl tenant set ",
                    wall.tenant, " --allocation NAME'")};
}

}  // namespace hook::lifecycle::start
