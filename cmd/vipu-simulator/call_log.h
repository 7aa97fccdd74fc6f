// SPDX-License-Identifier: Apache-2.0
// CallLog: a JSON line for every ended call, and for every IPU when it is taken or given back; also
// the numbers of calls.
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
  std::string fault = {};  // action of the fault that hit it; empty: none
  std::string user = {};   // caller, if users are configured
};

class CallLog {
 public:
  // Number of calls by method and status.
  using Counts = std::map<std::string, std::map<std::string, uint64_t>>;

  // Appends to the file at PATH (made with mode 0640 if absent), first the line "start": from there
  // on, no IPU is held unless a later line says so. An empty path only counts.
  static base::Result<std::unique_ptr<CallLog>> open(const std::string& path);

  // Each add one line with one write, in the order of these calls. A line that cannot be written is
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
