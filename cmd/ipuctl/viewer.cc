// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/viewer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "cmd/ipu-agent/protocol/reply.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::Ledger;
using hook::ledger::PartitionRecord;

// Gives each name the same alias throughout an output.
class Aliases {
 public:
  void hide(std::string& name) {
    if (name.empty()) return;
    const auto [alias, is_new] = aliases_.try_emplace(name, str("other-", aliases_.size() + 1));
    name = alias->second;
  }

 private:
  std::map<std::string, std::string> aliases_;
};

// What is left says how much of which pool is taken, in which state and since when.
Lease without_names(const Lease& lease, Aliases& aliases) {
  Lease hidden;
  hidden.container = lease.container;
  aliases.hide(hidden.container);
  hidden.pool = lease.pool;
  hidden.gcd = lease.gcd;
  hidden.origin = lease.origin;
  hidden.ipus = lease.ipus;
  hidden.state = lease.state;
  hidden.created_ms = lease.created_ms;
  hidden.changed_ms = lease.changed_ms;
  return hidden;
}

// Returns who had logged in when the lease began; -1 if that is not known.
Result<int64_t> user_who_started(Ledger& ledger, const Lease& lease) {
  const std::vector<hook::ledger::Event> events = TRY(ledger.events().of_lease(lease.id));
  if (events.empty()) return -1;
  const Result<base::Json> details = base::parse_json(events.front().details, "an event");
  if (!details.ok() || !details.value().is_object()) return -1;
  const Result<int64_t> user = base::get_int(details.value(), "loginuid", "an event");
  return user.ok() ? user.value() : -1;
}

Error none_of_yours(const std::string& text) {
  return {Code::kNotFound,
          str("no lease or container of yours is called ", quote(text),
              "; containers of docker are yours only with a reservation of yours")};
}

}  // namespace

Viewer Viewer::of_agent(uid_t uid) {
  Viewer viewer;
  viewer.by_agent_ = true;
  if (uid == 0) return viewer;
  viewer.user_ = uid;
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (config.ok()) viewer.policy_ = config.value().agent;
  return viewer;
}

bool Viewer::owns(const PartitionRecord& reservation) const {
  return !user_ || reservation.user == int64_t{*user_};
}

bool Viewer::owns(const hook::ledger::Waiter& waiter) const {
  if (!user_) return true;
  // Another host may know other users by the same numbers.
  return waiter.host.empty() && waiter.user == int64_t{*user_};
}

Result<bool> Viewer::owns(Ledger& ledger, const Lease& lease) const {
  if (!user_) return true;
  const auto record = TRY(ledger.partitions().find(lease.pool, lease.partition));
  if (record && !record->reservation.empty() && owns(*record)) return true;
  return TRY(user_who_started(ledger, lease)) == int64_t{*user_};
}

Status Viewer::keep_own(Ledger& ledger, std::vector<hook::ledger::Waiter>& waiters) const {
  if (!user_) return {};
  std::set<std::string> own;  // containers
  for (const Lease& lease : TRY(ledger.live())) {
    if (TRY(owns(ledger, lease))) own.insert(lease.container);
  }
  std::erase_if(waiters, [&](const hook::ledger::Waiter& waiter) {
    return !owns(waiter) && !(waiter.host.empty() && own.contains(waiter.container));
  });
  return {};
}

Status Viewer::hide_others(Ledger& ledger, Overview& overview) const {
  if (sees_all()) return {};
  Aliases aliases;
  std::set<std::string> own;
  for (Lease& lease : overview.leases) {
    if (TRY(owns(ledger, lease))) {
      own.insert(lease.container);
    } else {
      lease = without_names(lease, aliases);
    }
  }
  for (Place& place : overview.queue) {
    hook::ledger::Waiter& waiter = place.waiter;
    if (owns(waiter) || (waiter.host.empty() && own.contains(waiter.container))) continue;
    place.ticket.clear();
    aliases.hide(waiter.container);
    waiter.resource = pool_of(waiter);
    waiter.bundle.clear();
    waiter.tenant.clear();
    waiter.owner = {};
  }
  for (PartitionRecord& record : overview.reservations) {
    if (owns(record)) continue;
    aliases.hide(record.reservation);
    record.name.clear();
    record.reserved_for.clear();
    record.tenant.clear();
  }
  return {};
}

// Never waits: a user who does not read must not keep a place in the queue.
void Viewer::tell(const std::string& line) const {
  if (!by_agent_) {
    (void)std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  const std::string text = agent::reply_line({0, "", {}, line});
  (void)::send(STDOUT_FILENO, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<Lease> find_lease_of(const Viewer& viewer, Ledger& ledger, const std::string& text) {
  if (viewer.sees_all()) return find_lease(ledger, text);
  std::vector<Lease> own;
  for (Lease& lease : TRY(ledger.live())) {
    if (TRY(viewer.owns(ledger, lease))) own.push_back(std::move(lease));
  }
  const Names names = names_of(own);
  std::vector<Lease> meant;
  for (const Lease& lease : own) {
    if (lease.id == text || lease.container == text) return lease;
    const bool begins = lease.id.starts_with(text) || lease.container.starts_with(text);
    if (begins || name_in(names, lease.container) == text) meant.push_back(lease);
  }
  if (meant.size() == 1) return meant.front();
  if (meant.size() > 1)
    return Error(Code::kInvalid, str(quote(text), " matches several; give more of the id"));
  // A lease that has ended, by its whole id.
  Result<Lease> ended = ledger.get(text);
  const bool is_whole = ended.ok() && (ended.value().id == text || ended.value().container == text);
  if (is_whole && TRY(viewer.owns(ledger, ended.value()))) return ended;
  return none_of_yours(text);
}

}  // namespace ipuctl
