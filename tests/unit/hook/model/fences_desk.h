// SPDX-License-Identifier: Apache-2.0
// What the actors of fences_actors.cc and fences_warm.cc share.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "hook/fleet/grants.h"
#include "hook/fleet/partitions.h"
#include "tests/unit/hook/model/fences_actors.h"
#include "tests/unit/hook/model/fences_calls.h"

namespace model::fences {

inline constexpr int64_t kNow = 1'800'000'000'000;

// What a job works with.
struct Desk {
  const Scene& scene;
  Role role;
  Replay& replay;
  ReplayStore store;
  hook::fleet::Fleet fleet;

  Desk(const Scene& scene_, const Role& role_, Replay& replay_)
      : scene(scene_),
        role(role_),
        replay(replay_),
        store(replay, scene.rules),
        fleet{store, kPrefix, base::Deadline::after(std::chrono::minutes(10)), kFleetId} {}
  bool is(Call::What what, std::string name = "") {
    return !replay.ask({what, {}, std::move(name)}).error.has_value();
  }
};

[[nodiscard]] hook::fleet::Grant grant_of(uint8_t host);

// What ends a container: it ends by itself, and poststop releases its lease.
void live(Desk& desk);
void release(Desk& desk);
// Removes the grant of a lease, whose partition the ledger calls KNOWN; empty: its own.
base::Status remove_grant(Desk& desk, const std::string& known);

void start_warm(Desk& desk);
void refill(Desk& desk);
void give_back(Desk& desk);
void reserve(Desk& desk);
void start_reserved(Desk& desk);
void end_reserved(Desk& desk);
// What gc does about the host's partitions, before and after it compares the grants.
void collect_record(Desk& desk);
void sweep_warm(Desk& desk);
// Brings the grant of the host's reservation in line with its record, as sweep_grants() does.
void sweep_reservation(Desk& desk, const std::vector<hook::fleet::Grant>& grants);

}  // namespace model::fences
