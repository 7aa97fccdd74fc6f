// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/repair/rebuild.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/check.h"
#include "hook/ledger/rebuilder.h"
#include "hook/lifecycle/repair/claims.h"
#include "hook/lifecycle/repair/survey.h"

namespace hook::lifecycle::repair {
namespace {

using namespace base::names;

bool is_of_another(const Rebuild& rebuild, const std::optional<ledger::HostWitnesses>& recorded) {
  return recorded && !ledger::difference(*recorded, rebuild.host).empty();
}

Status check_needed(const Rebuild& rebuild) {
  TRY(ledger::check_known(rebuild.ledger));
  if (rebuild.force) return {};
  const Result<std::optional<ledger::HostWitnesses>> host = ledger::recorded_host(rebuild.ledger);
  if (host.ok() && is_of_another(rebuild, host.value())) return {};
  const Result<std::vector<ledger::Flaw>> flaws = ledger::check_ledger(rebuild.ledger);
  if (!flaws.ok() && flaws.error().code() == Code::kNotFound) return {};
  TRY(flaws);
  const auto is_error = [](const ledger::Flaw& flaw) {
    return flaw.gravity == ledger::Gravity::kError;
  };
  if (std::any_of(flaws.value().begin(), flaws.value().end(), is_error)) return {};
  return Error(Code::kInvalid, str("the ledger ", base::quote(rebuild.ledger),
                                   " is intact and needs no rebuild; --force rebuilds it anyway"));
}

// Checks the new ledger. With force, a flaw is only a note.
Status check_new(const std::string& path, const Rebuild& rebuild, Rebuilt& done) {
  for (const ledger::Flaw& flaw : TRY(ledger::check_ledger(path))) {
    if (flaw.gravity == ledger::Gravity::kNote) continue;
    if (!rebuild.force) {
      return Error(Code::kInternal,
                   str("the rebuilt ledger has an error, so the old one is kept: ", flaw.says,
                       "; stop the container that causes the error, or accept it with --force"));
    }
    done.notes.push_back(str("the rebuilt ledger has an error: ", flaw.says));
  }
  return {};
}

// Fails if the rebuilt ledger would lack what a running container holds: others would then get it.
Status check_unknown(const Rebuild& rebuild, const Claims& claims) {
  if (rebuild.force || rebuild.dry_run == DryRun::kYes || claims.unknown.empty()) return {};
  const EngineContainer& one = claims.unknown.front();
  return Error(
      Code::kBusy,
      str("container ", base::short_id(one.container), " runs with the unknown lease ", one.lease,
          ", so other containers would get its IPUs and addresses; stop the container, or"
          " accept that with --force"));
}

// Says which taints are lost, if any can be: no pool with a V-IPU controller has some.
Status note_lost_taints(const Rebuild& rebuild, ledger::Ledger& ledger,
                        std::vector<std::string>& notes) {
  std::string known;
  for (const ledger::PoolIpu& one : TRY(ledger.health().tainted_by_history()))
    known += str(known.empty() ? "" : ", ", one.health.ipu, " of pool ", one.pool);
  const bool has_none =
      std::all_of(rebuild.pools.begin(), rebuild.pools.end(),
                  [](const auto& pool) { return pool.provider == config::Provider::kVipu; });
  if (known.empty() && has_none && !rebuild.pools.empty()) return {};
  notes.push_back(str("the taints of IPUs cannot be read and are lost",
                      known.empty() ? "" : str("; by the history, these were tainted: ", known),
                      "; set each again with 'ipuctl health taint IPU --pool NAME'"));
  return {};
}

// Removes from SALVAGED what another host has, which is all that does not run here since this boot.
Status leave_to_its_host(ledger::Salvaged& salvaged) {
  const std::string boot = TRY(base::boot_id());
  const size_t left = std::erase_if(
      salvaged.leases, [&](const ledger::Lease& lease) { return lease.boot_id != boot; });
  salvaged.notes.push_back(str("the old ledger is of host ", salvaged.host_tag, ": ", left,
                               left == 1 ? " lease and " : " leases and ",
                               salvaged.partitions.size(),
                               salvaged.partitions.size() == 1 ? " partition" : " partitions",
                               " in it are left to that host"));
  salvaged.partitions.clear();
  return {};
}

Result<Rebuilt> build(const Rebuild& rebuild, ledger::Rebuilder& rebuilder,
                      const Deadline& deadline) {
  ledger::Salvaged salvaged = TRY(rebuilder.salvage());
  const bool is_strange = is_of_another(rebuild, salvaged.host);
  const std::string tag = is_strange ? "" : salvaged.host_tag;
  const std::vector<ledger::PartitionRecord> partitions = salvaged.partitions;
  if (is_strange) TRY(leave_to_its_host(salvaged));
  std::vector<std::string> notes = std::move(salvaged.notes);
  Rebuilt done;
  {
    ledger::Ledger ledger = TRY(rebuilder.open_new(rebuild.host, tag));
    Env env = rebuild.env(ledger);
    Claims claims =
        TRY(judge_claims(env, std::move(salvaged), find_engine_containers(rebuild.engines_dir)));
    TRY(check_unknown(rebuild, claims));
    done = {std::move(claims.running), std::move(claims.ended), std::move(claims.partitions),
            std::move(notes), ""};
    done.notes.insert(done.notes.end(), claims.notes.begin(), claims.notes.end());
    const ledger::Taints taints =
        TRY(rebuilder.begin_history(str("the ledger was rebuilt: ", done.running.size(),
                                        " running, ", done.ended.size(), " to be released")));
    if (is_strange) TRY(rebuilder.disown(partitions));
    if (!is_strange && taints == ledger::Taints::kLost)
      TRY(note_lost_taints(rebuild, ledger, done.notes));
    const Survey survey = survey_pools(env, rebuild.pools, deadline);
    judge_partitions(survey, rebuild.unclaimed, claims.unknown, done);
    for (const ledger::PartitionRecord& record : done.partitions) {
      TRY(ledger.partitions().intend(record));
    }
  }
  for (const auto* leases : {&done.running, &done.ended}) {
    TRY(rebuilder.add(*leases, done.notes));
  }
  TRY(check_new(rebuilder.new_path(), rebuild, done));
  return done;
}

Result<Rebuilt> rebuild_alone(const Rebuild& rebuild, const Deadline& deadline) {
  using Finished = ledger::Rebuilder::Finished;
  ledger::Rebuilder rebuilder = TRY(ledger::Rebuilder::enter(rebuild.ledger));
  Rebuilt done;
  if (rebuild.dry_run == DryRun::kNo) {
    const Finished finished = TRY(rebuilder.finish_earlier());
    if (finished == Finished::kYes) {
      done.notes = {"an interrupted rebuild was completed"};
      return done;
    }
  }
  TRY(check_needed(rebuild));
  done = TRY(build(rebuild, rebuilder, deadline));
  if (rebuild.dry_run == DryRun::kYes) return done;
  done.set_aside = TRY(rebuilder.put_in_place());
  return done;
}

}  // namespace

Result<Rebuilt> rebuild_ledger(const Rebuild& rebuild, const Deadline& deadline) {
  Rebuilt done = TRY(rebuild_alone(rebuild, deadline));
  if (rebuild.dry_run == DryRun::kYes) return done;
  Result<ledger::Ledger> ledger = ledger::Ledger::open(rebuild.ledger);
  if (ledger.ok())
    (void)ledger.value().events().write_audit_log();  // if this fails, the next commit does it
  return done;
}

}  // namespace hook::lifecycle::repair
