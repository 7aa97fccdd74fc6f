// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print_lease.h"

#include <map>
#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/ipuctl/lease_json.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/queue_commands.h"
#include "hook/lifecycle/partitions/ownership.h"
#include "hook/lifecycle/queue_turn.h"

namespace ipuctl {
namespace {

using base::Json;
using base::quote, base::str;

std::string addresses(const hook::ledger::Lease& lease) {
  std::string text;
  for (const hook::ledger::RailLease& rail : lease.rails) {
    text += str(text.empty() ? "" : ",", netns::to_string(rail.address));
  }
  return text.empty() ? "-" : text;
}

std::string gcd_cell(const hook::ledger::Lease& lease) {
  return lease.gcds > 1 ? "all" : str(lease.gcd);
}

}  // namespace

Json lease_json(const hook::ledger::Lease& lease) {
  Json json = {{"lease", lease.id},
               {"container", lease.container},
               {"state", name_of(lease.state)},
               {"pool", lease.pool},
               {"controller", lease.controller},
               {"partition", lease.partition},
               {"gcd", lease.gcd},
               {"gcds", lease.gcds},
               {"origin", name_of(lease.origin)},
               {"ipus", lease.ipus},
               {"tenant", lease.tenant},
               {"pid", lease.owner.pid},
               {"bundle", lease.bundle},
               {"created", base::rfc3339(lease.created_ms)},
               {"changed", base::rfc3339(lease.changed_ms)},
               {"error", lease.error},
               {"obstacle", lease.obstacle},
               {"rails", Json::array()},
               {"devices", Json::array()}};
  for (const hook::ledger::RailLease& rail : lease.rails) {
    json["rails"].push_back({{"interface", rail.interface},
                             {"parent", rail.parent},
                             {"address", netns::to_string(rail.address)},
                             {"mac", netns::to_string(rail.mac)}});
  }
  for (const hook::ledger::LeasedIpu& ipu : lease.devices) {
    json["devices"].push_back({{"address", netns::to_string(ipu.address)},
                               {"device", ipu.device},
                               {"server_port", ipu.server_port},
                               {"rdma_port", ipu.rdma_port}});
  }
  return json;
}

namespace {

Json pinned_json(const std::optional<vipu::Block>& pinned) {
  if (!pinned) return nullptr;
  return {{"first", pinned->first}, {"ipus", pinned->size}};
}

Json to_json(const Place& place, const Names& names) {
  const hook::ledger::Waiter& waiter = place.waiter;
  return {{"position", place.position},
          {"length", place.length},
          {"resource", waiter.resource},
          {"container", waiter.container},
          {"name", name_in(names, waiter.container)},
          {"ipus", waiter.ipus},
          {"tenant", waiter.tenant},
          {"pinned", pinned_json(waiter.pinned)},
          {"pid", waiter.owner.pid},
          {"since", base::rfc3339(waiter.since_ms)},
          {"until", base::rfc3339(waiter.until_ms)}};
}

Json containers_of(const std::vector<hook::ledger::Waiter>& waiters) {
  Json json = Json::array();
  for (const hook::ledger::Waiter& waiter : waiters) json.push_back(waiter.container);
  return json;
}

std::string removed_text(const hook::ledger::Waiter& waiter) {
  const bool is_reservation = waiter.container.starts_with(hook::lifecycle::kReservationWaiter);
  const std::string on = waiter.host.empty() ? "" : str(" on host ", waiter.host);
  return str("removed ", is_reservation ? "" : "container ", waiter.container, on,
             " from the queue for ", waiter.resource, "\n");
}

std::string not_judged(const hook::lifecycle::Judged& judged) {
  return str("kept lease ", judged.lease.id, " of container ", judged.lease.container,
             ", because it cannot be judged from here: ", judged.judgement.because, "\n");
}

std::string text_of(const base::Result<netns::Presence>& seen) {
  if (!seen.ok()) return str("unknown (", seen.error().message(), ")");
  return seen.value() == netns::Presence::kThere ? "there" : "gone";
}

std::string line_of(const hook::lifecycle::end::RemainingLease& remaining) {
  const hook::lifecycle::Judged& judged = remaining.judged;
  if (judged.judgement.life == hook::lifecycle::Life::kUnknown) return not_judged(judged);
  const std::string what = str("lease ", judged.lease.id, " of container ", judged.lease.container,
                               ": ", judged.judgement.because);
  if (judged.judgement.life == hook::lifecycle::Life::kRuns) return str("would keep ", what, "\n");
  std::string effects;
  for (const auto& [name, seen] : remaining.effects) {
    effects += str(effects.empty() ? "; " : ", ", name, ": ", text_of(seen));
  }
  return str("would release ", what, effects, "\n");
}

Json to_json(const hook::lifecycle::Judged& judged) {
  Json json = lease_json(judged.lease);
  json["because"] = judged.judgement.because;
  return json;
}

Json to_json(const hook::lifecycle::end::Remains& remains) {
  using hook::lifecycle::Life;
  std::map<Life, Json> lists = {
      {Life::kRuns, Json::array()}, {Life::kEnded, Json::array()}, {Life::kUnknown, Json::array()}};
  for (const hook::lifecycle::end::RemainingLease& remaining : remains.leases) {
    Json json = to_json(remaining.judged);
    for (const auto& [name, seen] : remaining.effects) {
      json["effects"][std::string(name)] = text_of(seen);
    }
    lists[remaining.judged.judgement.life].push_back(std::move(json));
  }
  Json partitions = Json::array();
  for (const hook::ledger::PartitionRecord& record : remains.partitions)
    partitions.push_back(record.name);
  Json endpoints = Json::array();
  for (const hook::ledger::Endpoint& ended : remains.endpoints) endpoints.push_back(ended.lease);
  return {{"would_release", lists[Life::kEnded]},      {"would_keep", lists[Life::kRuns]},
          {"unknown", lists[Life::kUnknown]},          {"partitions", std::move(partitions)},
          {"waiters", containers_of(remains.waiters)}, {"endpoints", std::move(endpoints)}};
}

Json to_json(const hook::lifecycle::end::Reconciled& reconciled,
             const std::vector<hook::ledger::Waiter>& waiters) {
  Json obstacles = Json::array();
  for (const base::Error& obstacle : reconciled.obstacles) obstacles.push_back(obstacle.message());
  Json unknown = Json::array();
  for (const hook::lifecycle::Judged& judged : reconciled.unknown)
    unknown.push_back(to_json(judged));
  return {{"released", reconciled.released},     {"adopted", reconciled.adopted},
          {"partitions", reconciled.partitions}, {"waiters", containers_of(waiters)},
          {"endpoints", reconciled.endpoints},   {"unknown", std::move(unknown)},
          {"obstacles", std::move(obstacles)}};
}

std::string ipus_text(uint32_t ipus) { return ipus == 0 ? "-" : str(ipus); }

std::string short_text(const hook::ledger::Waiter& waiter) {
  const bool is_reservation = waiter.container.starts_with(hook::lifecycle::kReservationWaiter);
  return is_reservation ? "reservation" : base::short_id(waiter.container);
}

// "2nd"
std::string ordinal(size_t number) {
  const size_t tens = number / 10 % 10;
  const size_t ones = tens == 1 ? 0 : number % 10;
  return str(number, ones == 1 ? "st" : ones == 2 ? "nd" : ones == 3 ? "rd" : "th");
}

std::string position_text(const Place& place) {
  return str(ordinal(place.position), " of ", place.length);
}

// Returns the place of CONTAINER; null if it does not wait.
const Place* place_of(const std::vector<Place>& queue, const std::string& container) {
  for (const Place& place : queue) {
    if (place.waiter.container == container) return &place;
  }
  return nullptr;
}

// Returns the places of the containers that have no lease.
std::vector<Place> without_lease(const std::vector<hook::ledger::Lease>& leases,
                                 const std::vector<Place>& queue) {
  std::set<std::string> with_lease;
  for (const hook::ledger::Lease& lease : leases) with_lease.insert(lease.container);
  std::vector<Place> places;
  for (const Place& place : queue) {
    if (!with_lease.contains(place.waiter.container)) places.push_back(place);
  }
  return places;
}

Json to_json(const Overview& overview, const Names& names) {
  const auto& [leases, queue, reservations] = overview;
  Json list = Json::array();
  for (const hook::ledger::Lease& lease : leases) {
    Json json = lease_json(lease);
    json["name"] = name_in(names, lease.container);
    const Place* const place = place_of(queue, lease.container);
    if (place != nullptr) json["waiting"] = to_json(*place, names);
    list.push_back(std::move(json));
  }
  for (const Place& place : without_lease(leases, queue)) {
    hook::ledger::Lease none;
    none.container = place.waiter.container;
    none.bundle = place.waiter.bundle;
    none.pool = pool_of(place.waiter);
    none.ipus = place.waiter.ipus;
    none.owner = place.waiter.owner;
    none.created_ms = none.changed_ms = place.waiter.since_ms;
    Json json = lease_json(none);
    json["name"] = name_in(names, none.container);
    json["state"] = "WAITING";
    json["waiting"] = to_json(place, names);
    list.push_back(std::move(json));
  }
  for (const hook::ledger::PartitionRecord& record : reservations) {
    hook::ledger::Lease none;
    none.pool = record.pool;
    none.controller = record.source;
    none.partition = record.name;
    none.origin = hook::ledger::Origin::kNamed;
    none.ipus = record.ipus;
    none.tenant = record.tenant.empty() ? record.reserved_for : record.tenant;
    none.created_ms = none.changed_ms = record.created_ms;
    Json json = lease_json(none);
    json["name"] = record.reservation;
    json["state"] = reservation_state(record);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string pool_of(const hook::ledger::Waiter& waiter) {
  return waiter.resource.substr(0, waiter.resource.find('/'));
}

std::vector<Place> places_of(std::vector<hook::ledger::Waiter> waiters) {
  std::map<std::string, size_t> lengths;  // by resource
  std::vector<Place> places;
  for (hook::ledger::Waiter& waiter : waiters) {
    const size_t position = ++lengths[waiter.resource];
    places.push_back({position, 0, std::move(waiter)});
  }
  for (Place& place : places) place.length = lengths[place.waiter.resource];
  return places;
}

std::string overview_text(const Overview& overview, const Names& names, Output output) {
  const bool is_wide = output == Output::kWide;
  if (!is_wide && output != Output::kTable) return list_text(to_json(overview, names), {}, output);
  const auto& [leases, queue, reservations] = overview;
  Rows rows = {{"LEASE", "CONTAINER", "NAME", "POOL", "PARTITION", "GCD", "ORIGIN", "IPUS", "STATE",
                "ADDRESS", "PID", "AGE", "TENANT"}};
  for (const hook::ledger::Lease& lease : leases) {
    const Place* const place = place_of(queue, lease.container);
    const std::string state = place == nullptr ? std::string(name_of(lease.state))
                                               : str("WAITING, ", position_text(*place));
    rows.push_back({or_dash(base::short_id(lease.id)), base::short_id(lease.container),
                    or_dash(name_in(names, lease.container)), lease.pool, or_dash(lease.partition),
                    gcd_cell(lease), std::string(name_of(lease.origin)), str(lease.ipus), state,
                    addresses(lease), str(lease.owner.pid), age(lease.created_ms),
                    or_dash(lease.tenant)});
  }
  for (const Place& place : without_lease(leases, queue)) {
    const hook::ledger::Waiter& waiter = place.waiter;
    rows.push_back({"-", short_text(waiter), or_dash(name_in(names, waiter.container)),
                    pool_of(waiter), "-", "-", "-", ipus_text(waiter.ipus),
                    str("WAITING, ", position_text(place)), "-", str(waiter.owner.pid),
                    age(waiter.since_ms), or_dash(waiter.tenant)});
  }
  for (const hook::ledger::PartitionRecord& record : reservations) {
    rows.push_back({"-", "reservation", record.reservation, record.pool, or_dash(record.name), "-",
                    "NAMED", str(record.ipus), reservation_state(record), "-", "-",
                    age(record.created_ms), or_dash(record.tenant)});
  }
  for (std::vector<std::string>& row : rows) row.resize(row.size() - (is_wide ? 0 : 1));
  return table(rows);
}

std::string waiting_text(const Place& place) {
  const hook::ledger::Waiter& waiter = place.waiter;
  const std::string ipus = waiter.ipus == 0 ? "" : str(waiter.ipus, " IPUs of ");
  return str("WAITING for ", ipus, quote(waiter.resource), ", ", position_text(place), ", since ",
             age(waiter.since_ms), "; gives up in ",
             short_time(waiter.until_ms - base::unix_millis()),
             waiter.pinned ? str("; smaller requests leave IPUs ",
                                 hook::lifecycle::block_text(*waiter.pinned), " to it")
                           : "");
}

std::string cancelled_text(const std::vector<hook::ledger::Waiter>& waiters, Output output) {
  if (output == Output::kJson) return base::to_pretty_text({{"waiters", containers_of(waiters)}});
  std::string text;
  for (const hook::ledger::Waiter& waiter : waiters) text += removed_text(waiter);
  return text.empty() ? "no wait was cancelled\n" : text;
}

std::string lease_text(const hook::ledger::Lease& lease, const std::string& name, Output output) {
  Json json = lease_json(lease);
  json["name"] = name;
  if (output == Output::kJson) return base::to_pretty_text(json);
  Rows rows;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_array()) {
      rows.push_back({key, value.is_string() ? value.get<std::string>() : base::to_text(value)});
    }
  }
  for (const hook::ledger::RailLease& rail : lease.rails) {
    rows.push_back({"rail", str(rail.interface, " on ", rail.parent, ": ",
                                netns::to_string(rail.address), ", ", netns::to_string(rail.mac))});
  }
  for (const hook::ledger::LeasedIpu& ipu : lease.devices) {
    rows.push_back({"ipu", str(netns::to_string(ipu.address), " device ", ipu.device, ", ports ",
                               ipu.server_port, " and ", ipu.rdma_port)});
  }
  return table(rows);
}

std::string queue_text(const std::vector<Place>& queue, const Names& names, Output output,
                       const std::string& tag) {
  Json json = Json::array();
  Rows rows = {{"POSITION", "RESOURCE", "CONTAINER", "NAME", "IPUS", "PINNED", "WAITING", "LEFT"}};
  if (output == Output::kWide) rows[0].push_back("TENANT");
  if (!tag.empty()) rows[0].insert(rows[0].end(), {"HOST", "TICKET"});
  for (const Place& place : queue) {
    const hook::ledger::Waiter& waiter = place.waiter;
    json.push_back(to_json(place, names));
    rows.push_back({str(place.position), waiter.resource, short_text(waiter),
                    or_dash(name_in(names, waiter.container)), ipus_text(waiter.ipus),
                    waiter.pinned ? hook::lifecycle::block_text(*waiter.pinned) : "-",
                    age(waiter.since_ms), short_time(waiter.until_ms - base::unix_millis())});
    if (output == Output::kWide) rows.back().push_back(or_dash(waiter.tenant));
    if (tag.empty()) continue;
    const std::string& host = waiter.host.empty() ? tag : waiter.host;
    json.back()["host"] = host;
    json.back()["ticket"] = place.ticket;
    rows.back().insert(rows.back().end(), {host, or_dash(place.ticket)});
  }
  return list_text(json, rows, output);
}

std::string remains_text(const hook::lifecycle::end::Remains& remains, Output output) {
  if (output == Output::kJson) return base::to_pretty_text(to_json(remains));
  std::string text;
  for (const hook::lifecycle::end::RemainingLease& remaining : remains.leases)
    text += line_of(remaining);
  for (const hook::ledger::PartitionRecord& record : remains.partitions) {
    const bool has_ended = record.state == hook::ledger::PartitionState::kReady;
    const bool is_unsure = !has_ended && hook::lifecycle::partitions::may_be_of_others(record);
    text += str(is_unsure ? "would leave to you partition " : "would remove partition ",
                record.name, " of pool ", record.pool,
                has_ended ? str(", reservation ", record.reservation, ", whose time is over")
                          : str(", left in ", name_of(record.state)),
                "\n");
  }
  for (const hook::ledger::Waiter& waiter : remains.waiters) {
    text += str("would have ", removed_text(waiter));
  }
  for (const hook::ledger::Endpoint& ended : remains.endpoints)
    text += str("would start the V-IPU endpoint of lease ", ended.lease, " again\n");
  return text.empty() ? "nothing to release\n" : text;
}

std::string cleaned_text(const hook::lifecycle::end::Reconciled& reconciled,
                         const std::vector<hook::ledger::Waiter>& waiters, Output output) {
  if (output == Output::kJson) return base::to_pretty_text(to_json(reconciled, waiters));
  std::string text;
  for (const std::string& id : reconciled.released) text += str("released lease ", id, "\n");
  for (const std::string& id : reconciled.adopted) {
    text += str("kept lease ", id, " for the restored container\n");
  }
  for (const std::string& name : reconciled.partitions) {
    text += str("removed partition ", name, "\n");
  }
  for (const std::string& id : reconciled.endpoints)
    text += str("started the V-IPU endpoint of lease ", id, " again\n");
  for (const hook::ledger::Waiter& waiter : waiters) text += removed_text(waiter);
  if (text.empty() && reconciled.obstacles.empty()) text = "nothing to release\n";
  for (const hook::lifecycle::Judged& judged : reconciled.unknown) text += not_judged(judged);
  return text;
}

}  // namespace ipuctl
