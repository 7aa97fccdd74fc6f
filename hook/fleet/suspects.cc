// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/suspects.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "hook/fleet/keys.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;
using std::chrono::milliseconds;

std::string turn_key(const std::string& prefix) { return prefix + "fencing"; }

int64_t in_ms(milliseconds time) { return time.count(); }

Json to_json(const std::map<std::string, Suspicion>& suspicions) {
  Json all = Json::object();
  for (const auto& [tag, one] : suspicions)
    all[tag] = {{"record", one.record},
                {"since_ms", one.since_ms},
                {"asked_ms", one.asked_ms},
                {"failing_ms", one.failing_ms},
                {"failure", one.failure}};
  return all;
}

Result<std::map<std::string, Suspicion>> read_suspicions(const Json& json, const char* key) {
  std::map<std::string, Suspicion> suspicions;
  const auto all = json.find(key);
  if (all == json.end() || !all->is_object()) return Error(Code::kInvalid, str("suspects: ", key));
  for (const auto& [tag, one] : all->items()) {
    Suspicion& suspicion = suspicions[tag];
    suspicion.record = TRY(base::get_int(one, "record", "suspects"));
    suspicion.since_ms = TRY(base::get_int(one, "since_ms", "suspects"));
    suspicion.asked_ms = TRY(base::get_int(one, "asked_ms", "suspects"));
    suspicion.failing_ms = TRY(base::get_int(one, "failing_ms", "suspects"));
    suspicion.failure = TRY(base::get_string(one, "failure", "suspects"));
  }
  return suspicions;
}

Result<Observation> read_observation(const Json& json) {
  Observation seen;
  seen.boot = TRY(base::get_string(json, "boot", "suspects"));
  seen.at_ms = TRY(base::get_int(json, "at_ms", "suspects"));
  seen.turn = TRY(base::get_int(json, "turn", "suspects"));
  seen.turn_since_ms = TRY(base::get_int(json, "turn_since_ms", "suspects"));
  seen.suspects = TRY(read_suspicions(json, "hosts"));
  seen.fences = TRY(read_suspicions(json, "fences"));
  return seen;
}

// Returns BEFORE if it was of the same record, and else one that begins now.
Suspicion go_on(const std::map<std::string, Suspicion>& before, const std::string& tag,
                int64_t record, int64_t now_ms) {
  const auto known = before.find(tag);
  if (known != before.end() && known->second.record == record) return known->second;
  return Suspicion{record, now_ms};
}

}  // namespace

std::string to_text(const Observation& seen) {
  return base::to_text(Json{{"boot", seen.boot},
                            {"at_ms", seen.at_ms},
                            {"turn", seen.turn},
                            {"turn_since_ms", seen.turn_since_ms},
                            {"hosts", to_json(seen.suspects)},
                            {"fences", to_json(seen.fences)}});
}

Observation parse_observation(const std::string& text) {
  const Result<Json> json = base::parse_json(text, "suspects");
  if (!json.ok()) return {};
  Result<Observation> seen = read_observation(json.value());
  return seen.ok() ? std::move(seen).take() : Observation();
}

Observation observe(const Observation& before, const Look& look) {
  const int64_t gap = look.now_ms - before.at_ms;
  const bool goes_on = before.boot == look.boot && gap >= 0 && gap <= in_ms(kLongestGap);
  Observation now{look.boot, look.now_ms, look.turn, look.now_ms, {}, {}};
  if (goes_on && before.turn == look.turn) now.turn_since_ms = before.turn_since_ms;
  const Observation seen = goes_on ? before : Observation();
  for (const HostState& one : look.hosts) {
    if (one.is_alive || one.is_fenced) continue;
    now.suspects[one.host.tag] = go_on(seen.suspects, one.host.tag, one.modified, look.now_ms);
  }
  for (const FenceFacts& one : look.fences) {
    if (one.is_finished) continue;
    now.fences[one.host] = go_on(seen.fences, one.host, one.modified, look.now_ms);
  }
  return now;
}

std::vector<std::string> find_unfinished(const Observation& seen,
                                         const std::vector<HostState>& hosts,
                                         const std::string& me) {
  std::vector<std::string> tags;
  const bool is_well = std::any_of(hosts.begin(), hosts.end(), [&](const HostState& one) {
    return one.host.tag == me && one.is_alive && !one.is_fenced;
  });
  for (const auto& [tag, one] : seen.fences)
    if (is_well && tag != me && seen.at_ms - one.since_ms >= in_ms(kUnfinishedTime))
      tags.push_back(tag);
  return tags;
}

Due find_due(const Observation& seen, const std::vector<HostState>& hosts, const std::string& me,
             milliseconds after) {
  Due due;
  size_t members = 0;
  size_t suspects = 0;
  bool is_alive = false;
  for (const HostState& one : hosts) {
    if (one.is_fenced) continue;
    ++members;
    if (one.is_alive) {
      is_alive = is_alive || one.host.tag == me;
      continue;
    }
    ++suspects;
    const auto known = seen.suspects.find(one.host.tag);
    const bool is_long =
        known != seen.suspects.end() && seen.at_ms - known->second.since_ms >= in_ms(after);
    if (is_long && one.host.tag != me) due.hosts.push_back(one);
  }
  if (due.hosts.empty()) return due;
  const bool is_early = seen.turn != 0 && seen.at_ms - seen.turn_since_ms < in_ms(kFencePause);
  if (!is_alive) {
    due.why_not = "this host is not alive in the fleet itself";
  } else if (2 * suspects > members) {
    due.why_not = str(suspects, " of ", members,
                      " hosts are suspect at once, so etcd or the network is sick, and not they");
  } else if (is_early) {
    due.why_not = "a host was fenced less than a minute ago";
  }
  if (!due.why_not.empty()) due.hosts.clear();
  const auto place = [&](const HostState& one) {
    const Suspicion& suspicion = seen.suspects.at(one.host.tag);
    return std::pair(suspicion.asked_ms, suspicion.since_ms);
  };
  std::stable_sort(due.hosts.begin(), due.hosts.end(),
                   [&](const HostState& a, const HostState& b) { return place(a) < place(b); });
  return due;
}

Result<int64_t> find_turn(Store& store, const std::string& prefix, const Deadline& deadline) {
  const std::optional<KeyValue> last = TRY(find_key(store, turn_key(prefix), deadline));
  return last ? last->modified : 0;
}

Status take_turn(Store& store, const std::string& prefix, const HostState& host, int64_t turn,
                 const std::string& me, int64_t now_ms, const Deadline& deadline) {
  const std::string& tag = host.host.tag;
  Txn txn;
  txn.compares = {{str(prefix, "hosts/", tag), Compare::What::kModified, host.modified},
                  {fence_key(prefix, tag), Compare::What::kCreated, 0},
                  {turn_key(prefix), Compare::What::kModified, turn}};
  require_silence(txn, prefix, tag);
  txn.puts = {
      {turn_key(prefix), base::to_text(Json{{"host", tag}, {"by", me}, {"at_ms", now_ms}})}};
  const TxnResult result = TRY(store.commit(txn, deadline));
  if (result.done) return {};
  return Error(Code::kBusy, str("fleet: host ", tag,
                                " was heard of meanwhile, or another host was fenced: it is not"
                                " fenced now"));
}

}  // namespace hook::fleet
