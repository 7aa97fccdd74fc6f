// SPDX-License-Identifier: Apache-2.0
// The queue for IPUs of all hosts of a fleet: one for each pool, and for each named partition.
//   PREFIX queue/POOL/WHAT/ID   a request that waits; WHAT is a partition, or "*" for the pool
// A ticket's place is the revision at which it was first made. It is there while its request keeps
// it: under a lease of kTicketTime, or a longer one while its controller is asked. If the store
// ends that lease, the request takes the same place again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"
#include "vipu/types.h"

namespace hook::fleet {

// A request whose process has ended keeps its place for no longer than this.
inline constexpr std::chrono::seconds kTicketTime{30};
inline constexpr std::chrono::seconds kTicketKeepTime{10};  // between two times of keep_ticket()

struct Resource {
  std::string pool;
  std::string partition = {};  // empty: any IPUs of the pool
  bool operator==(const Resource&) const = default;
};

struct Ticket {
  std::string id;         // HOST-12 hexadecimal digits
  std::string host;       // tag
  std::string container;  // its id at the engine, or "reservation NAME"
  std::string tenant;     // empty: none
  uint32_t ipus = 0;      // 0: not known
  int64_t since_ms = 0;   // unix time of its host
  int64_t until_ms = 0;
  int64_t user = -1;  // uid of who asked; -1: unknown
  // What its own host finds, by its own clock, so that all hosts go by the same.
  bool is_aged = false;     // it was passed for so long that it is passed no more
  bool is_overdue = false;  // its tenant has borrowed for too long
  bool is_cancelled = false;
  // The IPUs that those behind it leave to it (vipu/backfill.h); unset: none may pass it.
  std::optional<vipu::Block> pinned = {};
  int64_t place = 0;     // a ticket with a lesser one comes first
  int64_t lease = 0;     // of the store
  int64_t created = 0;   // revision of its key; not written
  int64_t modified = 0;  // likewise
  bool operator==(const Ticket&) const = default;
};

// The tickets for one resource, in the order of their places.
struct Line {
  int64_t revision = 0;  // of the store
  std::vector<Ticket> tickets;
};

[[nodiscard]] std::string ticket_id(const std::string& host, const std::string& digits);

// Returns the prefix of the tickets for RESOURCE, and of all.
[[nodiscard]] std::string queue_prefix(const std::string& prefix, const Resource& resource);
// Returns the key of a ticket.
[[nodiscard]] std::string ticket_key(const std::string& prefix, const Resource& resource,
                                     const std::string& id);
// Returns the tickets among KEYS that are for RESOURCE, in the order of their places. One that
// cannot be read keeps nobody waiting.
[[nodiscard]] std::vector<Ticket> parse_tickets(const std::string& prefix, const Resource& resource,
                                                const std::vector<KeyValue>& keys);

base::Result<Line> read_line(const Fleet& fleet, const Resource& resource);
struct Waiting {
  Resource resource;
  Ticket ticket;
};
// Returns all tickets, in the order of their places.
base::Result<std::vector<Waiting>> list_queue(const Fleet& fleet);

// Takes a place at the end, and fills in TICKET's place. Fails with kDenied if the host was fenced.
base::Status take_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket);
// Keeps the place, and takes it again if the store has lost it. Harmless at any time.
base::Status keep_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket);
// Puts the place under another lease, which ends LONGER later than any other one. Returns whether
// it did: somebody may have changed the ticket meanwhile, or it is gone.
base::Result<bool> lease_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket,
                                std::chrono::seconds longer);
// Takes the place again of a ticket that is not there.
base::Status retake_ticket(const Fleet& fleet, const Resource& resource, Ticket& ticket);
// Writes what has changed in TICKET, unless somebody has changed it meanwhile or it is gone.
base::Status write_ticket(const Fleet& fleet, const Resource& resource, const Ticket& ticket);
// Gives the place up. One that is gone is no error.
base::Status leave_line(const Fleet& fleet, const Resource& resource, const Ticket& ticket);
// Gives the place up of a request that has what it wanted, unless somebody told it to give up
// first: then the place stays, and the result is kCancelled.
enum class Left { kYes, kCancelled };
base::Result<Left> leave_served(const Fleet& fleet, const Resource& resource, const Ticket& ticket);
// Tells the request of a ticket to give up, which it does, unless its process ends. Fails with
// kNotFound if it waits no more.
base::Status cancel_ticket(const Fleet& fleet, const Resource& resource, const std::string& id);

// Waits until something changes below PREFIX after REVISION, or until FLEET's deadline.
base::Status wait_for_news(const Fleet& fleet, const std::string& prefix, int64_t revision);

}  // namespace hook::fleet
