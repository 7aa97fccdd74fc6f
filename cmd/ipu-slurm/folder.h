// SPDX-License-Identifier: Apache-2.0
// What a node remembers of a job, in a folder below /run: it is gone after a reboot, as the job is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/result.h"
#include "cmd/ipu-slurm/job/request.h"

namespace slurm {

// A process as a line of a file: "PID START-TIME PID-NAMESPACE".
[[nodiscard]] std::string text_of(const base::ProcessId& process);
base::Result<base::ProcessId> parse_process(std::string_view text);

class Folder {
 public:
  // The files of a folder.
  static constexpr const char* kRequest = "request";     // arguments, one a line
  static constexpr const char* kOrders = "orders";       // for tasks, from the end of a start on
  static constexpr const char* kProcess = "process";     // the container's: PID START NAMESPACE
  static constexpr const char* kStarter = "starter";     // the runtime's, of the last start
  static constexpr const char* kUplink = "uplink.json";  // the network list that was used
  static constexpr const char* kResult = "result.json";  // its last plugin's result
  static constexpr const char* kSaid = "said";           // what the runtime said

  explicit Folder(uint32_t job);

  [[nodiscard]] std::string path(const std::string& name = "") const;
  [[nodiscard]] std::string container() const;  // the id of the job's container
  [[nodiscard]] bool exists() const;

  // Waits until no other process has the job. Returns kTimeout after LONGEST. The end of a job does
  // not wait for those that began it: it kills them after a few seconds.
  enum class Others { kFirst, kKilled };
  base::Result<base::Fd> lock(std::chrono::milliseconds longest, Others others) const;
  // The last act of who has the lock: others that wait for it begin anew.
  void unlink_lock() const;

  // Makes the folder, with REQUEST in it. After an error, there is none.
  [[nodiscard]] base::Status record(const Request& request) const;
  [[nodiscard]] base::Result<Request> request() const;

  [[nodiscard]] base::Status write(const std::string& name, const std::string& text) const;
  // Empty if there is no such file.
  [[nodiscard]] base::Result<std::string> read(const std::string& name) const;

  // Forgets what the job asks for: exists() is false, and what it had is there still.
  void forget_request() const;

  // Removes the folder with all in it, but not its lock.
  [[nodiscard]] base::Status remove() const;

 private:
  uint32_t job_;
};

// Where the low-level runtime keeps its state of the jobs' containers.
[[nodiscard]] std::string runtime_root();

}  // namespace slurm
