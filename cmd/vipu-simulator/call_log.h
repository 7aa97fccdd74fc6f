// SPDX-License-Identifier: Apache-2.0
// CallLog: every call when it ended, and every IPU when it was taken or given back, as lines of
// JSON; and how many calls there were.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "cmd/vipu-simulator/model/model.h"

namespace simulator {

struct EndedCall {
  std::string method;  // "CreatePartition", or the path of an unknown one
  std::string partition = {};
  std::string status = {};  // "OK", "NOT_FOUND", ...
  std::chrono::milliseconds time{0};
  std::string fault = {};  // the action that hit it; empty: none
  std::string user = {};   // who it is from, where users are told apart
};

class CallLog {
 public:
  // Calls by status, by method.
  using Counts = std::map<std::string, std::map<std::string, uint64_t>>;

  // Adds to the file at PATH, which is made with mode 0640 if absent, first the line "start": from
  // here on no IPU is held unless it is said again. An empty path: counts only.
  static base::Result<std::unique_ptr<CallLog>> open(const std::string& path);

  // One line each, in one write, in the order of these calls. A line that cannot be written is
  // lost.
  void add(const EndedCall& call);
  void add(const vipu::simulator::Event& event);

  [[nodiscard]] Counts counts() const;

 private:
  explicit CallLog(base::Fd file) : file_(std::move(file)) {}
  void write(const std::string& line);

  mutable std::mutex mutex_;
  base::Fd file_;
  Counts counts_;
};

}  // namespace simulator
