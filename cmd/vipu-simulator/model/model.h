// SPDX-License-Identifier: Apache-2.0
// Model: the knowledge and decisions of a V-IPU controller, without network, clock or files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/vipu-simulator/model/pod.h"
#include "cmd/vipu-simulator/model/quirks.h"
#include "cmd/vipu-simulator/model/record.h"
#include "cmd/vipu-simulator/model/users.h"
#include "vipu/controller.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu::simulator {

struct Settings {
  Time create_delay{0};      // from PENDING to ACTIVE
  Time reset_delay{0};       // the same for a reset
  Time auto_reset_delay{0};  // from ERROR to an auto-reset
  uint32_t max_auto_resets = 3;
  std::string create_error = {};  // error of every new partition; empty: none
  Quirks quirks = {};
};

// IPUs that a partition took or gave back.
struct Event {
  enum class Kind { kHold, kFree } kind = Kind::kHold;
  std::string partition;
  std::vector<uint32_t> ipus;
  bool operator==(const Event&) const = default;
};

// The partitions of one POD. A partition takes its IPUs at once and is ACTIVE after the delay. The
// state is that of the last advance_to. A copy is another POD: change the copy, store it, then keep
// it.
class Model {
 public:
  Model(Pod pod, Settings settings) : pod_(std::move(pod)), settings_(std::move(settings)) {}

  // Does what is due by NOW: operations end, auto-resets start. NOW may be in the past.
  void advance_to(Time now);

  // Returns kInvalid for an impossible partition, or an absent cluster or allocation, kDenied for
  // one that ACCESS does not cover, kExists, kBusy, with the reason, without room, or kUnavailable
  // if a quirk allows no operation now.
  base::Status create(PartitionRequest wanted, const Access& access, const Outcome& outcome = {});
  // Returns kNotFound if there is none, as do all that follow. Returns kBusy if it failed, unless
  // by force.
  base::Status remove(const std::string& id, Force force);
  // Makes the partition, even a failed one, PENDING and then ACTIVE. If some of its IPUs are
  // tainted or gone, and it or this call is relocatable, it gets others if there is room. Returns
  // kUnavailable if a quirk allows none now.
  base::Status reset(const std::string& id, Relocate relocate, const Outcome& outcome = {});

  // Makes an ACTIVE or PENDING partition fail now, as a hardware fault does.
  base::Status set_error(const std::string& id, const std::vector<std::string>& errors);
  // While an agent is down, its partitions have failed, and no new one gets its IPUs.
  base::Status take_agent_down(std::string_view agent);
  base::Status bring_agent_up(std::string_view agent);
  // No new partition gets a tainted IPU; its present holder keeps it.
  base::Status taint(uint32_t ipu, const std::string& reason);
  base::Status untaint(uint32_t ipu);

  [[nodiscard]] const std::map<std::string, Record>& records() const { return records_; }
  base::Result<const Record*> find(const std::string& id) const;
  [[nodiscard]] bool can_be_seen(const Record& record) const { return now_ >= record.seen_from; }
  // Returns the devices of each GCD, or kBusy while the partition is not ACTIVE.
  base::Result<std::vector<IpuofConfig>> config(const std::string& id) const;
  // Returns the partition, even a PENDING one, that holds an IPU; empty: none.
  [[nodiscard]] std::string holder_of(uint32_t ipu) const;
  // Returns why an IPU, held or not, cannot be given away; empty: it can.
  [[nodiscard]] std::string ailment_of(uint32_t ipu) const;
  [[nodiscard]] Occupancy occupancy() const;
  // Returns all violations of the rules: an IPU held twice, an invalid block.
  [[nodiscard]] std::vector<std::string> violations() const;

  [[nodiscard]] const Pod& pod() const { return pod_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  // Increases with each change that a state file keeps.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  // Returns what happened to IPUs since the last call, in order.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

  // Write the partitions as JSON, and restore them. A PENDING partition becomes ACTIVE, unless it
  // was stuck; agents and IPUs are well. Returns kInvalid with the reason if to_state did not write
  // TEXT for such a POD.
  [[nodiscard]] std::string to_state() const;
  base::Status load_state(std::string_view text);

 private:
  struct Placed {
    std::string allocation;
    std::vector<ChosenIpu> ipus;
  };
  // model_check.cc
  base::Status check_places(const std::vector<ChosenIpu>& ipus) const;
  base::Status check(const PartitionRequest& wanted, const Access& access) const;
  [[nodiscard]] PartitionRequest completed(PartitionRequest wanted) const;
  // model_place.cc
  [[nodiscard]] std::vector<const Allocation*> candidates(const std::string& name,
                                                          const Access& access) const;
  [[nodiscard]] Occupancy within(const Allocation& allocation) const;
  base::Result<Placed> find_room(const PartitionRequest& wanted, const Access& access) const;
  base::Result<Placed> find_named(const PartitionRequest& wanted, const Access& access) const;
  void relocate(const std::string& id, Record& record);
  // model.cc
  base::Result<Record*> find(const std::string& id);
  void erase(const std::string& id);
  base::Result<uint32_t> check_ipu(uint32_t ipu) const;
  [[nodiscard]] std::vector<uint32_t> numbers_of(const std::vector<ChosenIpu>& ipus) const;
  void hold(const std::string& id, const Record& record);
  void release(const std::string& id, const Record& record);
  // model_time.cc
  void begin(Record& record, OperationState operation, Time delay, const Outcome& outcome);
  void fail(Record& record, Cause cause, std::vector<std::string> errors);
  void finish(Record& record);
  void auto_reset(const std::string& id, Record& record);
  [[nodiscard]] std::optional<std::string> down_agent_of(const Record& record) const;
  // model_state.cc
  base::Status put_back(Record record);

  Pod pod_;
  Settings settings_;
  Time now_{0};
  std::map<std::string, Record> records_;
  std::map<uint32_t, std::string> taints_;
  std::map<uint32_t, std::string> down_;  // agents by machine
  std::vector<Event> events_;
  uint64_t revision_ = 0;
};

}  // namespace vipu::simulator
