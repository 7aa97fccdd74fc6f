// SPDX-License-Identifier: Apache-2.0
// What runs on the two hosts. Each actor is a function of the answers that it got until now: it is
// called from its beginning with those, and its first call without an answer is its next one. After
// that, every call is refused, and nothing of it counts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hook/fleet/warm.h"
#include "hook/lifecycle/env.h"
#include "tests/unit/hook/model/fences_world.h"

namespace model::fences {

// The rules as they are by default are the product's; each change of one is a mistake.
struct Rules {
  // fleet::claim(), fleet::publish(): of two changes of one record, one is made.
  bool compares_records = true;
  // commit of claims and grants: a host that was declared dead gets none.
  bool compares_fences = true;
  // sweep_claims(): the ledger is read after the store.
  bool reads_ledger_last = true;
  // end_cut_off(): a host that is told of its fence ends its containers.
  bool obeys_fence = true;
  // fence_host(): what the store has of the host goes after its partitions.
  bool removes_partitions_first = true;
  // fence_host(): the controller is asked after the host was declared dead.
  bool lists_after_fence = true;
  // effects(): a lease's grant goes after its partition.
  bool keeps_grant_of_partition = true;
  // fleet::grant_at_once(), begin_warm_removal(): a warm partition is taken or removed as it was
  // read.
  bool compares_warm = true;
  // prepare_lease(), create_recorded(): the ledger has a record before the store has a grant.
  bool records_first = true;
  // finish_in_fleet(): the store is told before a warm partition is removed.
  bool tells_before_removal = true;
  // fence_host(): it removes what the store says of the host's warm partitions.
  bool fences_warm = true;
  // fleet::fence(): the records of warm partitions go, too.
  bool forgets_warm = true;
  // sweep_grants(), remove_lease_grant(): the partition that a grant names goes before it.
  bool reads_grants = true;
  // attempt() in reserve.cc: so does that of a reservation, also if its removal was cut short.
  bool keeps_grant_of_reservation = true;
};

enum class Job : uint8_t {
  kStart,          // a container with IPUs of its own, until it is released
  kStartInQueue,   // likewise, with a ticket
  kStartOnGcd,     // a container with GCD 0 of the named partition
  kStartWarm,      // a container with a warm partition, if there is one; otherwise with its own
  kRefill,         // makes a warm partition
  kGiveBack,       // removes the warm partitions that are idle
  kReserve,        // ipuctl reserve
  kStartReserved,  // a container with the reservation of its host
  kEndReserved,    // the reservation ends
  kKeep,           // a beat, and what it says; then gc
  kCollect,        // gc alone
  kFence,          // ipuctl host fence
};

struct Role {
  Job job = Job::kStart;
  uint8_t host = 0;
};

struct Scene {
  hook::lifecycle::Env& env;  // of host 1
  const std::vector<hook::config::PoolConfig>& pools;
  Rules rules;
  std::vector<Role> roles;
  bool is_filled = false;  // host 1 has made a warm partition, which is idle
};

inline const std::string kPrefix = "/f/";
inline const std::string kFleetId = "0011223344556677";
inline const std::string kPool = "pod16";
inline const std::string kNamed = "p0";
inline const std::string kTenant = "t";

// The tag of a host, its lease's id and the name of its own partition.
[[nodiscard]] std::string tag_of(uint8_t host);
[[nodiscard]] std::string lease_of(uint8_t host);
[[nodiscard]] std::string partition_of(uint8_t host);
// The names of the warm partition that the host makes, and of its reservation's partition.
[[nodiscard]] std::string warm_of(uint8_t host);
[[nodiscard]] std::string reserved_of(uint8_t host);
// Whether a role of the scene, on any host, is one with warm partitions, or with a reservation.
[[nodiscard]] bool has_warm(const std::vector<Role>& roles);
[[nodiscard]] bool has_reservation(const std::vector<Role>& roles);

// The record of the warm partition that the host makes.
[[nodiscard]] hook::fleet::Warm warm_record(const Scene& scene, uint8_t host);

// The answers of one actor.
class Replay {
 public:
  explicit Replay(std::vector<const Answer*> answers) : answers_(std::move(answers)) {}
  const Answer& ask(Call call);
  [[nodiscard]] bool is_over() const { return next_.has_value(); }
  [[nodiscard]] std::optional<Call> take() { return std::move(next_); }

 private:
  std::vector<const Answer*> answers_;
  size_t at_ = 0;
  std::optional<Call> next_;
};

// Returns the next call of the actor with ROLE; nothing: it has ended.
[[nodiscard]] std::optional<Call> next_call(const Scene& scene, const Role& role,
                                            std::vector<const Answer*> answers);
[[nodiscard]] const char* name_of(Job job);

}  // namespace model::fences
