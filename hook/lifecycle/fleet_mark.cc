// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_mark.h"

#include <optional>
#include <utility>

#include "base/names.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/marks.h"
#include "hook/lifecycle/open_fleet.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

// Returns the mark that was made, if one was. Who asks the store next says why none was: it is
// away, or this host is fenced.
Result<std::optional<fleet::Marked>> mark(const OpenFleet& fleet, const Deadline& deadline) {
  Result<fleet::Marked> marked = fleet::mark_store(fleet.at(deadline));
  if (marked.ok()) return std::optional<fleet::Marked>(std::move(marked).take());
  if (marked.error().code() == Code::kInvalid) return marked.error();
  return std::optional<fleet::Marked>();
}

// Returns whether the store has gone back.
Result<bool> mark_and_remember(Env& env, const Deadline& deadline) {
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (!fleet || fleet->id.empty()) return false;
  const std::optional<fleet::Marked> marked = TRY(mark(*fleet, deadline));
  if (!marked) return false;
  TRY(env.ledger.host().keep_fleet_mark(
      fleet->config.prefix, fleet->id,
      {marked->mark.revision, marked->mark.restores, marked->mark.import}));
  const std::string id = TRY(env.ledger.host().fleet_id(fleet->config.prefix));
  if (id.empty()) {  // 'fleet leave' has ended meanwhile
    const fleet::Fleet at = fleet->at_last();
    TRY(fleet::end_beats(at.store, at.prefix, env.ledger.host().tag(), at.deadline));
  }
  return marked->has_gone_back;
}

}  // namespace

void mark_fleet(Env& env, const Deadline& deadline, std::vector<Error>& obstacles) {
  const Result<bool> has_gone_back = mark_and_remember(env, deadline);
  if (!has_gone_back.ok()) return obstacles.push_back(has_gone_back.error());
  if (!has_gone_back.value()) return;
  const Status noted = env.ledger.events().record(
      "etcd has gone back to an older state; all hosts are asked what their containers have");
  if (!noted.ok()) obstacles.push_back(noted.error());
  obstacles.emplace_back(
      Code::kBusy,
      "fleet: etcd has gone back to an older state, of a snapshot or of a copy of its data; no"
      " container starts with a named partition until each host has told what it has, as"
      " ipu-agent and 'ipuctl gc' do; then see 'ipuctl fleet check'");
}

}  // namespace hook::lifecycle
