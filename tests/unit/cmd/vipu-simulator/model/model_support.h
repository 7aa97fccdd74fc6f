// SPDX-License-Identifier: Apache-2.0
// A model with known delays, for its tests.
#pragma once

#include <string>
#include <vector>

#include "cmd/vipu-simulator/model/model.h"

namespace test {

inline constexpr vipu::simulator::Time kStart(1'000'000);
inline constexpr vipu::simulator::Time kCreate(50);
inline constexpr vipu::simulator::Time kReset(20);
inline constexpr vipu::simulator::Time kAutoReset(100);

inline vipu::simulator::Model make_model(const std::string& pod,
                                         std::vector<std::string> allocations = {},
                                         const std::string& create_error = "") {
  vipu::simulator::PodText text;
  text.name = pod;
  text.allocations = std::move(allocations);
  vipu::simulator::Model model(vipu::simulator::parse_pod(text).take(),
                               {kCreate, kReset, kAutoReset, 3, create_error});
  model.advance_to(kStart);
  return model;
}

inline vipu::PartitionRequest named(const std::string& id, uint32_t size) {
  vipu::PartitionRequest wanted;
  wanted.id = id;
  wanted.size = size;
  return wanted;
}

inline base::Status create(vipu::simulator::Model& model, const vipu::PartitionRequest& wanted) {
  return model.create(wanted, vipu::simulator::Access::to_all());
}

inline base::Status create(vipu::simulator::Model& model, const std::string& id, uint32_t size) {
  return create(model, named(id, size));
}

// The numbers of the IPUs of a partition, by routing id.
inline std::vector<uint32_t> ipus_of(const vipu::simulator::Model& model, const std::string& id) {
  std::vector<uint32_t> numbers;
  for (const vipu::ChosenIpu& ipu : model.records().at(id).ipus) {
    numbers.push_back(model.pod().topology().number_of(ipu.place).value());
  }
  return numbers;
}

}  // namespace test
