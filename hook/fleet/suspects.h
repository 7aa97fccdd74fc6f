// SPDX-License-Identifier: Apache-2.0
// Which suspect hosts are fenced without an operator, and when. Each host that does so watches for
// itself, by its own steady clock; no clock of another host counts.
//   PREFIX fencing   the last automatic fence. Each changes it, as it was seen before
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// So long the last automatic fence must have been the last one, and so often a witness is asked
// about a host. An automatic fence ends within kFenceTime, so there is one at a time.
inline constexpr std::chrono::seconds kFencePause{60};
inline constexpr std::chrono::seconds kFenceTime{45};
// A fence that was begun by an operator or a host ends within 2 minutes. One that nobody has
// changed for so long is not being made any more, and is not finished.
inline constexpr std::chrono::seconds kUnfinishedTime{150};
// Whoever did not look for so long begins to watch anew: it was away itself.
inline constexpr std::chrono::seconds kLongestGap{120};

// Times are ms of one steady clock.
struct Suspicion {
  int64_t record = 0;    // revision of the host's record, which each of its beats changes
  int64_t since_ms = 0;  // when it was seen first without a key that is alive
  int64_t asked_ms = 0;  // when its witness was asked last; 0: never
  // Since when the witness gives no answer about it, and why; 0: it does.
  int64_t failing_ms = 0;
  std::string failure = {};
  bool operator==(const Suspicion&) const = default;
};

// What this host saw until now.
struct Observation {
  std::string boot;   // in which the clock runs
  int64_t at_ms = 0;  // the last look
  int64_t turn = 0;   // revision of the last automatic fence; 0: there was none
  int64_t turn_since_ms = 0;
  std::map<std::string, Suspicion> suspects;  // by tag
  std::map<std::string, Suspicion> fences;    // by tag: those that are not finished, since when
  bool operator==(const Observation&) const = default;
};
[[nodiscard]] std::string to_text(const Observation& seen);
// Returns an empty one if TEXT is none: watching begins anew.
[[nodiscard]] Observation parse_observation(const std::string& text);

struct Look {
  std::string boot;
  int64_t now_ms = 0;
  int64_t turn = 0;
  std::vector<HostState> hosts;
  std::vector<FenceFacts> fences = {};
};
// Returns what is known after LOOK. A host that has beaten meanwhile is a suspect from now on at
// the earliest. Pure.
[[nodiscard]] Observation observe(const Observation& before, const Look& look);

struct Due {
  // Those that may be fenced: first those whose witness was not asked for longest, so that none
  // waits for the others; of them, those that are suspect for longest.
  std::vector<HostState> hosts;
  std::string why_not;  // why none is, although one is suspect for long enough
};
// Returns which suspects are due after AFTER, for the host ME to fence. None if ME is not alive, or
// is fenced itself; if there was an automatic fence within kFencePause; or if more than half of the
// hosts that are not fenced are suspect: then etcd or the network is sick, and not they. Half of
// them may be, because one of two hosts that share a POD can die. Pure.
[[nodiscard]] Due find_due(const Observation& seen, const std::vector<HostState>& hosts,
                           const std::string& me, std::chrono::milliseconds after);

// Returns which hosts were declared dead by a fence that was cut short, for the host ME to finish.
// None if ME is not alive, or is fenced itself. Pure.
[[nodiscard]] std::vector<std::string> find_unfinished(const Observation& seen,
                                                       const std::vector<HostState>& hosts,
                                                       const std::string& me);

// Returns the revision of the last automatic fence; 0 if there was none.
base::Result<int64_t> find_turn(Store& store, const std::string& prefix,
                                const base::Deadline& deadline);
// Records at NOW_MS (unix time) that ME fences HOST now, which shows that ME can write to the
// store. Fails with kBusy if the host has beaten or was fenced, or another host fences one.
base::Status take_turn(Store& store, const std::string& prefix, const HostState& host, int64_t turn,
                       const std::string& me, int64_t now_ms, const base::Deadline& deadline);

}  // namespace hook::fleet
