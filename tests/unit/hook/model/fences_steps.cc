// SPDX-License-Identifier: Apache-2.0
// What the calls of the model do to its world, and what must be true of it.
#include <set>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/queue.h"
#include "hook/fleet/warm.h"
#include "tests/unit/hook/model/fences_model.h"
#include "vipu/made_name.h"

namespace model::fences {
namespace {

using namespace base::names;
using What = Call::What;

const Deadline kEver = Deadline::after(std::chrono::hours(1));

bool is_there(World& world, const std::string& key) {
  const hook::fleet::Listing listing = world.store.list(key, kEver).take();
  return !listing.keys.empty() && listing.keys.front().key == key;
}

bool is_fenced(World& world, uint8_t host) {
  return is_there(world, str(kPrefix, "fences/", tag_of(host)));
}

bool is_finished(World& world) {
  const auto fence = hook::fleet::find_fence(world.store, kPrefix, tag_of(0), kEver).take();
  return fence && fence->is_finished;
}

std::string key_of(uint8_t host, bool on_gcd) {
  if (!on_gcd) return str(kPrefix, "grants/", kPool, '/', lease_of(host));
  return str(kPrefix, "partitions/", kPool, '/', kNamed, "/claims/", lease_of(host));
}

Answer failed(Code code) {
  Answer answer;
  answer.error = Error(code, "refused");
  return answer;
}

// The host that gets something by PUT.
uint8_t getter_of(const hook::fleet::Put& put) {
  const bool is_had = put.key.find("/claims/") != std::string::npos ||
                      put.key.starts_with(kPrefix + "grants/") ||
                      put.key.starts_with(kPrefix + "queue/");
  for (uint8_t host = 0; is_had && host < kHosts; ++host)
    if (put.value.find(str("\"host\":\"", tag_of(host), '"')) != std::string::npos) return host;
  return kNobody;
}

template <typename T>
Answer answer_of(Result<T> result, T Answer::*part) {
  Answer answer;
  if (!result.ok()) answer.error = result.error();
  if (result.ok()) answer.*part = std::move(result).take();
  return answer;
}

}  // namespace

Answer FencesModel::commit(World& world, const Call& call) {
  for (const hook::fleet::Put& one : call.txn.puts) {
    const uint8_t host = getter_of(one);
    if (host == kNobody || !is_fenced(world, host) || is_there(world, one.key)) continue;
    World tried = world;
    const auto result = tried.store.commit(call.txn, kEver);
    if (result.ok() && result.value().done) fail("a host that was declared dead gets something");
  }
  return answer_of(world.store.commit(call.txn, kEver), &Answer::txn);
}

Answer FencesModel::carry_out(World& world, uint8_t actor, const Call& call) {
  const uint8_t host = scene_.roles[actor].host;
  switch (call.what) {
    case What::kCommit:
      return commit(world, call);
    case What::kListKeys:
      return answer_of(world.store.list(call.name, kEver), &Answer::listing);
    case What::kGrantLease:
      return answer_of(world.store.grant(static_cast<uint32_t>(call.lease), kEver), &Answer::lease);
    case What::kKeepLease:
      return answer_of(world.store.keep(call.lease, kEver), &Answer::lease);
    case What::kRevokeLease:
      (void)world.store.revoke(call.lease, kEver);
      return {};
    case What::kListPartitions: {
      Answer answer;
      for (const auto& [name, made] : world.partitions) {
        answer.partitions.emplace_back();
        answer.partitions.back().id = name;
      }
      return answer;
    }
    case What::kCreate:
      if (!world.partitions.emplace(call.name, Made{is_fenced(world, host)}).second)
        return failed(Code::kExists);
      return {};
    case What::kRemove:
      world.partitions.erase(call.name);
      return {};
    case What::kReset:
      for (uint8_t one = 0; one < kHosts; ++one) {
        const bool has_it =
            world.hosts[one].runs && is_on_gcd(one) && is_there(world, key_of(one, true));
        if (has_it) fail("a partition is reset under a container");
      }
      return {};
    default:
      return change_ledger(world, actor, call);
  }
}

Answer FencesModel::change_ledger(World& world, uint8_t actor, const Call& call) const {
  Host& host = world.hosts[scene_.roles[actor].host];
  const bool is_owner = host.owner == actor;
  Answer answer;
  switch (call.what) {
    case What::kIntend:
    case What::kIntendOnRecord:
      if (call.what == What::kIntendOnRecord && host.record != RecordState::kReady)
        return failed(Code::kNotFound);
      host.row = RowState::kIntent;
      host.owner = actor;
      host.had_lease = true;
      host.taken.clear();
      return answer;
    case What::kTakeWarm:
      if (host.row != RowState::kIntent || !is_owner) return failed(Code::kBusy);
      host.taken = call.name;
      return answer;
    case What::kRun:
      // A lease that was released meanwhile has no container.
      if (host.row != RowState::kIntent || !is_owner) return failed(Code::kBusy);
      host.row = RowState::kRunning;
      host.owner = kNobody;
      host.runs = true;
      return answer;
    case What::kEnd:
      host.runs = false;
      return answer;
    case What::kTakeOver: {
      const bool is_held = host.owner != kNobody && !is_owner && host.owner < world.actors.size() &&
                           world.actors[host.owner].life == Life::kGoes;
      if (host.row == RowState::kNone || host.runs || is_held) return failed(Code::kBusy);
      host.row = RowState::kReleasing;
      host.owner = actor;
      if (!host.taken.empty()) {
        answer.partitions.emplace_back();
        answer.partitions.back().id = host.taken;
      }
      return answer;
    }
    case What::kForget:
      if (!is_owner) return failed(Code::kBusy);
      host.row = RowState::kNone;
      host.owner = kNobody;
      host.taken.clear();
      return answer;
    case What::kRecordFence:
      world.is_recorded = true;
      return answer;
    case What::kMakeRecord:
    case What::kRemoveRecord:
    case What::kReadyRecord:
    case What::kSeizeRecord:
    case What::kDropRecord:
    case What::kReadRecord:
      return change_record(world, actor, call);
    default:
      answer.row = host.row;
      answer.had_lease = host.had_lease;
      return answer;
  }
}

Answer FencesModel::change_record(World& world, uint8_t actor, const Call& call) const {
  Host& host = world.hosts[scene_.roles[actor].host];
  const bool is_held = host.record_owner != kNobody && host.record_owner != actor &&
                       host.record_owner < world.actors.size() &&
                       world.actors[host.record_owner].life == Life::kGoes;
  const bool is_own = host.record_owner == actor;
  Answer answer;
  switch (call.what) {
    case What::kMakeRecord:
    case What::kRemoveRecord:
      if (host.record != RecordState::kNone) return failed(Code::kExists);
      host.record = call.what == What::kMakeRecord ? RecordState::kIntent : RecordState::kRemoving;
      host.record_name = call.name;
      host.record_owner = actor;
      return answer;
    case What::kReadyRecord:
      if (host.record != RecordState::kIntent || !is_own) return failed(Code::kBusy);
      host.record = RecordState::kReady;
      host.record_owner = kNobody;
      return answer;
    case What::kSeizeRecord: {
      // A reservation that a container has does not end.
      const bool is_used = host.record == RecordState::kReady && host.row != RowState::kNone;
      // gc leaves one that is READY alone; who ends it gives its name.
      const bool is_wanted = host.record != RecordState::kReady || call.name == host.record_name;
      if (host.record == RecordState::kNone || is_held || is_used || !is_wanted)
        return failed(Code::kBusy);
      host.record = RecordState::kRemoving;
      host.record_owner = actor;
      answer.partitions.emplace_back();
      answer.partitions.back().id = host.record_name;
      return answer;
    }
    case What::kDropRecord:
      if (!is_own) return failed(Code::kBusy);
      host.record = RecordState::kNone;
      host.record_owner = kNobody;
      host.record_name.clear();
      return answer;
    default:
      answer.record = host.record;
      answer.partitions.emplace_back();
      answer.partitions.back().id = host.record_name;
      return answer;
  }
}

std::string FencesModel::wrong_in(World& world) const {
  const std::string wrong = wrong_warm(world);
  if (!wrong.empty()) return wrong;

  // A container with a GCD of a partition that operators named has it until its claim is removed:
  // who fences a host says that it is off.
  bool has_gcd = false;
  for (uint8_t host = 0; host < kHosts; ++host) {
    const bool on_gcd = is_on_gcd(host);
    const std::string& taken = world.hosts[host].taken;
    const bool on_reserved = is_on_reserved(host);
    const std::string own = on_reserved ? reserved_of(host) : partition_of(host);
    const bool is_known =
        is_there(world, on_reserved ? str(kPrefix, "grants/", kPool, '/', reserved_of(host))
                                    : key_of(host, on_gcd));
    const auto made = world.partitions.find(taken.empty() ? own : taken);
    const bool is_cut_off =
        is_fenced(world, host) && (on_gcd ? !is_known : made == world.partitions.end());
    if (world.hosts[host].runs && !is_cut_off) {
      if (!is_known && (on_gcd || !made->second.after_fence))
        return "a container has what the store does not know";
      if (!on_gcd && made == world.partitions.end())
        return "a partition is removed under a container";
      if (on_gcd && std::exchange(has_gcd, true)) return "two containers have one GCD";
    }
    if (made != world.partitions.end() && !made->second.after_fence && !is_known)
      return "there is a partition that the store does not know";
  }
  if (!is_finished(world)) return "";
  for (const std::string& name : {partition_of(0), reserved_of(0)}) {
    const auto made = world.partitions.find(name);
    if (made != world.partitions.end() && !made->second.after_fence)
      return "a fence is finished, and a partition is left";
  }
  const bool has_grant = is_there(world, str(kPrefix, "grants/", kPool, '/', reserved_of(0)));
  if (has_grant || is_there(world, key_of(0, is_on_gcd(0))))
    return "a fence is finished, and a key is left";
  if (!has_warm(scene_.roles)) return "";
  std::vector<Error> obstacles;
  const hook::fleet::Fleet fleet{world.store, kPrefix, kEver, kFleetId};
  for (const hook::fleet::Warm& one : hook::fleet::list_warm(fleet, kPool, obstacles).take())
    if (one.changer == tag_of(0)) return "a fence is finished, and a warm record is left";
  return "";
}

// Whose a warm partition is, by the store and by the controller.
std::string FencesModel::wrong_warm(World& world) const {
  if (!has_warm(scene_.roles)) return "";
  std::vector<Error> obstacles;
  const hook::fleet::Fleet fleet{world.store, kPrefix, kEver, kFleetId};
  std::set<std::string> known;
  for (const hook::fleet::Warm& one : hook::fleet::list_warm(fleet, kPool, obstacles).take()) {
    known.insert(one.name);
    if (one.phase == hook::fleet::WarmPhase::kIdle && !world.partitions.contains(one.name))
      return "a warm partition is idle, and its controller does not have it";
  }
  for (const hook::fleet::Grant& one : hook::fleet::list_grants(fleet, obstacles).take())
    if (!one.partition.empty() && !known.insert(one.partition).second)
      return "two have one warm partition";
  for (const auto& [name, made] : world.partitions)
    if (vipu::is_of_fleet(name) && !made.after_fence && !known.contains(name))
      return "there is a warm partition that the store does not know";
  return "";
}

// Whether NAME is a warm partition that is idle.
bool FencesModel::is_idle(World& world, const std::string& name) {
  std::vector<Error> obstacles;
  const hook::fleet::Fleet fleet{world.store, kPrefix, kEver, kFleetId};
  for (const hook::fleet::Warm& one : hook::fleet::list_warm(fleet, kPool, obstacles).take())
    if (one.name == name) return one.phase == hook::fleet::WarmPhase::kIdle;
  return false;
}

// Whether NAME is the partition of a reservation that goes on.
bool FencesModel::is_reserved(const World& world, const std::string& name) {
  for (const Host& host : world.hosts)
    if (host.record == RecordState::kReady && host.record_name == name) return true;
  return false;
}

// Runs an actor of its own until it has ended.
void FencesModel::run_alone(World& world, const Role& role) {
  scene_.roles.push_back(role);
  world.actors.push_back({});
  const auto actor = static_cast<uint8_t>(world.actors.size() - 1);
  std::vector<Answer> answers;
  for (;;) {
    std::vector<const Answer*> log;
    for (const Answer& one : answers) log.push_back(&one);
    const std::optional<Call> call = next_call(scene_, role, std::move(log));
    if (!call) break;
    answers.push_back(carry_out(world, actor, *call));
  }
  world.actors[actor].life = Life::kDone;
  scene_.roles.pop_back();
}

std::string FencesModel::wrong_at_end(World world) {
  const size_t roles = scene_.roles.size();
  // A host that is off is heard of no more.
  if (!world.hosts[0].is_on) world.store.advance(hook::fleet::kAliveTime);
  for (Host& host : world.hosts)
    if (!host.is_on) host.runs = false;
  // A container of a fenced host ends when that beats; others run until they end by themselves.
  for (uint8_t host = 0; host < kHosts; ++host) {
    if (!world.hosts[host].is_on) continue;
    run_alone(world, {Job::kKeep, host});
    world.actors.resize(roles);
    // An operator has it forgotten, so that it may change the store again.
    const bool has_pool = has_warm(scene_.roles);
    if (has_pool && is_fenced(world, host) && !world.hosts[host].runs) {
      const hook::fleet::Fleet fleet{world.store, kPrefix, kEver, kFleetId};
      (void)hook::fleet::forget_fence(fleet, tag_of(host));
      run_alone(world, {Job::kCollect, host});
      world.actors.resize(roles);
    }
    if (is_fenced(world, host) && world.hosts[host].runs)
      return "a container of a host that was declared dead runs on after its beat";
    if (world.hosts[host].runs) {
      world.hosts[host].runs = false;
      run_alone(world, {Job::kCollect, host});
      world.actors.resize(roles);
    }
  }
  // fence-due does so, or an operator.
  if (!world.hosts[0].is_on && !is_finished(world)) {
    run_alone(world, {Job::kFence, 1});
    world.actors.resize(roles);
  }
  // One of a dead host that its controller made for it after the fence is for 'host fence' again.
  // So is a warm one: the store has forgotten it, so its maker leaves it to a person.
  for (const auto& [name, made] : world.partitions) {
    const bool is_persons = made.after_fence && (!world.hosts[0].is_on || vipu::is_of_fleet(name));
    if (!is_persons && !is_idle(world, name) && !is_reserved(world, name))
      return str("a partition is left: ", name);
  }
  for (const hook::fleet::KeyValue& one : world.store.list(kPrefix, kEver).take().keys) {
    for (const char* what : {"/claims/", "/grants/", "/queue/", "/warm/"}) {
      const std::string name = one.key.substr(one.key.rfind('/') + 1);
      const bool stays = name == "turn" || is_idle(world, name) || is_reserved(world, name);
      if (!stays && one.key.find(what) != std::string::npos) return str("a key is left: ", one.key);
    }
  }
  return "";
}

}  // namespace model::fences
