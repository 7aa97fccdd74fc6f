// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/control.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Json;
using base::Result;
using base::Status;
using base::str;

constexpr size_t kMaxOutput = 1 << 20;

// What PROGRAM says, on both of its outputs.
Result<base::Output> ask(const std::string& program, const std::vector<std::string>& args,
                         const Deadline& deadline) {
  base::Command command;
  command.path = "/bin/sh";
  command.args = {"sh", "-c", "exec \"$@\" 2>&1", "sh", program};
  command.args.insert(command.args.end(), args.begin(), args.end());
  command.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                 "LC_ALL=C.UTF-8"};
  command.max_output = kMaxOutput;
  return base::run(command, deadline);
}

// A file of its own directory, both gone with the object.
class ScratchFile {
 public:
  static Result<ScratchFile> make(const std::string& text) {
    std::string directory = "/tmp/ipuctl-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) return Error::from_errno(errno, "make a directory");
    ScratchFile file(std::move(directory));
    TRY(base::write_atomic(file.path(), text, {}));
    return file;
  }
  ScratchFile(ScratchFile&& other) noexcept : directory_(std::exchange(other.directory_, "")) {}
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile() {
    if (!directory_.empty()) (void)base::remove_flat_dir(directory_);
  }
  [[nodiscard]] std::string path() const { return directory_ + "/config"; }

 private:
  explicit ScratchFile(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

enum class Has { kYes, kNo };

Result<Has> has_validate(const std::string& dockerd, const Deadline& deadline) {
  const base::Output help = TRY(ask(dockerd, {"--help"}, deadline));
  return help.out.find("--validate") != std::string::npos ? Has::kYes : Has::kNo;
}

Status check_with(const std::string& program, const std::vector<std::string>& args,
                  const Deadline& deadline) {
  const base::Output said = TRY(ask(program, args, deadline));
  if (said.exit_status == 0) return {};
  return Error(Code::kInvalid, str("the new text does not pass '", base::join(args, " "), "' of ",
                                   program, ": ", base::one_line(base::trim(said.out), 500)));
}

// The socket that DAEMON listens on, as docker's option; empty: the usual one.
std::string host_of(const Daemon& daemon) {
  const std::optional<std::string> host = option_value(daemon.args, {"-H", "--host"});
  return host && host->starts_with("unix://") ? *host : "";
}

Result<Listed> ask_docker(const Daemon& daemon, const std::string& name, const Deadline& deadline) {
  const std::string docker = TRY(find_program("docker"));
  std::vector<std::string> args = {"info", "--format", "{{json .Runtimes}}"};
  const std::string host = host_of(daemon);
  if (!host.empty()) args.insert(args.begin(), {"--host", host});
  const base::Output said = TRY(ask(docker, args, deadline));
  const Result<Json> runtimes = base::parse_json(said.out, "docker info");
  if (!runtimes.ok() || !runtimes.value().is_object()) return Listed::kUnknown;
  return runtimes.value().contains(name) ? Listed::kYes : Listed::kNo;
}

Result<Listed> ask_podman(const std::string& name, const Deadline& deadline) {
  const std::string podman = TRY(find_program("podman"));
  const base::Output said = TRY(
      ask(podman, {"--runtime", name, "info", "--format", "{{.Host.OCIRuntime.Name}}"}, deadline));
  return said.exit_status == 0 && base::trim(said.out) == name ? Listed::kYes : Listed::kNo;
}

// The unix time at which this machine started: "btime" of proc(5).
Result<int64_t> boot_time() {
  constexpr size_t kMaxStat = 1 << 20;
  const std::string text = TRY(base::read_file("/proc/stat", kMaxStat));
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.starts_with("btime ")) return base::parse_int<int64_t>(line.substr(6), 0, INT64_MAX);
  }
  return Error(Code::kInternal, "/proc/stat has no btime");
}

// A daemon reads its file when it starts.
Result<Listed> started_after(const Daemon& daemon, const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return Listed::kNo;
  const int64_t booted = TRY(boot_time());
  const int64_t started =
      booted + static_cast<int64_t>(daemon.process.start_time) / ::sysconf(_SC_CLK_TCK);
  return started >= file.st_mtim.tv_sec ? Listed::kYes : Listed::kNo;
}

}  // namespace

Result<std::string> find_program(std::string_view name) {
  for (const std::string_view directory : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                           "/usr/bin", "/sbin", "/bin", "/snap/bin"}) {
    std::string path = str(directory, "/", name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error(Code::kNotFound, str("there is no program ", name));
}

Status check_text(Engine engine, const std::string& text, const Deadline& deadline) {
  if (engine != Engine::kDocker && engine != Engine::kContainerd) return {};
  const Result<std::string> program = find_program(daemon_of(engine));
  if (!program.ok()) return {};
  const ScratchFile file = TRY(ScratchFile::make(text));
  if (engine == Engine::kContainerd) {
    return check_with(program.value(), {"--config", file.path(), "config", "dump"}, deadline);
  }
  if (TRY(has_validate(program.value(), deadline)) == Has::kNo) return {};
  return check_with(program.value(), {"--validate", "--config-file", file.path()}, deadline);
}

Result<Reload> reload(Engine engine, const std::vector<Daemon>& daemons) {
  if (engine == Engine::kPodman || daemons.empty()) return Reload::kNone;
  if (engine == Engine::kContainerd) return Reload::kRestart;
  for (const Daemon& daemon : daemons) TRY(signal_daemon(daemon, SIGHUP));
  return Reload::kDone;
}

Result<Listed> is_listed(Engine engine, const std::vector<Daemon>& daemons, const std::string& path,
                         const std::string& name, const Deadline& deadline) {
  if (engine == Engine::kPodman) return ask_podman(name, deadline);
  Listed listed = Listed::kUnknown;
  for (const Daemon& daemon : daemons) {
    const bool is_docker = engine == Engine::kDocker;
    listed = TRY(is_docker ? ask_docker(daemon, name, deadline) : started_after(daemon, path));
    if (listed != Listed::kYes) return listed;
  }
  return listed;
}

}  // namespace hook
