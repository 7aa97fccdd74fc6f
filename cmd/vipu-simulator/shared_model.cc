// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/shared_model.h"

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace simulator {

using namespace base::names;
using vipu::simulator::Model;
using vipu::simulator::Time;

Result<std::unique_ptr<SharedModel>> SharedModel::open(Model empty, std::string file,
                                                       Listener listener) {
  constexpr size_t kMaxState = size_t{4} << 20;
  std::unique_ptr<SharedModel> store(
      new SharedModel(std::move(empty), std::move(file), std::move(listener)));
  store->model_.advance_to(store->now());
  if (!store->file_.empty()) {
    const std::optional<std::string> text = TRY(base::read_file_if_exists(store->file_, kMaxState));
    if (text.has_value()) {
      TRY_CTX(base::str("load ", base::quote(store->file_)), store->model_.load_state(*text));
    }
  }
  store->report();
  return store;
}

// Returns the wall clock's time at the start, plus the time since then by a clock that never jumps.
Time SharedModel::now() const {
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  return std::chrono::duration_cast<Time>(wall_start_.time_since_epoch()) +
         std::chrono::duration_cast<Time>(elapsed);
}

void SharedModel::advance() {
  const uint64_t before = model_.revision();
  model_.advance_to(now());
  if (model_.revision() != before) (void)store(model_);
  report();
}

void SharedModel::report() {
  for (const vipu::simulator::Event& event : model_.take_events()) listener_(event);
}

Status SharedModel::change(const std::function<Status(Model&)>& change) {
  const std::lock_guard lock(mutex_);
  advance();
  Model next = model_;
  TRY(change(next));
  if (next.revision() != model_.revision()) TRY(store(next));
  model_ = std::move(next);
  report();
  return {};
}

Status SharedModel::store(const Model& model) const {
  if (file_.empty()) return {};
  const base::FileAttributes private_file{0600, std::nullopt, std::nullopt};
  const Status stored = base::write_atomic(file_, model.to_state(), private_file);
  if (stored.ok()) return {};
  // With the code of the file's error, the client would think that the partition is the cause.
  return base::Error(base::Code::kInternal,
                     base::str("the change cannot be stored: ", stored.error().message()));
}

}  // namespace simulator
