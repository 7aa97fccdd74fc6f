// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/listing.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/engines/docker_config.h"
#include "hook/engines/program.h"

namespace hook::engines {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kMaxListing = 4 << 20;

Error unanswered(const std::string& program, const Answer& answer) {
  const std::string text = answer.errors.empty() ? base::one_line(answer.out, 200) : answer.errors;
  return {Code::kUnavailable, str(program, ": ", text)};
}

std::string usual_host(const Daemon& daemon) {
  return daemon.runtime_dir.empty() ? "unix:///var/run/docker.sock"
                                    : str("unix://", daemon.runtime_dir, "/docker.sock");
}

Result<Listed> ask_docker(const Daemon& daemon, const std::string& path, const std::string& name,
                          const Deadline& deadline) {
  const std::string docker = TRY(find_program("docker"));
  const FileText text = TRY(base::read_file_if_exists(path, kMaxListing));
  const std::string host = TRY(docker_host(daemon.args, text, usual_host(daemon), path));
  const Answer said =
      TRY(ask(docker, {"--host", host, "info", "--format", "{{json .Runtimes}}"}, deadline));
  const Result<Json> runtimes = base::parse_json(said.out, "docker info");
  if (said.exit_status != 0 || !runtimes.ok() || !runtimes.value().is_object()) {
    return unanswered(str("docker --host ", host, " info"), said);
  }
  return runtimes.value().contains(name) ? Listed::kYes : Listed::kNo;
}

// A temporary directory. It is removed with the object.
class Scratch {
 public:
  static Result<Scratch> make() {
    std::string path = "/tmp/ipuctl-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return Error::from_errno(errno, "make a directory");
    return Scratch(std::move(path));
  }
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code err;
    if (!path_.empty()) std::filesystem::remove_all(path_, err);
  }
  [[nodiscard]] std::string operator/(std::string_view name) const { return str(path_, "/", name); }

 private:
  explicit Scratch(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs 'podman OPTIONS info' in a storage of its own.
Result<Answer> podman_info(const std::vector<std::string>& options, const Deadline& deadline) {
  const std::string podman = TRY(find_program("podman"));
  const Scratch scratch = TRY(Scratch::make());
  std::vector<std::string> args = {
      "--root",        scratch / "root",   "--runroot", scratch / "run",    "--tmpdir",
      scratch / "tmp", "--storage-driver", "vfs",       "--events-backend", "file"};
  args.insert(args.end(), options.begin(), options.end());
  args.insert(args.end(), {"info", "--format", "{{.Host.OCIRuntime.Name}}"});
  return ask(podman, args, deadline);
}

// podman refuses a runtime that it does not know. It runs a runtime that it knows, to ask for the
// version.
Result<Listed> ask_podman(const std::string& name, const Deadline& deadline) {
  const Answer said = TRY(podman_info({"--runtime", name}, deadline));
  if (said.exit_status == 0 && base::trim(said.out) == name) return Listed::kYes;
  if (said.errors.find("not found") != std::string::npos) return Listed::kNo;
  return unanswered("podman info", said);
}

constexpr int64_t kBillion = 1'000'000'000;

int64_t nanoseconds(const timespec& time) { return time.tv_sec * kBillion + time.tv_nsec; }

// Returns when DAEMON started, in nanoseconds, comparable with the times of files. The kernel
// reports the start in ticks; this is the end of that tick.
int64_t started_at(const Daemon& daemon) {
  timespec now{};
  timespec up{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  (void)::clock_gettime(CLOCK_BOOTTIME, &up);
  const int64_t tick = kBillion / ::sysconf(_SC_CLK_TCK);
  const int64_t start = (static_cast<int64_t>(daemon.process.start_time) + 1) * tick;
  return nanoseconds(now) - nanoseconds(up) + start;
}

Result<Listed> started_after(const Daemon& daemon, const std::string& path,
                             const std::string& name) {
  const Registered there = TRY(find_runtime(Engine::kContainerd, path, name));
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0 && started_at(daemon) < nanoseconds(file.st_mtim)) {
    return Error(Code::kUnavailable, str(path, " was written after containerd started"));
  }
  return there.path.empty() ? Listed::kNo : Listed::kYes;
}

Result<Listed> ask_daemon(Engine engine, const Daemon& daemon, const std::string& path,
                          const std::string& name, const Deadline& deadline) {
  if (engine == Engine::kDocker) return ask_docker(daemon, path, name, deadline);
  if (engine == Engine::kContainerd) return started_after(daemon, path, name);
  return Error(Code::kUnsupported, "CRI-O does not report what it has read");
}

Listing listing_of(const Result<Listed>& listed) {
  if (!listed.ok()) return {Listed::kUnknown, listed.error().message()};
  return {listed.value(), ""};
}

}  // namespace

Listing find_listing(Engine engine, const std::vector<Daemon>& daemons, const std::string& path,
                     const std::string& name, const Deadline& deadline) {
  if (engine == Engine::kPodman) return listing_of(ask_podman(name, deadline));
  Listing listing{Listed::kUnknown, str("no ", daemon_of(engine), " is running with ", path)};
  for (const Daemon& daemon : daemons) {
    listing = listing_of(ask_daemon(engine, daemon, path, name, deadline));
    if (listing.listed != Listed::kYes) break;
  }
  return listing;
}

}  // namespace hook::engines
