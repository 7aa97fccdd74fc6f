// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/queue.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;

constexpr int kMostTries = 10;  // each fails only if somebody has changed the ticket meanwhile
constexpr const char* kWholePool = "*";  // no name of a partition

std::string text_of(const Ticket& ticket) {
  Json json{{"host", ticket.host},          {"container", ticket.container},
            {"tenant", ticket.tenant},      {"ipus", ticket.ipus},
            {"since_ms", ticket.since_ms},  {"until_ms", ticket.until_ms},
            {"user", ticket.user},          {"aged", ticket.is_aged},
            {"overdue", ticket.is_overdue}, {"cancelled", ticket.is_cancelled},
            {"place", ticket.place}};
  if (ticket.pinned) {
    json["pinned_first"] = ticket.pinned->first;
    json["pinned_ipus"] = ticket.pinned->size;
  }
  return base::to_text(json);
}

// A release without backfill in a fleet writes none.
Result<std::optional<vipu::Block>> read_pinned(const Fields& fields) {
  if (!fields.has("pinned_ipus")) return std::optional<vipu::Block>();
  const uint32_t size = TRY(fields.number("pinned_ipus", 1, kMostIpus));
  const uint32_t first = TRY(fields.number("pinned_first", 0, kMostIpus));
  return std::optional<vipu::Block>(vipu::Block{first, size});
}

Result<int64_t> read_time(const Json& json, const char* key) {
  const int64_t time = TRY(base::get_int(json, key, "ticket"));
  if (time >= -1 && time <= kLatestMs) return time;
  return Error(Code::kInvalid, "ticket: a number is out of range");
}

Result<Ticket> read_ticket(const KeyValue& key) {
  const Json json = TRY(base::parse_json(key.value, "ticket"));
  const Fields fields = TRY(Fields::open(json, "ticket"));
  Ticket ticket;
  ticket.id = key.key.substr(key.key.rfind('/') + 1);
  ticket.host = TRY(fields.text("host", kMaxWord));
  ticket.container = TRY(fields.text("container", kMaxWord));
  ticket.tenant = TRY(fields.text("tenant", kMaxWord));
  ticket.ipus = TRY(fields.number("ipus", 0, kMostIpus));
  ticket.since_ms = TRY(read_time(json, "since_ms"));
  ticket.until_ms = TRY(read_time(json, "until_ms"));
  ticket.user = TRY(read_time(json, "user"));
  ticket.is_aged = TRY(read_flag(fields, "aged"));
  ticket.is_overdue = TRY(read_flag(fields, "overdue"));
  ticket.is_cancelled = TRY(read_flag(fields, "cancelled"));
  // Whatever else stands there, nobody passes then.
  const auto pinned = read_pinned(fields);
  if (pinned.ok() && pinned.value() && pinned.value()->size == ticket.ipus)
    ticket.pinned = pinned.value();
  const int64_t place = TRY(base::get_int(json, "place", "ticket"));
  ticket.place = place > 0 && place < key.created ? place : key.created;
  ticket.lease = key.lease;
  ticket.created = key.created;
  ticket.modified = key.modified;
  return ticket;
}

bool comes_first(const Ticket& one, const Ticket& other) {
  return one.place != other.place ? one.place < other.place : one.id < other.id;
}

// Puts TICKET, which is not there, under a new lease. PLACE: that of a ticket that was lost.
Status put_new(const Fleet& fleet, const Resource& resource, Ticket& ticket) {
  const auto ttl = static_cast<uint32_t>(kTicketTime.count());
  const Lease lease = TRY(fleet.store.grant(ttl, fleet.deadline));
  const std::string key = ticket_key(fleet.prefix, resource, ticket.id);
  Txn txn;
  txn.compares = {{key, Compare::What::kCreated, 0},
                  {fence_key(fleet.prefix, ticket.host), Compare::What::kCreated, 0}};
  txn.puts = {{key, text_of(ticket), lease.id}};
  const Result<TxnResult> done = commit_if_known(fleet, txn);
  if (done.ok() && done.value().done) {
    ticket.lease = lease.id;
    ticket.created = ticket.modified = done.value().revision;
    if (ticket.place == 0) ticket.place = ticket.created;
    return {};
  }
  // An earlier attempt, whose answer was lost, was carried out.
  for (const KeyValue& one : done.ok() ? done.value().found : std::vector<KeyValue>()) {
    if (one.key != key) continue;
    (void)fleet.store.revoke(lease.id, fleet.deadline);
    ticket = TRY(read_ticket(one));
    return {};
  }
  // It may be there nevertheless, under this lease.
  (void)fleet.store.revoke(lease.id, fleet.deadline);
  if (!done.ok()) return done.error();
  for (const KeyValue& one : done.value().found)
    if (one.key == fence_key(fleet.prefix, ticket.host)) return fenced(ticket.host);
  return Error(Code::kBusy, "the fleet's queue has changed in the same moment; try again");
}

}  // namespace

std::string ticket_id(const std::string& host, const std::string& digits) {
  return str(host, '-', digits);
}

std::string queue_prefix(const std::string& prefix, const Resource& resource) {
  const std::string& partition = resource.partition;
  return str(prefix, "queue/", resource.pool, '/', partition.empty() ? kWholePool : partition, '/');
}

std::string ticket_key(const std::string& prefix, const Resource& resource, const std::string& id) {
  return queue_prefix(prefix, resource) + id;
}

std::vector<Ticket> parse_tickets(const std::string& prefix, const Resource& resource,
                                  const std::vector<KeyValue>& keys) {
  const std::string below = queue_prefix(prefix, resource);
  std::vector<Ticket> tickets;
  for (const KeyValue& key : keys) {
    if (!key.key.starts_with(below)) continue;
    Result<Ticket> ticket = read_ticket(key);
    if (ticket.ok()) tickets.push_back(std::move(ticket).take());
  }
  std::sort(tickets.begin(), tickets.end(), comes_first);
  return tickets;
}

Result<Line> read_line(const Fleet& fleet, const Resource& resource) {
  const std::string below = queue_prefix(fleet.prefix, resource);
  const Listing listing = TRY(fleet.store.list(below, fleet.deadline));
  return Line{listing.revision, parse_tickets(fleet.prefix, resource, listing.keys)};
}

Result<std::vector<Waiting>> list_queue(const Fleet& fleet) {
  const std::string all = fleet.prefix + "queue/";
  const Listing listing = TRY(fleet.store.list(all, fleet.deadline));
  std::vector<Waiting> waiting;
  for (const KeyValue& key : listing.keys) {
    const std::vector<std::string_view> parts =
        base::split(std::string_view(key.key).substr(all.size()), '/');
    Result<Ticket> ticket = read_ticket(key);
    if (parts.size() != 3 || !ticket.ok()) continue;
    Resource resource{std::string(parts[0])};
    if (parts[1] != kWholePool) resource.partition = parts[1];
    waiting.push_back({std::move(resource), std::move(ticket).take()});
  }
  std::sort(waiting.begin(), waiting.end(), [](const Waiting& one, const Waiting& other) {
    return comes_first(one.ticket, other.ticket);
  });
  return waiting;
}

Status take_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket) {
  ticket.place = 0;
  return put_new(fleet, resource, ticket);
}

Status keep_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket) {
  const Result<Lease> kept = fleet.store.keep(ticket.lease, fleet.deadline);
  if (kept.ok()) return {};
  if (kept.error().code() != Code::kNotFound) return kept.error();
  return put_new(fleet, resource, ticket);
}

Result<bool> lease_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket,
                          std::chrono::seconds longer) {
  const auto ttl = static_cast<uint32_t>((kTicketTime + longer).count());
  const Lease lease = TRY(fleet.store.grant(ttl, fleet.deadline));
  const std::string key = ticket_key(fleet.prefix, resource, ticket.id);
  Txn txn;
  txn.compares = {{key, Compare::What::kModified, ticket.modified}};
  txn.puts = {{key, text_of(ticket), lease.id}};
  const TxnResult result = TRY(fleet.store.commit(txn, fleet.deadline));
  if (!result.done) return false;  // that lease ends by itself, and so does the one before
  ticket.lease = lease.id;
  ticket.modified = result.revision;
  return true;
}

Status retake_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket) {
  (void)fleet.store.revoke(ticket.lease, fleet.deadline);  // it ends by itself, too
  return put_new(fleet, resource, ticket);
}

Status write_ticket(const Fleet& fleet, const Resource& resource, const Ticket& ticket) {
  const std::string key = ticket_key(fleet.prefix, resource, ticket.id);
  Txn txn;
  txn.compares = {{key, Compare::What::kModified, ticket.modified}};
  txn.puts = {{key, text_of(ticket), ticket.lease}};
  const Result<TxnResult> done = fleet.store.commit(txn, fleet.deadline);
  // Its lease has just ended: keep_ticket() takes the place again.
  if (!done.ok() && done.error().code() != Code::kNotFound) return done.error();
  return {};
}

Status leave_line(const Fleet& fleet, const Resource& resource, const Ticket& ticket) {
  Txn txn;
  txn.deletes = {ticket_key(fleet.prefix, resource, ticket.id)};
  // Its lease ends by itself; it may be another one than the ticket says, if an answer was lost.
  if (fleet.store.commit(txn, fleet.deadline).ok()) return {};
  return fleet.store.revoke(ticket.lease, fleet.deadline);
}

Result<Left> leave_served(const Fleet& fleet, const Resource& resource, const Ticket& ticket) {
  const std::string key = ticket_key(fleet.prefix, resource, ticket.id);
  int64_t seen = ticket.modified;
  for (int i = 0; i < kMostTries; ++i) {
    // The lease ends by itself.
    Txn txn;
    txn.compares = {{key, Compare::What::kModified, seen}};
    txn.deletes = {key};
    const TxnResult result = TRY(fleet.store.commit(txn, fleet.deadline));
    if (result.done || result.found.empty()) return Left::kYes;
    const Result<Ticket> now = read_ticket(result.found.front());
    if (now.ok() && now.value().is_cancelled) return Left::kCancelled;
    seen = result.found.front().modified;
  }
  return Error(Code::kBusy, "the request's place changes all the time; try again");
}

Status cancel_ticket(const Fleet& fleet, const Resource& resource, const std::string& id) {
  const std::string key = ticket_key(fleet.prefix, resource, id);
  for (int i = 0; i < kMostTries; ++i) {
    const std::optional<KeyValue> found = TRY(find_key(fleet.store, key, fleet.deadline));
    if (!found) return Error(Code::kNotFound, "the request waits no more");
    Ticket ticket = TRY(read_ticket(*found));
    ticket.is_cancelled = true;
    Txn txn;
    txn.compares = {unchanged(key, found)};
    txn.puts = {{key, text_of(ticket), ticket.lease}};
    const Result<TxnResult> done = fleet.store.commit(txn, fleet.deadline);
    if (!done.ok() && done.error().code() == Code::kNotFound)
      return Error(Code::kNotFound, "the request waits no more");
    if (!done.ok()) return done.error();
    if (done.value().done) return {};
  }
  return Error(Code::kBusy, "the request's place changes all the time; try again");
}

Status wait_for_news(const Fleet& fleet, const std::string& prefix, int64_t revision) {
  const Result<Changes> changes = fleet.store.wait(prefix, revision + 1, fleet.deadline);
  // kNotFound: the store has forgotten that revision, so there was a change.
  if (changes.ok() || changes.error().code() == Code::kNotFound) return {};
  return changes.error();
}

}  // namespace hook::fleet
