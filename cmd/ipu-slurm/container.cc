// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/container.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/spawn.h"
#include "cmd/ipu-slurm/job/bundle.h"
#include "cmd/ipu-slurm/job/orders.h"
#include "cmd/ipu-slurm/uplink.h"
#include "hook/config/paths.h"
#include "netns/handle.h"
#include "netns/namespace.h"

namespace slurm {
namespace {

using namespace base::names;
namespace fs = std::filesystem;

constexpr size_t kLongestConfig = 1 << 20;
constexpr size_t kLongestReason = 1000;
constexpr std::chrono::seconds kLongestEnd{10};
constexpr std::chrono::milliseconds kEndPause{20};
constexpr std::chrono::seconds kMoment{1};
constexpr std::chrono::seconds kLongestReconcile{60};
constexpr const char* kResolved = "/run/systemd/resolve/resolv.conf";

// The last line that the runtime said, without the name of the program that said it.
std::string reason_of(const Folder& folder) {
  const Result<std::string> said = folder.read(Folder::kSaid);
  std::string_view text = said.ok() ? base::trim(said.value()) : "";
  text = text.substr(text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
  if (text.starts_with("ipu: ")) text.remove_prefix(5);
  return text.empty() ? "it did not say why" : base::one_line(text, kLongestReason);
}

Status remember(const Folder& folder, const char* name, const base::ProcessId& process) {
  return folder.write(name, text_of(process));
}

// Runs the runtime to its end. The container's program keeps its standard error, which is a file.
Result<int> run_runtime(const Folder& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = {"env",
                                  "-i",
                                  "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                                  hook::config::runtime_program(),
                                  "--root",
                                  runtime_root()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const base::Fd nowhere = TRY(base::open_at(AT_FDCWD, "/dev/null", O_WRONLY));
  const base::Fd said = TRY(base::open_at(AT_FDCWD, folder.path(Folder::kSaid),
                                          O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  const base::Fd errors(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!errors.valid() || ::dup2(said.get(), STDERR_FILENO) < 0)
    return Error::from_errno(errno, "redirect standard error");
  const Result<pid_t> child = base::spawn("/usr/bin/env", all, nowhere.get());
  if (::dup2(errors.get(), STDERR_FILENO) < 0)
    return Error::from_errno(errno, "restore standard error");
  const pid_t pid = TRY(Result<pid_t>(child));
  const auto identity = base::identify_process(pid);
  if (arguments.front() == "create" && identity.ok())
    TRY(remember(folder, Folder::kStarter, identity.value()));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, "wait for the runtime");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string kept_root() { return hook::config::jobs_dir() + "/netns"; }
std::string netns_of(pid_t pid) { return str("/proc/", pid, "/ns/net"); }

Result<base::ProcessId> process_of(const Folder& folder, const char* name = Folder::kProcess) {
  const std::string text = TRY(folder.read(name));
  return parse_process(text);
}

bool is_alive(const Folder& folder) {
  const Result<base::ProcessId> process = process_of(folder);
  return process.ok() && base::is_running(process.value());
}

Status make_folders(const Folder& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::error_code failed;
    fs::create_directories(folder.path(name), failed);
    if (failed) return Error::from_errno(failed.value(), str("make ", folder.path(name)));
  }
  return {};
}

Status make_bundle(const Folder& folder, const BundleInput& input) {
  // The places of what the runtime mounts: the root of the container is read-only.
  TRY(make_folders(folder, {"rootfs/etc/ipuof.conf.d", "rootfs/run/ipu", "rootfs/proc"}));
  TRY(base::write_atomic(folder.path(str("rootfs", kPause)), "", {.mode = 0700}));
  return folder.write("config.json", bundle_text(input));
}

// Makes the places in the host at which tasks mount their own folders.
Status make_places(const Entry& entry) {
  for (const Mount& mount : entry.mounts) {
    std::error_code failed;
    if (!fs::is_directory(mount.source, failed))
      return Error(Code::kUnsupported, str("a job cannot mount ", quote(mount.source)));
    if (::access(mount.destination.c_str(), F_OK) != 0)
      TRY(base::ensure_dir(mount.destination, 0755));
  }
  return {};
}

Status make_scratch(const Folder& folder, const Entry& entry) {
  TRY(base::ensure_dir(folder.path("dev"), 0755));
  for (const std::string& name : rdma_names(entry))
    TRY(base::write_atomic(folder.path("dev/" + name), "", {.mode = 0600}));
  return {};
}

// The nodes of all cards: /dev/ipu0, /dev/ipu0_mem and so on.
std::vector<std::string> cards_of_host() {
  std::vector<std::string> cards;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator("/dev", failed)) {
    const std::string name = each.path().filename();
    if (is_card(name)) cards.push_back(each.path());
  }
  std::sort(cards.begin(), cards.end());
  return cards;
}

// Returns whether LINE of resolv.conf(5) names a server at a loopback address of the host, which is
// out of reach of the job.
bool names_loopback(std::string_view line) {
  constexpr std::string_view kKey = "nameserver";
  const std::string_view rest = line.substr(std::min(kKey.size(), line.size()));
  if (!line.starts_with(kKey) || (!rest.starts_with(' ') && !rest.starts_with('\t'))) return false;
  const std::string_view address = base::trim(rest);
  return address.starts_with("127.") || address == "::1";
}

// Returns what replaces /etc/resolv.conf in the job; empty: nothing has to, or can.
std::string resolver_for_job() {
  const Result<std::string> text = base::read_file("/etc/resolv.conf", kLongestConfig);
  if (!text.ok()) return "";
  const std::vector<std::string_view> lines = base::split(text.value(), '\n');
  const bool is_local = std::any_of(lines.begin(), lines.end(), names_loopback);
  return is_local && ::access(kResolved, R_OK) == 0 ? kResolved : "";
}

HostFacts facts() { return {::access("/dev/infiniband", F_OK) == 0, cards_of_host(), ""}; }

Result<Network> network_of(pid_t pid) {
  struct stat facts {};
  if (::stat(netns_of(pid).c_str(), &facts) != 0)
    return Error::from_errno(errno, "look at the job's network namespace");
  return Network{pid, facts.st_ino};
}

Result<pid_t> create(const Folder& folder) {
  TRY(remember(folder, Folder::kStarter, {}));  // something may be there from now on
  const int status = TRY(run_runtime(folder, {"create", "--bundle", folder.path(), "--pid-file",
                                              folder.path("pid"), folder.container()}));
  if (status != 0) return Error(Code::kUnavailable, reason_of(folder));
  const std::string pid = TRY(folder.read("pid"));
  return base::parse_int<pid_t>(base::trim(pid), 1, INT32_MAX);
}

// The namespace outlives its container: the plugins of the uplink take back what they made only
// while it is there, and end_tasks() must not take another one for it.
Status connect(const Folder& folder, const Settings& settings, pid_t pid) {
  const netns::Namespace ns = TRY(netns::Namespace::of_process(pid));
  TRY(netns::keep(kept_root(), folder.container(), ns));
  return settings.uplink.empty() ? Status() : attach_uplink(folder, settings.uplink, netns_of(pid));
}

Status disconnect(const Folder& folder) {
  TRY(detach_uplink(folder, str(kept_root(), "/", folder.container())));
  TRY(netns::drop(kept_root(), folder.container()));
  return {};
}

// Whether exactly this process runs, of this pid namespace: it may be killed.
bool runs_here(const base::ProcessId& process) {
  const Result<base::ProcessId> now = base::identify_process(process.pid);
  return now.ok() && now.value() == process;
}

// Ends the runtime of a start whose caller was killed, and what it has started. It has a session of
// its own, whose number is no other process's while it has members.
Status end_starter(const Folder& folder) {
  const Result<base::ProcessId> starter = process_of(folder, Folder::kStarter);
  if (!starter.ok() || starter.value().pid == 0) return {};
  const pid_t session = starter.value().pid;
  const Deadline deadline = Deadline::after(kLongestEnd);
  while (runs_here(starter.value()) || !base::identify_process(session).ok()) {
    if (::kill(-session, SIGKILL) != 0) return {};
    if (deadline.passed())
      return Error(Code::kTimeout, "a program that was starting the job's container does not end");
    std::this_thread::sleep_for(kEndPause);
  }
  return {};
}

// Whether a thread of PID is in the network namespace IN. The first one may have ended.
bool is_in(const std::string& pid, const netns::Identity& in) {
  std::error_code failed;
  for (const auto& thread : fs::directory_iterator(str("/proc/", pid, "/task"), failed)) {
    struct stat facts {};
    const std::string path = thread.path().string() + "/ns/net";
    if (::stat(path.c_str(), &facts) == 0 && facts.st_ino == in.inode && facts.st_dev == in.device)
      return true;
  }
  return false;
}

// Returns the processes in the network namespace IN, without CONTAINER and this one.
std::vector<base::ProcessId> processes_in(const netns::Identity& in, pid_t container) {
  std::vector<base::ProcessId> found;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator("/proc", failed)) {
    const std::string name = each.path().filename();
    const auto pid = base::parse_int<pid_t>(name, 1, INT32_MAX);
    if (!pid.ok() || pid.value() == container || pid.value() == ::getpid() || !is_in(name, in))
      continue;
    const auto process = base::identify_process(pid.value());
    if (process.ok()) found.push_back(process.value());
  }
  return found;
}

// Whether PROCESS is root's. Such a program, which may only look at the namespace, gets a moment.
bool is_roots(const base::ProcessId& process) {
  struct stat facts {};
  return ::stat(str("/proc/", process.pid).c_str(), &facts) != 0 || facts.st_uid == 0;
}

pid_t container_of(const Folder& folder) {
  const Result<base::ProcessId> process = process_of(folder);
  return process.ok() && runs_here(process.value()) ? process.value().pid : 0;
}

// Ends what a job has left in its namespace, such as a daemon that Slurm does not track: it may
// have devices of the lease open.
Status end_tasks(const Folder& folder) {
  const auto ns = TRY(netns::find_kept(kept_root(), folder.container()));
  if (!ns) return {};
  const netns::Namespace own = TRY(netns::Namespace::of_process(::getpid()));
  if (own.identity() == ns->identity())
    return Error(Code::kInternal, "the job's recorded namespace is the host's: nothing was killed");
  const pid_t container = container_of(folder);
  const Deadline moment = Deadline::after(kMoment);
  const Deadline deadline = Deadline::after(kLongestEnd);
  std::vector<base::ProcessId> seen;
  for (;;) {
    std::vector<base::ProcessId> found = processes_in(ns->identity(), container);
    if (found.empty()) return {};
    if (deadline.passed())
      return Error(Code::kTimeout, "processes in the job's network namespace do not end");
    for (const base::ProcessId& each : found) {
      const bool was_seen = std::find(seen.begin(), seen.end(), each) != seen.end();
      if (runs_here(each) && (!is_roots(each) || (was_seen && moment.passed())))
        (void)::kill(each.pid, SIGKILL);
    }
    if (found == seen) std::this_thread::sleep_for(kEndPause);
    seen = std::move(found);
  }
}

// Gives back what a start or a container that was killed has left. Otherwise the next start of any
// container does so, or ipu-container-toolkit-gc.timer.
void reconcile() {
  base::Command command;
  command.path = hook::config::hook_program();
  command.args = {"ipu-container-hook", "reconcile"};
  command.env = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  command.max_output = kLongestConfig;
  (void)base::run(command, Deadline::after(kLongestReconcile));
}

Result<std::string> start(const Folder& folder, const Settings& settings) {
  const Request request = TRY(folder.request());
  const BundleInput input{hook::config::slurm_program(), to_environment(request, settings),
                          str(settings.cgroup, "/", folder.container())};
  TRY(make_bundle(folder, input));
  const pid_t pid = TRY(create(folder));
  const base::ProcessId process = TRY(base::identify_process(pid));
  TRY(remember(folder, Folder::kProcess, process));
  TRY(connect(folder, settings, pid));
  if (TRY(run_runtime(folder, {"start", folder.container()})) != 0)
    return Error(Code::kUnavailable, reason_of(folder));
  const std::string config = TRY(folder.read("config.json"));
  const Entry entry = TRY(entry_of(input, config));
  TRY(make_places(entry));
  TRY(make_scratch(folder, entry));
  const Network network = TRY(network_of(pid));
  HostFacts host = facts();
  if (!settings.uplink.empty()) host.resolver = resolver_for_job();
  std::string text = orders(entry, network, host, folder.path("dev"));
  TRY(folder.write(Folder::kOrders, text));
  return text;
}

// Ends what an earlier call left, if there is anything.
Status clear(const Folder& folder) {
  if (TRY(folder.read(Folder::kStarter)).empty()) return {};
  const bool was_whole = is_alive(folder) && !TRY(folder.read(Folder::kOrders)).empty();
  TRY(base::remove_file(folder.path(Folder::kOrders)));
  TRY(end_starter(folder));
  // A second call needs the namespace, unless all of this is done.
  const Status ended = end_tasks(folder);
  const Status disconnected = ended.ok() ? disconnect(folder) : Status(ended);
  const int status = TRY(run_runtime(folder, {"delete", "--force", folder.container()}));
  if (status != 0 && reason_of(folder).find("does not exist") == std::string::npos)
    return Error(Code::kUnavailable, str("the job's container does not end: ", reason_of(folder)));
  if (!was_whole) reconcile();
  TRY(Status(disconnected));
  TRY(base::remove_file(folder.path(Folder::kProcess)));
  TRY(base::remove_file(folder.path(Folder::kStarter)));
  return {};
}

}  // namespace

Result<std::string> enter(const Folder& folder, const Settings& settings) {
  std::string known = TRY(folder.read(Folder::kOrders));
  if (!known.empty() && is_alive(folder)) return known;
  // Other tasks of the job may be in its namespace still, without their IPUs.
  if (!known.empty()) {
    return Error(Code::kUnavailable, str("the container ", folder.container(),
                                         ", which had the job's IPUs, was killed: cancel the job,"
                                         " or requeue it"));
  }
  TRY(clear(folder));
  Result<std::string> started = start(folder, settings);
  if (!started.ok()) (void)clear(folder);
  return started;
}

Result<std::string> stay_outside(const Folder& folder) {
  TRY(base::ensure_dir(folder.path("none"), 0755));
  return orders_outside(facts(), folder.path("none"));
}

Status end(const Folder& folder) {
  if (::access(folder.path().c_str(), F_OK) != 0) return {};
  TRY(clear(folder));
  return folder.remove();
}

}  // namespace slurm
