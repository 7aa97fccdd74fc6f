// SPDX-License-Identifier: Apache-2.0
// What must happen on a host though nobody calls a program: reservations end, places of dead
// waiters are given back, what crashes left is released, the packet filter is made again, and the
// host says to its fleet that it is alive. The
// work is done by the programs that do it without ipu-agent, too; here is only when.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "netns/filter_watch.h"
#include "netns/link_watch.h"

namespace agent {

class TimeKeeping {
 public:
  static base::Result<TimeKeeping> open();

  // Readable when something of the host's network has changed.
  [[nodiscard]] std::vector<int> fds() const { return {filters_.fd(), links_.fd()}; }
  // The time until work() has something to do.
  [[nodiscard]] std::chrono::milliseconds left() const;

  // Looks whether anything is due, and starts the programs that do it. A program runs once at a
  // time. Reports errors on standard error, each once.
  void work();
  // Notes that this child of the process has ended, if it was started here.
  void ended(pid_t child);

 private:
  // A program that is started when it is wanted.
  struct Job {
    std::string program;
    std::vector<std::string> args;
    bool is_wanted = false;
    pid_t running = 0;  // 0: it does not run
  };

  TimeKeeping(netns::FilterWatch filters, netns::LinkWatch links);
  base::Status look_at_network();
  base::Status look_at_ledger();
  base::Status look_at_fleet();
  base::Status start(Job& job);
  void report(const base::Status& status, std::string& last);

  netns::FilterWatch filters_;
  netns::LinkWatch links_;
  Job mend_;
  Job reconcile_;
  Job collect_;
  Job beat_;
  base::Deadline next_look_;
  base::Deadline next_mend_;
  base::Deadline next_collect_;
  base::Deadline next_beat_;
  std::array<std::string, 4> last_errors_;
};

}  // namespace agent
