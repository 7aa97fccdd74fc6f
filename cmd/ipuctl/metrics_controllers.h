// SPDX-License-Identifier: Apache-2.0
// How the V-IPU controllers answered, as the history says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/ipuctl/metrics/exposition.h"
#include "hook/config/config.h"
#include "hook/ledger/events.h"

namespace ipuctl {

class ControllerAnswers {
 public:
  // Of the pools of CONFIG that have a controller. All labels are there from the beginning: whoever
  // counts by a rate does not see the first sample of a series.
  explicit ControllerAnswers(const hook::config::Config& config);

  // Leaves out what is no answer of such a controller.
  void add(const hook::ledger::Event& event);
  void print(metrics::Exposition& to) const;

 private:
  struct Pool {
    std::map<std::string_view, std::vector<double>> seconds;  // by call
    std::map<std::string_view, int64_t> errors;               // by status
  };
  using Errors = std::map<std::pair<std::string, std::string_view>, int64_t>;  // by pool, status
  // Refusals that the history has folded: all of a kind since a time but the last are gone.
  struct Folded {
    int64_t first = 0;  // the lowest and the highest number that the history has
    int64_t last = 0;
    bool has_all = false;  // they began today, so all are of today
    bool has_number_one = false;
    Errors each;
  };
  void end_lease(const hook::ledger::Event& event);

  std::map<std::string, Pool, std::less<>> pools_;
  std::map<std::string, Errors> open_;  // by lease, which has not failed so far
  std::map<std::string, Errors> ones_;  // by time: the first of a kind
  std::map<std::pair<std::string, std::string>, Folded> folded_;  // by pool and time
};

}  // namespace ipuctl
