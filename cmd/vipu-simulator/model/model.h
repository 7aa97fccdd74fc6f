// SPDX-License-Identifier: Apache-2.0
// Model: what a V-IPU controller knows and decides, without network, clock or files.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/vipu-simulator/model/pod.h"
#include "cmd/vipu-simulator/model/record.h"
#include "cmd/vipu-simulator/model/users.h"
#include "vipu/controller.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu::simulator {

struct Settings {
  Time create_delay{0};      // from PENDING to ACTIVE
  Time reset_delay{0};       // the same, of a reset
  Time auto_reset_delay{0};  // from ERROR to an auto-reset
  uint32_t max_auto_resets = 3;
  std::string create_error = {};  // what every new partition fails with; empty: none does
};

// IPUs that a partition took or gave back.
struct Event {
  enum class Kind { kHold, kFree } kind = Kind::kHold;
  std::string partition;
  std::vector<uint32_t> ipus;
  bool operator==(const Event&) const = default;
};

// Partitions of one POD. A partition takes its IPUs at once and is ACTIVE when the delay has
// passed. Everything is as of the last advance_to. A copy is another POD: change the copy, store
// it, then keep it.
class Model {
 public:
  Model(Pod pod, Settings settings) : pod_(std::move(pod)), settings_(std::move(settings)) {}

  // Does what was due up to NOW: operations end, auto-resets start. A NOW that has passed is fine.
  void advance_to(Time now);

  // kInvalid for what no partition can be, or a cluster or allocation that is not there; kDenied
  // for one that ACCESS does not cover; kExists; kBusy without room, with the reason.
  base::Status create(PartitionRequest wanted, const Access& access, const Outcome& outcome = {});
  // kNotFound if there is none, as in all that follow. kBusy if it failed, unless by force.
  base::Status remove(const std::string& id, Force force);
  // The partition is PENDING again, then ACTIVE, also if it had failed. If IPUs of it are tainted
  // or gone and it, or this call, is relocatable, it gets others if there is room.
  base::Status reset(const std::string& id, Relocate relocate, const Outcome& outcome = {});

  // Lets an ACTIVE or PENDING partition fail now, as a fault of the hardware does.
  base::Status set_error(const std::string& id, const std::vector<std::string>& errors);
  // The partitions of an agent that goes down fail, and no new one gets its IPUs until it is up.
  base::Status take_agent_down(std::string_view agent);
  base::Status bring_agent_up(std::string_view agent);
  // An IPU that is tainted is given to no new partition; who has it keeps it.
  base::Status taint(uint32_t ipu, const std::string& reason);
  base::Status untaint(uint32_t ipu);

  [[nodiscard]] const std::map<std::string, Record>& records() const { return records_; }
  base::Result<const Record*> find(const std::string& id) const;
  // The devices of each GCD; kBusy while the partition is not ACTIVE.
  base::Result<std::vector<IpuofConfig>> config(const std::string& id) const;
  // The partition that holds an IPU, also while it is PENDING; empty: none.
  [[nodiscard]] std::string holder_of(uint32_t ipu) const;
  // Why an IPU cannot be given away, other than that it is held; empty: it can.
  [[nodiscard]] std::string ailment_of(uint32_t ipu) const;
  [[nodiscard]] Occupancy occupancy() const;
  // All that contradicts the rules: an IPU that is held twice, a block that is none.
  [[nodiscard]] std::vector<std::string> violations() const;

  [[nodiscard]] const Pod& pod() const { return pod_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  // Goes up with each change that a state file keeps.
  [[nodiscard]] uint64_t revision() const { return revision_; }
  // What happened to IPUs since the last call, in order.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }

  // Partitions as JSON, and put back. What was PENDING is ACTIVE, having had its time, unless it
  // was stuck; agents and IPUs are well. kInvalid with the reason if TEXT is not what to_state
  // wrote for such a POD.
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
