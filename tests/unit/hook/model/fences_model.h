// SPDX-License-Identifier: Apache-2.0
// FencesModel: every order of the calls that the actors of two hosts make to one store and one
// controller, with calls that fail, answers that are lost, processes that are killed, and a host
// that loses power.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/unit/hook/model/fences_actors.h"
#include "tests/unit/hook/model/fences_world.h"

namespace model::fences {

struct Found {
  uint64_t states = 0;
  uint64_t transitions = 0;
  std::string wrong = {};               // empty: nothing
  std::vector<std::string> trace = {};  // the steps that lead there
};

class FencesModel {
 public:
  FencesModel(const Scene& scene, const Troubles& troubles);
  // Until something is wrong, or all states are known.
  Found run();

 private:
  // What becomes of a call.
  enum class Fate : uint8_t { kAnswered, kFails, kLost };

  void visit(const World& world);
  void step_actor(const World& world, uint8_t actor);
  void step_call(const World& world, uint8_t actor, const Call& call, Fate fate);
  void enter(World world, std::string what);
  const std::optional<Call>& next_of(const World& world, uint8_t actor);
  void take_answer(World& world, uint8_t actor, Answer answer);
  void fail(std::string wrong) {
    if (found_.wrong.empty()) found_.wrong = std::move(wrong);
  }

  Answer carry_out(World& world, uint8_t actor, const Call& call);
  Answer commit(World& world, const Call& call);
  Answer change_ledger(World& world, uint8_t actor, const Call& call) const;
  Answer change_record(World& world, uint8_t actor, const Call& call) const;
  void end_actors_of(World& world, uint8_t host) const;
  // What must be true in every state.
  [[nodiscard]] std::string wrong_in(World& world) const;
  [[nodiscard]] std::string wrong_warm(World& world) const;
  [[nodiscard]] static bool is_idle(World& world, const std::string& name);
  [[nodiscard]] static bool is_reserved(const World& world, const std::string& name);
  // What is left after one reconcile of each host that runs, and a fence of one that does not.
  [[nodiscard]] std::string wrong_at_end(World world);
  void run_alone(World& world, const Role& role);
  [[nodiscard]] bool is_on_gcd(uint8_t host) const;
  [[nodiscard]] bool is_on_reserved(uint8_t host) const;
  [[nodiscard]] std::string text_of(World& world) const;

  Scene scene_;
  Troubles troubles_;
  Found found_;
  std::vector<std::string> path_;
  std::unordered_set<uint64_t> seen_;
  std::vector<Answer> answers_;
  std::map<std::string, uint32_t> numbers_;  // of answers, by their text
  std::map<std::pair<uint8_t, std::vector<uint32_t>>, std::optional<Call>> next_;
};

}  // namespace model::fences
