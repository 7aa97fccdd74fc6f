// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/liveness.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/device/cgroup.h"
#include "netns/namespace.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using base::ProcessId;

// runc's record contains the container's whole configuration.
constexpr size_t kMaxRecordBytes = 8 << 20;

std::string cgroups(const Env& env) { return str(env.sysfs, "/fs/cgroup"); }

Seen is_seen(const ProcessId& process) {
  const Result<ProcessId> now = base::identify_process(process.pid);
  if (now.ok()) return now.value().start_time == process.start_time ? Seen::kYes : Seen::kNo;
  return now.error().code() == Code::kNotFound ? Seen::kNo : Seen::kHidden;
}

// Returns whether the process is in the lease's network. A lease without interfaces (of cards) has
// no namespace to compare.
Seen is_in_network(pid_t pid, const ledger::Lease& lease) {
  if (lease.netns == netns::Identity()) return Seen::kYes;
  const Result<netns::Namespace> theirs = netns::Namespace::of_process(pid);
  if (theirs.ok()) return theirs.value().identity() == lease.netns ? Seen::kYes : Seen::kNo;
  return theirs.error().code() == Code::kNotFound ? Seen::kNo : Seen::kHidden;
}

// Returns whether the process has begun to end: none of its threads is in any namespace. The first
// process of a pid namespace stays in this state until all others there are reaped.
bool is_ending(pid_t pid) {
  const auto has_left = [](const std::string& process) {
    const Result<netns::Namespace> still = netns::Namespace::at(process + "/ns/net");
    return !still.ok() && still.error().code() == Code::kNotFound;
  };
  const std::string process = str("/proc/", pid);
  if (!has_left(process)) return false;
  std::error_code error;
  const std::filesystem::directory_iterator threads(process + "/task", error);
  return !error && std::all_of(begin(threads), end(threads), [&](const auto& thread) {
    return has_left(thread.path().string());
  });
}

struct Members {
  Seen any = Seen::kNo;
  pid_t pid = 0;  // one of them
};

// Looks for processes of the container. A process in its cgroup but in another network belongs to a
// later container with this cgroup, or has given up the lease's interfaces.
Members look_at_cgroup(const Env& env, const ledger::Lease& lease) {
  Members members;
  if (lease.cgroup.empty()) return members;
  const auto visit = [&](pid_t pid) {
    const Seen seen = pid == 0 ? Seen::kHidden : is_in_network(pid, lease);
    if (seen != Seen::kNo) members.any = seen;
    if (seen != Seen::kYes) return device::Visit::kMore;
    members.pid = pid;
    return device::Visit::kEnough;
  };
  const base::Status visited = device::visit_processes(str(cgroups(env), lease.cgroup), visit);
  if (!visited.ok() && members.any == Seen::kNo) members.any = Seen::kHidden;
  return members;
}

bool is_in_cgroup(const Env& env, pid_t pid, const ledger::Lease& lease) {
  bool found = false;
  const auto visit = [&](pid_t member) {
    found = member == pid;
    return found ? device::Visit::kEnough : device::Visit::kMore;
  };
  return !lease.cgroup.empty() &&
         device::visit_processes(str(cgroups(env), lease.cgroup), visit).ok() && found;
}

std::optional<ProcessId> find_restored(const Env& env, const ledger::Lease& lease) {
  if (lease.state_dir.empty()) return std::nullopt;
  const Result<ProcessId> recorded = recorded_init(lease.state_dir);
  if (!recorded.ok()) return std::nullopt;
  const Result<ProcessId> running = base::identify_process(recorded.value().pid);
  if (!running.ok() || running.value().start_time != recorded.value().start_time) {
    return std::nullopt;
  }
  const bool is_ours = lease.netns == netns::Identity()
                           ? is_in_cgroup(env, running.value().pid, lease)
                           : is_in_network(running.value().pid, lease) == Seen::kYes;
  if (!is_ours || running.value() == lease.owner) return std::nullopt;
  return running.value();
}

Result<base::Json> read_record(const base::Fd& directory, const char* name) {
  const base::Fd file =
      TRY(base::open_at(directory.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno(errno, name);
  if (!S_ISREG(status.st_mode)) return Error(Code::kInvalid, str(name, " is not a regular file"));
  const std::string text = TRY(base::read_all(file.get(), kMaxRecordBytes, name));
  return base::parse_json(text, name);
}

Result<ProcessId> parse_record(const base::Json& record, const char* pid_key,
                               const char* start_key) {
  const int64_t pid = TRY(base::get_int(record, pid_key, "state of the container"));
  const int64_t start = TRY(base::get_int(record, start_key, "state of the container"));
  if (pid <= 0 || pid > INT32_MAX || start <= 0) {
    return Error(Code::kInvalid,
                 "state of the container: the process id or its start time is not valid");
  }
  return ProcessId{static_cast<pid_t>(pid), static_cast<uint64_t>(start), 0};
}

// Returns what the owner of a lease did, by the lease's state.
std::string_view role_of(ledger::LeaseState state) {
  switch (state) {
    case ledger::LeaseState::kRunning:
      return "the container's first process,";
    case ledger::LeaseState::kReleasing:
      return "which was releasing the lease,";
    default:
      return "which was starting the container,";
  }
}

// Judges a lease whose container ran, and whose owner does not run or cannot be seen.
Judgement judge_container(const ledger::Lease& lease, const Evidence& evidence,
                          const std::string& owner, Life otherwise) {
  if (evidence.restored) {
    const bool is_here = evidence.same_pid_namespace && evidence.owner == Seen::kNo;
    return {Life::kRuns,
            str(owner, ", but the low-level runtime now has process ", evidence.restored->pid),
            is_here ? evidence.restored : std::nullopt};
  }
  if (evidence.others == Seen::kYes) {
    return {Life::kRuns, str(owner, ", but other processes of cgroup ", lease.cgroup, " run"), {}};
  }
  if (evidence.others == Seen::kHidden) {
    return {
        Life::kUnknown,
        str(owner, ", and the other processes of cgroup ", lease.cgroup, " cannot be inspected"),
        {}};
  }
  return {otherwise, owner, {}};
}

}  // namespace

Result<ProcessId> recorded_init(const std::string& state_dir) {
  const base::Fd directory =
      TRY(base::open_at(AT_FDCWD, state_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW));
  const Result<base::Json> runc = read_record(directory, "state.json");
  if (runc.ok()) return parse_record(runc.value(), "init_process_pid", "init_process_start");
  if (runc.error().code() != Code::kNotFound) return runc.error();
  const base::Json crun = TRY(read_record(directory, "status"));
  return parse_record(crun, "pid", "process-start-time");
}

Evidence look_at_lease(const Env& env, const ledger::Lease& lease, const std::string& boot_id) {
  Evidence evidence;
  evidence.same_boot = lease.boot_id == boot_id;
  if (!evidence.same_boot) return evidence;
  const Result<ProcessId> self = base::current_process();
  evidence.same_pid_namespace =
      self.ok() && self.value().pid_namespace == lease.owner.pid_namespace;
  evidence.owner = evidence.same_pid_namespace ? is_seen(lease.owner) : Seen::kHidden;
  const bool may_have_ended =
      evidence.owner == Seen::kYes && lease.state == ledger::LeaseState::kRunning;
  if (may_have_ended && is_ending(lease.owner.pid)) evidence.owner = Seen::kNo;
  // Before a container runs, its owner is the only process. If a runtime is killed while the hook
  // works, the hook is the owner, and what the runtime created ends with it.
  if (evidence.owner == Seen::kYes || lease.state != ledger::LeaseState::kRunning) return evidence;
  evidence.restored = find_restored(env, lease);
  evidence.others = look_at_cgroup(env, lease).any;
  return evidence;
}

Judgement judge(const ledger::Lease& lease, const Evidence& evidence) {
  if (!evidence.same_boot) return {Life::kEnded, "the host was rebooted", {}};
  const bool was_running = lease.state == ledger::LeaseState::kRunning;
  const std::string owner = str("process ", lease.owner.pid, ", ", role_of(lease.state));
  if (!evidence.same_pid_namespace) {
    const std::string text = str(owner, " is in another pid namespace");
    return was_running ? judge_container(lease, evidence, text, Life::kUnknown)
                       : Judgement{Life::kUnknown, text, {}};
  }
  switch (evidence.owner) {
    case Seen::kYes:
      return {Life::kRuns, str(owner, " runs"), {}};
    case Seen::kHidden:
      return {Life::kUnknown, str(owner, " cannot be inspected"), {}};
    case Seen::kNo:
      break;
  }
  const std::string text = str(owner, " ended");
  return was_running ? judge_container(lease, evidence, text, Life::kEnded)
                     : Judgement{Life::kEnded, text, {}};
}

std::optional<pid_t> find_member(const Env& env, const ledger::Lease& lease) {
  const Result<ProcessId> self = base::current_process();
  if (self.ok() && self.value().pid_namespace == lease.owner.pid_namespace &&
      is_seen(lease.owner) == Seen::kYes && is_in_network(lease.owner.pid, lease) == Seen::kYes) {
    return lease.owner.pid;
  }
  const Members members = look_at_cgroup(env, lease);
  if (members.any == Seen::kYes) return members.pid;
  return std::nullopt;
}

std::vector<pid_t> find_members(const Env& env, const ledger::Lease& lease) {
  std::vector<pid_t> pids;
  if (lease.cgroup.empty()) return pids;
  const auto visit = [&](pid_t pid) {
    if (pid != 0 && is_in_network(pid, lease) == Seen::kYes) pids.push_back(pid);
    return device::Visit::kMore;
  };
  // Where there are too many to visit, those that were visited are members all the same.
  (void)device::visit_processes(str(cgroups(env), lease.cgroup), visit);
  return pids;
}

}  // namespace hook::lifecycle
