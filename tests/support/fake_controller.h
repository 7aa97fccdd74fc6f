// SPDX-License-Identifier: Apache-2.0
// FakeController: a V-IPU controller in memory that keeps the contract of vipu::Controller, and can
// be told to fail. It never waits.
#pragma once

#include <bit>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "vipu/controller.h"
#include "vipu/placement.h"

namespace test {

class FakeController final : public vipu::Controller {
 public:
  enum class When { kBefore, kAfter };

  explicit FakeController(uint32_t ipus = 16) : ipus_(ipus) {}

  // The next call fails with ERROR: before it has any effect, or after all of it.
  void fail_next(base::Error error, When when = When::kBefore) {
    failure_ = {std::move(error), when};
  }
  // From now on every call fails with kUnavailable, until it is reachable again.
  void set_unreachable(bool unreachable) { unreachable_ = unreachable; }
  // How long a partition takes. One that takes longer than its caller waits stays PENDING.
  void set_create_delay(std::chrono::milliseconds delay) { create_delay_ = delay; }

  base::Result<vipu::Grant> create(const vipu::PartitionRequest& request,
                                   const base::Deadline& deadline) override {
    return run<vipu::Grant>("create", [&] { return do_create(request, deadline); });
  }

  base::Result<std::vector<vipu::Partition>> list(const base::Deadline&) override {
    return run<std::vector<vipu::Partition>>("list", [&] { return all(); });
  }

  base::Result<vipu::PartitionStatus> status(const std::string& id,
                                             const base::Deadline&) override {
    return run<vipu::PartitionStatus>("status", [&]() -> base::Result<vipu::PartitionStatus> {
      const auto at = partitions_.find(id);
      if (at == partitions_.end()) return not_found(id);
      const bool active = at->second.ready == vipu::ReadyState::kActive;
      return vipu::PartitionStatus{
          at->second.ready,
          active ? vipu::OperationState::kIdle : vipu::OperationState::kCreating,
          {}};
    });
  }

  base::Result<std::vector<vipu::IpuofConfig>> config(const std::string& id,
                                                      const base::Deadline&) override {
    return run<std::vector<vipu::IpuofConfig>>("config", [&] { return config_of(id); });
  }

  base::Result<base::Removed> remove(const std::string& id, const base::Deadline&) override {
    return run<base::Removed>("remove", [&]() -> base::Result<base::Removed> {
      return partitions_.erase(id) > 0 ? base::Removed::kNow : base::Removed::kWasAbsent;
    });
  }

  base::Result<vipu::Capacity> capacity(const base::Deadline&) override {
    return run<vipu::Capacity>("capacity", [&]() -> base::Result<vipu::Capacity> {
      return vipu::capacity_of(ipus_, all());
    });
  }

  base::Result<std::string> version(const base::Deadline&) override {
    return run<std::string>("version",
                            []() -> base::Result<std::string> { return std::string("fake"); });
  }

 private:
  struct Failure {
    base::Error error;
    When when;
  };

  template <typename T, typename Call>
  base::Result<T> run(const char* name, const Call& call) {
    const std::optional<Failure> failure = std::exchange(failure_, std::nullopt);
    if (unreachable_) {
      return base::Error(base::Code::kUnavailable, base::str("fake controller: ", name, ": down"));
    }
    if (failure.has_value() && failure->when == When::kBefore) return failure->error;
    base::Result<T> result = call();
    if (failure.has_value()) return failure->error;
    if (result.ok()) return result;
    return std::move(result).error().wrap(base::str("fake controller: ", name));
  }

  base::Result<vipu::Grant> do_create(const vipu::PartitionRequest& request,
                                      const base::Deadline& deadline) {
    if (!std::has_single_bit(request.size) || request.size > ipus_) {
      return base::Error(base::Code::kInvalid, base::str("no partition has size ", request.size));
    }
    if (partitions_.contains(request.id)) return base::Error(base::Code::kExists, request.id);
    vipu::Occupied taken(ipus_);
    for (const vipu::Partition& partition : all()) {
      for (const vipu::IpuPlace& place : partition.ipus) taken[place.ipu] = true;
    }
    const std::optional<uint32_t> first = vipu::find_block(taken, request.size);
    if (!first.has_value()) {
      return base::Error(base::Code::kBusy, base::str("no free block of ", request.size, " IPUs"));
    }
    vipu::Partition& made = partitions_[request.id];
    made.id = request.id;
    made.allocation = request.allocation;
    made.reconfigurable = request.reconfigurable;
    made.ready = vipu::ReadyState::kPending;
    for (uint32_t i = 0; i < request.size; ++i) made.ipus.push_back({0, *first + i});
    if (create_delay_ >= deadline.left()) {
      return base::Error(base::Code::kTimeout, base::str(request.id, " is still PENDING"));
    }
    made.ready = vipu::ReadyState::kActive;
    return vipu::Grant{config_of(request.id).take(), "10.5.1.254"};
  }

  base::Result<std::vector<vipu::IpuofConfig>> config_of(const std::string& id) const {
    const auto at = partitions_.find(id);
    if (at == partitions_.end() || at->second.ready != vipu::ReadyState::kActive) {
      return not_found(id);
    }
    vipu::IpuofConfig config;
    for (const vipu::IpuPlace& place : at->second.ipus) {
      vipu::IpuofDevice device;
      device.ip = base::str("10.5.1.", place.ipu / 4 + 1);
      device.server_port = 50052 + place.ipu % 4;
      device.rdma_port = 50152 + place.ipu % 4;
      device.device_id = place.ipu % 4;
      device.routing_id = place.ipu - at->second.ipus.front().ipu;
      device.ipu_id = place.ipu;
      config.devices.push_back(device);
    }
    config.attributes["GCD Id"] = "0";
    return std::vector<vipu::IpuofConfig>{config};
  }

  std::vector<vipu::Partition> all() const {
    std::vector<vipu::Partition> partitions;
    for (const auto& [id, partition] : partitions_) partitions.push_back(partition);
    return partitions;
  }

  static base::Error not_found(const std::string& id) {
    return {base::Code::kNotFound, base::str("no partition ", base::quote(id))};
  }

  uint32_t ipus_;
  std::map<std::string, vipu::Partition> partitions_;
  std::chrono::milliseconds create_delay_{0};
  std::optional<Failure> failure_;
  bool unreachable_ = false;
};

}  // namespace test
