// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/store.h"

#include "base/fs.h"
#include "base/text.h"

namespace simulator {

using base::Result;
using base::Status;
using vipu::simulator::Model;

Result<std::unique_ptr<Store>> Store::open(Model empty, std::string file) {
  constexpr size_t kMaxState = size_t{1} << 20;
  if (!file.empty()) {
    const std::optional<std::string> text = TRY(base::read_file_if_exists(file, kMaxState));
    if (text.has_value()) {
      TRY_CTX(base::str("load ", base::quote(file)), empty.load_state(*text));
    }
  }
  return std::unique_ptr<Store>(new Store(std::move(empty), std::move(file)));
}

Status Store::change(const std::function<Status(Model&)>& change) {
  const std::lock_guard lock(mutex_);
  Model next = model_;
  TRY(change(next));
  TRY(store(next));
  model_ = std::move(next);
  return {};
}

Status Store::store(const Model& model) const {
  if (file_.empty()) return {};
  const base::FileAttributes private_file{0600, std::nullopt, std::nullopt};
  const Status stored = base::write_atomic(file_, model.to_state(), private_file);
  if (stored.ok()) return {};
  // The code of the file's error would say something about the partition.
  return base::Error(base::Code::kInternal,
                     base::str("the change cannot be stored: ", stored.error().message()));
}

}  // namespace simulator
