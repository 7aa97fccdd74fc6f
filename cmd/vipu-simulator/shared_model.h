// SPDX-License-Identifier: Apache-2.0
// SharedModel: the model of the POD, shared between threads and kept in a file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "cmd/vipu-simulator/model/model.h"

namespace simulator {

class SharedModel {
 public:
  // Receives each event, in order.
  using Listener = std::function<void(const vipu::simulator::Event&)>;

  // Starts from the content of FILE; without partitions if FILE is absent, or is empty (then
  // nothing is kept). A file that cannot be used is an error, and is never overwritten.
  static base::Result<std::unique_ptr<SharedModel>> open(vipu::simulator::Model empty,
                                                         std::string file, Listener listener);

  // Applies CHANGE. If it fails, or its effect cannot be stored, nothing has changed. Changes
  // through time alone are stored with the next change at the latest.
  base::Status change(const std::function<base::Status(vipu::simulator::Model&)>& change);

  // Returns READ's result for the present model.
  template <typename Read>
  auto read(const Read& read) {
    const std::lock_guard lock(mutex_);
    advance();
    return read(std::as_const(model_));
  }

 private:
  SharedModel(vipu::simulator::Model model, std::string file, Listener listener)
      : model_(std::move(model)), file_(std::move(file)), listener_(std::move(listener)) {}

  [[nodiscard]] vipu::simulator::Time now() const;
  void advance();
  void report();
  base::Status store(const vipu::simulator::Model& model) const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const std::chrono::system_clock::time_point wall_start_ = std::chrono::system_clock::now();
  std::mutex mutex_;
  vipu::simulator::Model model_;
  std::string file_;
  Listener listener_;
};

}  // namespace simulator
