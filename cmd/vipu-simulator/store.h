// SPDX-License-Identifier: Apache-2.0
// Store: the model of the POD, shared between threads and kept in a file.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "vipu/simulator/model.h"

namespace simulator {

class Store {
 public:
  // Starts from what FILE holds; from no partition if it is absent or FILE is empty (then nothing
  // is kept). A file that cannot be used is an error: it is never overwritten.
  static base::Result<std::unique_ptr<Store>> open(vipu::simulator::Model empty, std::string file);

  // Applies CHANGE. If it fails, or its effect cannot be stored, nothing has changed.
  base::Status change(const std::function<base::Status(vipu::simulator::Model&)>& change);

  // What READ gives for the model as it is now.
  template <typename Read>
  auto read(const Read& read) const {
    const std::lock_guard lock(mutex_);
    return read(model_);
  }

 private:
  Store(vipu::simulator::Model model, std::string file)
      : model_(std::move(model)), file_(std::move(file)) {}

  base::Status store(const vipu::simulator::Model& model) const;

  mutable std::mutex mutex_;
  vipu::simulator::Model model_;
  std::string file_;
};

}  // namespace simulator
