// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/partitions.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/claim_addresses.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/keys.h"
#include "hook/fleet/partition_change.h"
#include "hook/fleet/partition_text.h"
#include "hook/fleet/restored.h"
#include "hook/fleet/warm.h"

namespace hook::fleet {
namespace {

using namespace base::names;

Status check_free(const PartitionView& view, const Claim& wanted) {
  std::vector<Claim> holders;
  for (const Claim& other : view.claims) {
    const bool excludes = !view.facts.shared || !other.process.empty();
    if (other.id != wanted.id && excludes && overlap(other, wanted)) holders.push_back(other);
  }
  return holders.empty() ? Status() : claimed(view.name, holders);
}

// Who must reset the partition before WANTED uses it. WITNESS becomes a claim that makes a reset
// impossible: it must still be there when WANTED is recorded.
ClaimDuty duty_of(const PartitionView& view, const Claim& wanted, const Claim*& witness) {
  const bool never = view.facts.adopted || view.facts.reconfigurable;
  const Claim* const mine = find_claim(view, wanted.id);
  if (never || !view.dirty || (mine != nullptr && mine->uses)) return ClaimDuty::kNone;
  if (view.resetter != wanted.id && find_claim(view, view.resetter) != nullptr)
    return ClaimDuty::kWait;
  for (const Claim& other : view.claims) {
    if (other.id == wanted.id || !other.uses) continue;
    witness = &other;
    return ClaimDuty::kNone;
  }
  return ClaimDuty::kReset;
}

enum class Finished { kNo, kYes };

Put put_fence(const Fleet& fleet, const std::string& host, const std::string& me, int64_t at_ms,
              Finished finished) {
  const bool is_finished = finished == Finished::kYes;
  return {fence_key(fleet.prefix, host),
          base::to_text(base::Json{{"at_ms", at_ms}, {"by", me}, {"finished", is_finished}})};
}

// Says that HOST is dead. Returns the revision of the fence.
Result<int64_t> declare_dead(const Fleet& fleet, const std::string& host, const std::string& me,
                             int64_t at_ms, IfAlive if_alive) {
  Txn txn;
  if (if_alive == IfAlive::kRefuse) require_silence(txn, fleet.prefix, host);
  txn.puts = {put_fence(fleet, host, me, at_ms, Finished::kNo)};
  const TxnResult result = TRY(fleet.store.commit(txn, fleet.deadline));
  if (result.done) return result.revision;
  return Error(Code::kBusy, str("host ", host, " is alive in the fleet, so nothing was changed"));
}

}  // namespace

Result<std::optional<PartitionView>> find_partition(const Fleet& fleet, const PartitionName& name) {
  const Listing listing =
      TRY(fleet.store.list(partition_prefix(fleet.prefix, name), fleet.deadline));
  std::vector<Error> obstacles;
  std::vector<PartitionView> found = parse_partitions(fleet.prefix, listing, obstacles);
  if (!obstacles.empty()) return obstacles.front();
  if (found.empty() || found.front().modified == 0) return std::optional<PartitionView>();
  return std::optional<PartitionView>(std::move(found.front()));
}

Result<std::vector<PartitionView>> list_partitions(const Fleet& fleet,
                                                   std::vector<Error>& obstacles) {
  const Listing listing = TRY(fleet.store.list(fleet.prefix + "partitions/", fleet.deadline));
  std::vector<PartitionView> views = parse_partitions(fleet.prefix, listing, obstacles);
  std::erase_if(views, [](const PartitionView& view) { return view.modified == 0; });
  return views;
}

Result<std::vector<PartitionClaim>> list_claims(const Fleet& fleet, std::vector<Error>& obstacles) {
  const Listing listing = TRY(fleet.store.list(fleet.prefix + "partitions/", fleet.deadline));
  std::vector<PartitionClaim> all;
  for (const PartitionView& view : parse_partitions(fleet.prefix, listing, obstacles))
    for (const Claim& one : view.claims) all.push_back({view.name, one});
  return all;
}

Result<std::optional<PartitionView>> find_begun(const Fleet& fleet, const PartitionName& name,
                                                const std::string& host) {
  std::optional<PartitionView> known = TRY(find_partition(fleet, name));
  const bool is_begun = known && known->phase != PartitionPhase::kReady && known->changer == host;
  if (!known || is_begun) return known;
  TRY(check_ready(*known));
  return Error(Code::kExists, str("the fleet already has ", text_of(name), ", made on host ",
                                  known->facts.maker, "; choose another name"));
}

Status publish(const Fleet& fleet, const PartitionView& view) {
  const std::string key = record_key(fleet.prefix, view.name);
  const auto known = TRY(find_begun(fleet, view.name, view.facts.maker));
  Txn txn;
  const std::string& host = view.changer.empty() ? view.facts.maker : view.changer;
  txn.compares = {known ? as_seen(fleet, *known) : Compare{key, Compare::What::kCreated, 0},
                  {fence_key(fleet.prefix, host), Compare::What::kCreated, 0}};
  // What exists already may be in use.
  if (view.facts.adopted || view.phase == PartitionPhase::kRemoving) require_all_told(fleet, txn);
  txn.puts = {put_of(fleet, view)};
  for (const Claim& one : view.claims) txn.puts.push_back(put_of(fleet, view.name, one));
  const TxnResult result = TRY(commit_if_known(fleet, std::move(txn)));
  if (result.done) return {};
  TRY(check_fences(fleet, result));
  TRY(check_told(fleet, result));
  return Error(Code::kExists, str("another host has made ", text_of(view.name),
                                  " known to the fleet meanwhile; choose another name"));
}

Status finish_making(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (view.phase == PartitionPhase::kReady) return txn;
    if (view.phase != PartitionPhase::kMaking || view.changer != host) return not_there(name);
    view.phase = PartitionPhase::kReady;
    view.changer.clear();
    txn.puts = {put_of(fleet, view)};
    return txn;
  });
}

Status forget_making(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return if_there(change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (view.phase == PartitionPhase::kMaking && view.changer == host)
      txn.deletes = {record_key(fleet.prefix, name)};
    return txn;
  }));
}

Status wait_for_change(const Fleet& fleet, const PartitionName& name) {
  const std::optional<PartitionView> view = TRY(find_partition(fleet, name));
  if (!view) return {};
  const Result<Changes> changes =
      fleet.store.wait(partition_prefix(fleet.prefix, name), view->revision + 1, fleet.deadline);
  // kNotFound: the store has forgotten that revision, so there was a change.
  if (changes.ok() || changes.error().code() == Code::kNotFound) return {};
  return changes.error();
}

Result<ClaimDuty> claim(const Fleet& fleet, const PartitionName& name, const Claim& wanted,
                        const FitsShare& fits) {
  ClaimDuty duty = ClaimDuty::kNone;
  bool may_have_shares = false;  // the first attempt says that no tenant has one
  const Status claimed = change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    TRY(check_ready(view));
    TRY(check_free(view, wanted));
    const Claim* const mine = find_claim(view, wanted.id);
    const Claim* witness = nullptr;
    duty = duty_of(view, wanted, witness);
    if (mine != nullptr && (mine->uses || duty == ClaimDuty::kWait)) return Txn();
    Claim made = wanted;
    made.uses = duty == ClaimDuty::kNone;
    view.dirty = view.dirty || made.uses;
    if (duty == ClaimDuty::kReset) view.resetter = wanted.id;
    Txn txn;
    txn.compares = {{fence_key(fleet.prefix, wanted.host), Compare::What::kCreated, 0}};
    require_all_told(fleet, txn);
    if (witness != nullptr) {
      txn.compares.push_back({claim_key(fleet.prefix, name, witness->id), Compare::What::kModified,
                              witness->modified});
    }
    txn.puts = {put_of(fleet, view), put_of(fleet, name, made)};
    if (mine != nullptr || !fits) return txn;
    Shares shares;
    if (std::exchange(may_have_shares, true)) shares = TRY(read_shares(fleet));
    if (!shares.records.empty()) TRY(fits(shares));
    take_turn(fleet, shares, wanted.tenant, wanted.id, txn);
    return txn;
  });
  if (!claimed.ok()) return claimed.error();
  return duty;
}

Status claim_running(const Fleet& fleet, const PartitionName& name, const Claim& running) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    TRY(check_ready(view));
    TRY(check_free(view, running));
    const Claim* const mine = find_claim(view, running.id);
    Txn txn;
    if (mine != nullptr && mine->uses && has_addresses(*mine, running)) return txn;
    Claim made = running;
    made.uses = true;
    view.dirty = true;
    if (view.resetter == running.id) view.resetter.clear();
    txn.compares = {{fence_key(fleet.prefix, running.host), Compare::What::kCreated, 0}};
    txn.puts = {put_of(fleet, view), put_of(fleet, name, made)};
    return txn;
  });
}

Status finish_reset(const Fleet& fleet, const PartitionName& name, const std::string& id) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    const Claim* const found = find_claim(view, id);
    if (found == nullptr || view.resetter != id) {
      return Error(Code::kBusy, str("the claim of ", text_of(name),
                                    " was taken away during its reset; start the container again"));
    }
    Claim made = *found;
    made.uses = true;
    view.resetter.clear();
    Txn txn;
    txn.compares = {{fence_key(fleet.prefix, made.host), Compare::What::kCreated, 0}};
    txn.puts = {put_of(fleet, view), put_of(fleet, name, made)};
    return txn;
  });
}

Status unclaim(const Fleet& fleet, const PartitionName& name, const std::string& id) {
  Txn txn;
  txn.deletes = {claim_key(fleet.prefix, name, id)};
  TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

Status begin_reset(const Fleet& fleet, const PartitionName& name, const Claim& wanted) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    TRY(check_ready(view));
    if (!view.claims.empty()) return claimed(name, view.claims);
    Claim all = wanted;
    all.gcds = view.facts.gcds;
    view.resetter = wanted.id;
    view.dirty = true;
    Txn txn;
    txn.compares = {{fence_key(fleet.prefix, wanted.host), Compare::What::kCreated, 0}};
    require_all_told(fleet, txn);
    txn.puts = {put_of(fleet, view), put_of(fleet, name, all)};
    return txn;
  });
}

Status end_reset(const Fleet& fleet, const PartitionName& name, const std::string& id,
                 ResetDone done) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (find_claim(view, id) != nullptr) txn.deletes = {claim_key(fleet.prefix, name, id)};
    if (view.resetter != id) return txn;
    view.resetter.clear();
    view.dirty = done == ResetDone::kNo;
    txn.puts = {put_of(fleet, view)};
    return txn;
  });
}

Status begin_removal(const Fleet& fleet, const PartitionName& name, const std::string& host,
                     Takes takes) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    if (view.phase != PartitionPhase::kReady && view.changer != host)
      return check_ready(view).error();
    std::vector<Claim> others = view.claims;
    std::erase_if(others, [&](const Claim& one) {
      return takes == Takes::kOwn && one.host == host && one.process.empty();
    });
    if (!others.empty()) return claimed(name, others);
    Txn txn;
    view.phase = PartitionPhase::kRemoving;
    view.changer = host;
    require_all_told(fleet, txn);
    txn.puts = {put_of(fleet, view)};
    return txn;
  });
}

Status finish_removal(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return if_there(change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (view.phase == PartitionPhase::kRemoving && view.changer == host)
      txn.deletes = {record_key(fleet.prefix, name)};
    return txn;
  }));
}

Status cancel_removal(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (view.phase != PartitionPhase::kRemoving || view.changer != host) return txn;
    view.phase = PartitionPhase::kReady;
    view.changer.clear();
    txn.puts = {put_of(fleet, view)};
    return txn;
  });
}

Status take_along(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    const bool is_done = view.phase == PartitionPhase::kLeft && view.changer == host;
    if (!is_done) TRY(check_ready(view));
    std::vector<Claim> others = view.claims;
    std::erase_if(others,
                  [&](const Claim& one) { return one.host == host && one.process.empty(); });
    if (!others.empty()) return claimed(name, others);
    Txn txn;
    if (is_done) return txn;
    view.phase = PartitionPhase::kLeft;
    view.changer = host;
    require_all_told(fleet, txn);
    txn.compares.push_back({fence_key(fleet.prefix, host), Compare::What::kCreated, 0});
    txn.puts = {put_of(fleet, view)};
    return txn;
  });
}

Status stay_with(const Fleet& fleet, const PartitionName& name, const std::string& host) {
  return if_there(change(fleet, name, [&](PartitionView& view) -> Result<Txn> {
    Txn txn;
    if (view.phase != PartitionPhase::kLeft || view.changer != host) return txn;
    view.phase = PartitionPhase::kReady;
    view.changer.clear();
    txn.puts = {put_of(fleet, view)};
    return txn;
  }));
}

Status end_claims(const Fleet& fleet, const std::string& host) {
  return remove_keys_of(fleet, fleet.prefix + "partitions/", host);
}

Status forget_left(const Fleet& fleet, const std::string& host) {
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  for (const PartitionView& view : TRY(list_partitions(fleet, obstacles))) {
    if (view.phase != PartitionPhase::kLeft || view.changer != host) continue;
    TRY(if_there(change(fleet, view.name, [&](PartitionView& now) -> Result<Txn> {
      Txn txn;
      if (now.phase == PartitionPhase::kLeft && now.changer == host)
        txn.deletes = {record_key(fleet.prefix, now.name)};
      return txn;
    })));
  }
  return {};
}

Status begin_fence(const Fleet& fleet, const std::string& host, const std::string& me,
                   int64_t at_ms, IfAlive if_alive) {
  TRY(declare_dead(fleet, host, me, at_ms, if_alive));
  return {};
}

Status fence(const Fleet& fleet, const std::string& host, const std::string& me, int64_t at_ms,
             Leaves leaves) {
  const int64_t declared = TRY(declare_dead(fleet, host, me, at_ms, IfAlive::kFence));
  std::vector<Error> obstacles;  // 'fleet check' says what cannot be read
  for (const char* const below : {"partitions/", "queue/"})
    TRY(remove_keys_of(fleet, fleet.prefix + below, host));
  TRY(remove_grants_of(fleet, host, leaves));
  if (leaves == Leaves::kNothing) TRY(forget_warm_of_host(fleet, host));
  Txn told;  // also if its value says nothing
  told.deletes = {restored_key(fleet.prefix, host)};
  TRY(fleet.store.commit(told, fleet.deadline));
  for (const PartitionView& view : TRY(list_partitions(fleet, obstacles))) {
    if (view.changer != host) continue;
    TRY(forget_making(fleet, view.name, host));
    const Status passed = change(fleet, view.name, [&](PartitionView& now) -> Result<Txn> {
      Txn pass;
      if (now.phase != PartitionPhase::kRemoving || now.changer != host) return pass;
      now.changer = me;
      pass.puts = {put_of(fleet, now)};
      return pass;
    });
    TRY(if_there(passed));
  }
  if (leaves != Leaves::kNothing) return {};
  // Unless it was forgotten or begun again meanwhile.
  Txn txn;
  txn.compares = {{fence_key(fleet.prefix, host), Compare::What::kModified, declared}};
  txn.puts = {put_fence(fleet, host, me, at_ms, Finished::kYes)};
  TRY(fleet.store.commit(txn, fleet.deadline));
  return {};
}

Result<bool> forget_fence(const Fleet& fleet, const std::string& host) {
  const std::string key = fence_key(fleet.prefix, host);
  const bool was_fenced = TRY(find_key(fleet.store, key, fleet.deadline)).has_value();
  Txn txn;
  txn.deletes = {key};
  if (was_fenced) TRY(fleet.store.commit(txn, fleet.deadline));
  return was_fenced;
}

}  // namespace hook::fleet
