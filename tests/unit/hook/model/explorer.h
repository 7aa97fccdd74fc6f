// SPDX-License-Identifier: Apache-2.0
// Explorer: all states that can be reached from one, breadth first, so that the way to the first
// one that is wrong is a shortest one.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace model {

// FNV-1a over eight bytes at a time. STATE has no padding.
template <typename State>
uint64_t hash_of(const State& state) {
  static_assert(std::has_unique_object_representations_v<State> && sizeof(State) % 8 == 0);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 0; at < sizeof state; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&state) + at, 8);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

// States by their number, in the order in which they were found; each once.
template <typename State>
class Found {
 public:
  // The number of STATE if it is new.
  std::optional<uint32_t> add(const State& state) {
    if (states_.size() * 2 >= slots_.size()) grow();
    uint32_t& slot = slots_[slot_of(state)];
    if (slot != kNone) return std::nullopt;
    slot = static_cast<uint32_t>(states_.size());
    states_.push_back(state);
    return slot;
  }
  [[nodiscard]] const State& operator[](uint32_t number) const { return states_[number]; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(states_.size()); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  [[nodiscard]] size_t slot_of(const State& state) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash_of(state) & mask;
    while (slots_[at] != kNone && !(states_[slots_[at]] == state)) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNone);
    for (uint32_t i = 0; i < size(); ++i) slots_[slot_of(states_[i])] = i;
  }

  std::vector<State> states_;
  std::vector<uint32_t> slots_ = std::vector<uint32_t>(1024, kNone);
};

struct Explored {
  uint64_t states = 0;
  uint64_t transitions = 0;
  uint32_t depth = 0;              // of the state that is furthest from the first
  bool complete = false;           // there is no other state
  std::string wrong;               // what is wrong with the last state of the trace; empty: nothing
  std::vector<std::string> trace;  // the steps that lead there
};

// MODEL has
//   using State
//   State first() const
//   void next(const State&, EMIT) const, which calls EMIT(state, step) for each step that is
//     possible; step.wrong() says what is wrong with the step itself
//   std::string_view wrong(const State&) const, empty if nothing is
//   std::string describe(const Step&) const
template <typename Model>
class Explorer {
 public:
  explicit Explorer(const Model& model) : model_(model) {}

  // Until something is wrong, all states are known, or there are LIMIT of them.
  Explored run(uint32_t limit) {
    found_.add(model_.first());
    parents_.push_back(0);
    uint32_t level_end = 1;
    for (uint32_t at = 0; at < found_.size() && done_.wrong.empty(); ++at) {
      if (at == level_end) {
        ++done_.depth;
        level_end = found_.size();
      }
      if (found_.size() >= limit) return finish(false);
      expand(at);
    }
    return finish(done_.wrong.empty());
  }

 private:
  using State = typename Model::State;

  void expand(uint32_t at) {
    const State from = found_[at];
    model_.next(from, [&](const State& to, const auto& step) {
      ++done_.transitions;
      if (!done_.wrong.empty()) return;
      if (!step.wrong.empty()) fail(step.wrong, at, model_.describe(step));
      const std::optional<uint32_t> added = found_.add(to);
      if (!added) return;
      parents_.push_back(at);
      const std::string_view wrong = model_.wrong(to);
      if (done_.wrong.empty() && !wrong.empty()) fail(wrong, at, model_.describe(step));
    });
  }

  void fail(std::string_view wrong, uint32_t at, std::string last) {
    done_.wrong = wrong;
    done_.trace = {std::move(last)};
    for (; at != 0; at = parents_[at]) done_.trace.insert(done_.trace.begin(), step_to(at));
  }

  std::string step_to(uint32_t number) const {
    std::string text;
    model_.next(found_[parents_[number]], [&](const State& to, const auto& step) {
      if (text.empty() && to == found_[number]) text = model_.describe(step);
    });
    return text;
  }

  Explored finish(bool complete) {
    done_.states = found_.size();
    done_.complete = complete;
    return done_;
  }

  const Model& model_;
  Found<State> found_;
  std::vector<uint32_t> parents_;  // the state from which each was found first
  Explored done_;
};

}  // namespace model
