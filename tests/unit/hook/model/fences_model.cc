// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/hook/model/fences_model.h"

#include <algorithm>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/queue.h"
#include "hook/fleet/warm.h"

namespace model::fences {
namespace {

using namespace base::names;
using What = Call::What;

Deadline soon() { return Deadline::after(std::chrono::minutes(10)); }

std::string text_of_keys(const std::vector<hook::fleet::KeyValue>& keys) {
  std::string text;
  for (const hook::fleet::KeyValue& one : keys)
    text += str(one.key, '=', one.value, '@', one.created, '-', one.modified, ';');
  return text;
}

std::string exact_text(const Answer& answer) {
  std::string text = answer.error ? str("error ", static_cast<int>(answer.error->code())) : "";
  text += str('|', answer.txn.done, answer.txn.revision, text_of_keys(answer.txn.found), '|',
              text_of_keys(answer.listing.keys), '|', answer.lease.id, '|',
              static_cast<int>(answer.row), answer.had_lease, static_cast<int>(answer.record), '|');
  for (const vipu::Partition& one : answer.partitions) text += one.id + ",";
  return text;
}

// A key that an actor has seen matters by whether it is still as it was seen: the product compares
// revisions with nothing else. Of tickets the order counts, too, but there is one.
std::string seen_text(const std::vector<hook::fleet::KeyValue>& seen,
                      const std::map<std::string, int64_t>& now) {
  std::string text;
  for (const hook::fleet::KeyValue& one : seen) {
    const auto at = now.find(one.key);
    const bool is_same = at != now.end() && at->second == one.modified;
    text += str(one.key, '=', one.value, is_same ? "=" : "!");
  }
  return text;
}

const char* text_of(What what) {
  switch (what) {
    case What::kCommit:
      return "commits";
    case What::kListKeys:
      return "lists";
    case What::kGrantLease:
    case What::kKeepLease:
    case What::kRevokeLease:
      return "asks for a lease of the store";
    case What::kListPartitions:
      return "lists the partitions";
    case What::kCreate:
      return "creates partition";
    case What::kRemove:
      return "removes partition";
    case What::kReset:
      return "resets partition";
    case What::kIntend:
    case What::kIntendOnRecord:
      return "records a lease";
    case What::kRun:
      return "records that its container runs";
    case What::kEnd:
      return "sees its container end";
    case What::kTakeOver:
      return "begins a release";
    case What::kForget:
      return "ends a release";
    case What::kReadLedger:
      return "reads the ledger";
    case What::kTakeWarm:
      return "records that its lease has";
    case What::kMakeRecord:
      return "records that it makes";
    case What::kRemoveRecord:
    case What::kSeizeRecord:
      return "records that it removes";
    case What::kReadyRecord:
      return "records that it has made";
    case What::kDropRecord:
      return "forgets the partition's record";
    case What::kReadRecord:
      return "reads the partition's record";
    case What::kRecordFence:
      return "is done";
  }
  return "";
}

std::string text_of(const Call& call) {
  std::string text = str(text_of(call.what), call.name.empty() ? "" : " ", call.name);
  for (const hook::fleet::Put& one : call.txn.puts) text += str(" +", one.key);
  for (const std::string& one : call.txn.deletes) text += str(" -", one);
  return text;
}

uint64_t hash_of_text(const std::string& text) { return std::hash<std::string>()(text); }

}  // namespace

FencesModel::FencesModel(const Scene& scene, const Troubles& troubles)
    : scene_(scene), troubles_(troubles) {}

Found FencesModel::run() {
  World world;
  world.left = troubles_;
  world.actors.resize(scene_.roles.size());
  hook::fleet::Txn txn;
  txn.puts = {{kPrefix + "meta", str(R"({"version":1,"id":")", kFleetId, "\"}")},
              {str(kPrefix, "meta/v1/", kFleetId), ""}};
  (void)world.store.commit(txn, soon());
  const hook::fleet::Fleet fleet{world.store, kPrefix, soon(), kFleetId};
  hook::fleet::PartitionView named;
  named.name = {kPool, kNamed};
  named.facts = {tag_of(1), "source", 8, 2};
  (void)hook::fleet::publish(fleet, named);
  if (scene_.is_filled) {
    const hook::fleet::Warm idle = warm_record(scene_, 1);
    (void)hook::fleet::begin_warm(fleet, idle, 1);
    (void)hook::fleet::finish_warm(fleet, idle);
    world.partitions.emplace(idle.name, Made{});
  }
  visit(world);
  return found_;
}

const std::optional<Call>& FencesModel::next_of(const World& world, uint8_t actor) {
  const std::vector<uint32_t>& log = world.actors[actor].log;
  const auto known = next_.find({actor, log});
  if (known != next_.end()) return known->second;
  std::vector<const Answer*> answers;
  for (const uint32_t number : log) answers.push_back(&answers_[number]);
  std::optional<Call> call = next_call(scene_, scene_.roles[actor], std::move(answers));
  return next_.emplace(std::pair(actor, log), std::move(call)).first->second;
}

void FencesModel::take_answer(World& world, uint8_t actor, Answer answer) {
  const auto [at, is_new] =
      numbers_.emplace(exact_text(answer), static_cast<uint32_t>(answers_.size()));
  if (is_new) answers_.push_back(std::move(answer));
  world.actors[actor].log.push_back(at->second);
}

void FencesModel::visit(const World& world) {
  ++found_.states;
  bool is_end = true;
  for (uint8_t actor = 0; actor < world.actors.size() && found_.wrong.empty(); ++actor) {
    if (world.actors[actor].life != Life::kGoes) continue;
    is_end = false;
    step_actor(world, actor);
  }
  if (is_end && found_.wrong.empty()) fail(wrong_at_end(world));
  if (world.left.powers == 0 || !world.hosts[0].is_on || !found_.wrong.empty()) return;
  World dark = world;
  --dark.left.powers;
  dark.hosts[0].is_on = dark.hosts[0].runs = false;
  end_actors_of(dark, 0);
  enter(std::move(dark), "host 0 loses power");
}

void FencesModel::step_actor(const World& world, uint8_t actor) {
  const Role& role = scene_.roles[actor];
  const std::string who = str("[", name_of(role.job), " on host ", int{role.host}, "] ");
  const std::optional<Call> call = next_of(world, actor);
  if (!call) {
    World after = world;
    after.actors[actor].life = Life::kDone;
    return enter(std::move(after), who + "ends");
  }
  step_call(world, actor, *call, Fate::kAnswered);
  const bool is_ledgers = call->what >= What::kIntend;
  if (world.left.failures > 0 && !is_ledgers) step_call(world, actor, *call, Fate::kFails);
  const bool reads = call->what == What::kListKeys || call->what == What::kListPartitions;
  if (world.left.losses > 0 && !is_ledgers && !reads) step_call(world, actor, *call, Fate::kLost);
  if (world.left.kills == 0 || world.actors[actor].log.empty()) return;
  World after = world;
  --after.left.kills;
  after.actors[actor].life = Life::kKilled;
  enter(std::move(after), who + "is killed");
}

void FencesModel::step_call(const World& world, uint8_t actor, const Call& call, Fate fate) {
  if (!found_.wrong.empty()) return;
  World after = world;
  Answer answer;
  if (fate == Fate::kFails) {
    --after.left.failures;
    answer.error = Error(Code::kUnavailable, "down");
  } else {
    answer = carry_out(after, actor, call);
  }
  if (fate == Fate::kLost) {
    --after.left.losses;
    answer = Answer{Error(Code::kTimeout, "no answer")};
  }
  take_answer(after, actor, std::move(answer));
  const Role& role = scene_.roles[actor];
  const char* const end = fate == Fate::kFails  ? ", which fails"
                          : fate == Fate::kLost ? ", and gets no answer"
                                                : "";
  enter(std::move(after),
        str("[", name_of(role.job), " on host ", int{role.host}, "] ", fences::text_of(call), end));
}

void FencesModel::enter(World world, std::string what) {
  ++found_.transitions;
  if (!found_.wrong.empty()) return;
  const bool is_new = seen_.insert(hash_of_text(text_of(world))).second;
  if (!is_new) return;
  path_.push_back(std::move(what));
  std::string wrong = wrong_in(world);
  if (wrong.empty()) visit(world);
  if (!wrong.empty()) fail(std::move(wrong));
  if (!found_.wrong.empty() && found_.trace.empty()) found_.trace = path_;
  path_.pop_back();
}

bool FencesModel::is_on_gcd(uint8_t host) const {
  return std::any_of(scene_.roles.begin(), scene_.roles.end(), [&](const Role& one) {
    return one.host == host && one.job == Job::kStartOnGcd;
  });
}

bool FencesModel::is_on_reserved(uint8_t host) const {
  return std::any_of(scene_.roles.begin(), scene_.roles.end(), [&](const Role& one) {
    return one.host == host && one.job == Job::kStartReserved;
  });
}

void FencesModel::end_actors_of(World& world, uint8_t host) const {
  for (size_t i = 0; i < world.actors.size(); ++i)
    if (scene_.roles[i].host == host && world.actors[i].life == Life::kGoes)
      world.actors[i].life = Life::kKilled;
}

std::string FencesModel::text_of(World& world) const {
  const hook::fleet::Listing listing = world.store.list("", soon()).take();
  std::map<std::string, int64_t> now;
  std::string text;
  for (const hook::fleet::KeyValue& one : listing.keys) {
    now[one.key] = one.modified;
    text += str(one.key, '=', one.value, one.lease != 0 ? "L;" : ";");
  }
  for (const auto& [name, made] : world.partitions) text += str(name, made.after_fence, ',');
  for (const Host& host : world.hosts)
    text += str('/', host.is_on, host.runs, host.had_lease, static_cast<int>(host.row), '-',
                int{host.owner}, host.taken, '-', static_cast<int>(host.record), host.record_name,
                '-', int{host.record_owner});
  const Troubles& left = world.left;
  text += str('/', int{left.failures}, int{left.losses}, int{left.kills}, int{left.powers},
              world.is_recorded);
  for (const Actor& actor : world.actors) {
    text += str('#', static_cast<int>(actor.life));
    if (actor.life != Life::kGoes) continue;
    for (const uint32_t number : actor.log) {
      const Answer& answer = answers_[number];
      text += str('.', answer.error ? static_cast<int>(answer.error->code()) : -1, answer.txn.done,
                  static_cast<int>(answer.row), answer.had_lease, static_cast<int>(answer.record),
                  seen_text(answer.txn.found, now), seen_text(answer.listing.keys, now));
      for (const vipu::Partition& one : answer.partitions) text += one.id;
    }
  }
  return text;
}

}  // namespace model::fences
