// SPDX-License-Identifier: Apache-2.0
// ipu-slurm does the work of Slurm's plugin spank_ipu.so, which runs it as root on each node of a
// job:
//   ipu-slurm prolog JOB [NAME=VALUE]...   remembers what the job asks for
//   ipu-slurm enter JOB [NAME=VALUE]...    prints what a task has to do to have the job's IPUs
//   ipu-slurm outside JOB [NAME=VALUE]...  the same for a task that stays in the host's network
//   ipu-slurm epilog JOB [NAME=VALUE]...   gives all of it back
//   ipu-slurm pause                        waits: the program of the job's container
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/fs.h"
#include "base/names.h"
#include "base/version.h"
#include "cmd/ipu-slurm/container.h"
#include "cmd/ipu-slurm/folder.h"
#include "cmd/ipu-slurm/job/request.h"

namespace {

using namespace base::names;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr size_t kLongestLine = 2000;
// All but the wait for IPUs takes less. After twice this time, the kernel ends this program and
// what it started.
constexpr std::chrono::seconds kLongest{120};

int fail(const Error& error) {
  (void)std::fprintf(stderr, "ipu: %s\n", base::one_line(error.message(), kLongestLine).c_str());
  return error.code() == Code::kInvalid ? kUsage : kFailed;
}

std::chrono::seconds wait_of(const slurm::Settings& settings) {
  const auto wait = base::parse_duration(settings.wait);  // was read before
  return std::chrono::duration_cast<std::chrono::seconds>(wait.ok() ? wait.value()
                                                                    : std::chrono::milliseconds());
}

// First ends what an earlier run of the job, or an earlier job of this number, has left. If that
// fails, the job has no request, not even the old one.
Status record(const slurm::Folder& folder, const std::vector<std::string>& words) {
  folder.forget_request();
  TRY(slurm::end(folder));
  const slurm::Arguments arguments = TRY(slurm::parse_arguments(words));
  return arguments.request.empty() ? Status() : folder.record(arguments.request);
}

Status prolog(const slurm::Folder& folder, const std::vector<std::string>& words) {
  const base::Fd lock = TRY(folder.lock(kLongest / 2, slurm::Folder::Others::kKilled));
  Status recorded = record(folder, words);
  if (!folder.exists()) folder.unlink_lock();
  return recorded;
}

// A plugin of Slurm may have given the job's processes mounts of their own. What this program
// mounts, the epilog has to find.
Status join_mounts_of_host() {
  const base::Fd host = TRY(base::open_at(AT_FDCWD, "/proc/1/ns/mnt", O_RDONLY));
  if (::setns(host.get(), CLONE_NEWNS) == 0) return {};
  return Error::from_errno(errno, "enter the mount namespace of process 1");
}

// Leaves the freezer of the job's step, for a cgroup below PARENT: its user may stop the step, and
// must not stop who has locks of the whole node. What cannot be left does not matter to the start.
void leave_cgroup(const std::string& parent) {
  const bool is_v2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  const std::string folder = str("/sys/fs/cgroup", is_v2 ? "" : "/freezer", parent, "/starting");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto file = base::open_at(AT_FDCWD, folder + "/cgroup.procs", O_WRONLY);
  if (file.ok()) (void)base::write_all(file.value().get(), str(::getpid()), "a cgroup");
}

// A step has its job's options, unless it was given others.
Status check_step(const slurm::Request& step, slurm::Request job) {
  job.account = step.account;
  if (step.empty() || step == job) return {};
  return Error(Code::kInvalid,
               "a step has the IPUs of its job: give --ipus and the like only to sbatch or salloc");
}

Error unknown(uint32_t job) {
  return {Code::kInvalid, str("this node knows of no IPUs for job ", job,
                              ": give --ipus and the like to sbatch, to salloc, or to srun outside"
                              " of a job; if you did, see the log of slurmd")};
}

// Prints the orders for a task. One that stays OUTSIDE needs no IPUs.
Status enter(const slurm::Folder& folder, const std::vector<std::string>& words, uint32_t job,
             bool outside) {
  const slurm::Arguments arguments = TRY(slurm::parse_arguments(words));
  if (!folder.exists()) return unknown(job);
  const auto longest = kLongest + wait_of(arguments.settings);
  ::alarm(static_cast<unsigned>((2 * longest).count()));
  leave_cgroup(arguments.settings.cgroup);
  const base::Fd lock = TRY(folder.lock(longest, slurm::Folder::Others::kFirst));
  if (!folder.exists()) {  // its job has ended meanwhile
    folder.unlink_lock();
    return unknown(job);
  }
  const slurm::Request request = TRY(folder.request());
  TRY(check_step(arguments.request, request));
  const std::string orders =
      TRY(outside ? slurm::stay_outside(folder) : slurm::enter(folder, arguments.settings));
  return base::write_all(STDOUT_FILENO, orders, "standard output");
}

// It needs no setting: one that is wrong must not keep a job's IPUs.
Status epilog(const slurm::Folder& folder) {
  const base::Fd lock = TRY(folder.lock(kLongest / 2, slurm::Folder::Others::kKilled));
  TRY(slurm::end(folder));
  folder.unlink_lock();
  return {};
}

Status run(std::string_view verb, std::string_view number, const std::vector<std::string>& words) {
  if (::geteuid() != 0) return Error(Code::kDenied, "run ipu-slurm as root");
  const auto job = TRY(base::parse_int<uint32_t>(number, 1, UINT32_MAX));
  ::umask(022);  // it was the user's
  ::alarm(static_cast<unsigned>((2 * kLongest).count()));
  TRY(join_mounts_of_host());
  const slurm::Folder folder(job);
  if (verb == "prolog") return prolog(folder, words);
  if (verb == "enter" || verb == "outside") return enter(folder, words, job, verb == "outside");
  if (verb == "epilog") return epilog(folder);
  return Error(Code::kInvalid, str(quote(verb), " is none of prolog, enter, outside, epilog"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> all(argv, argv + argc);
  if (all.size() == 2 && all[1] == "pause") {
    for (;;) ::pause();
  }
  if (all.size() == 2 && all[1] == "--version") {
    (void)std::printf("ipu-slurm %s\n", std::string(base::product_version()).c_str());
    return std::fflush(stdout) == 0 ? 0 : kFailed;
  }
  if (all.size() < 3) {
    (void)std::fputs("usage: ipu-slurm prolog|enter|outside|epilog JOB [NAME=VALUE]...\n", stderr);
    return kUsage;
  }
  const Status done = run(all[1], all[2], {all.begin() + 3, all.end()});
  return done.ok() ? 0 : fail(done.error());
}
