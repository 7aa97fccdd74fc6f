// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/control.h"

#include <signal.h>

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/signal.h"
#include "base/text.h"
#include "hook/engines/containerd_config.h"
#include "hook/engines/containerd_template.h"
#include "hook/engines/program.h"

namespace hook::engines {
namespace {

using namespace base::names;

// Blocks the signals by which people end a program, so that the program cleans up first.
class SignalsLater {
 public:
  SignalsLater() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&signals, signal);
    (void)::sigprocmask(SIG_BLOCK, &signals, &before_);
  }
  SignalsLater(const SignalsLater&) = delete;
  SignalsLater& operator=(const SignalsLater&) = delete;
  ~SignalsLater() { (void)::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Returns FILE's directory or, if that does not exist, the nearest one above it that does.
std::string directory_of(const std::string& file) {
  std::filesystem::path directory = std::filesystem::path(file).parent_path();
  std::error_code err;
  while (!std::filesystem::is_directory(directory, err) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return directory.string();
}

// A temporary file beside the file that its text may replace. It is removed with the object.
class Candidate {
 public:
  static Result<Candidate> make(const std::string& file, const std::string& text) {
    const std::string unique = TRY(base::random_hex(4));
    Candidate candidate(str(directory_of(file), "/.ipuctl-", unique));
    TRY(base::write_atomic(candidate.path_, text, {0600, {}, {}}));
    return candidate;
  }
  Candidate(Candidate&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  Candidate& operator=(Candidate&&) = delete;
  ~Candidate() {
    if (!path_.empty()) (void)base::remove_file(path_);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit Candidate(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Result<bool> has_validate(const std::string& dockerd, const Deadline& deadline) {
  const Answer help = TRY(ask(dockerd, {"--help"}, deadline));
  return help.out.find("--validate") != std::string::npos;
}

// Lets PROGRAM check a configuration, and returns its output; kInvalid if it rejects the
// configuration.
Result<std::string> check_with(const std::string& program, const std::vector<std::string>& args,
                               const Deadline& deadline) {
  Answer said = TRY(ask(program, args, deadline));
  if (said.exit_status == 0) return std::move(said.out);
  return Error(Code::kInvalid,
               str(program, " rejects the new configuration ('", base::join(args, " "),
                   "'): ", said.errors.empty() ? said.out : said.errors));
}

Status check_docker(const std::string& dockerd, const std::string& path, const Deadline& deadline) {
  const bool validates = TRY(has_validate(dockerd, deadline));
  if (!validates) return {};
  TRY(check_with(dockerd, {"--validate", "--config-file", path}, deadline));
  return {};
}

// Lets containerd check the file at PATH together with the files that it imports. Then checks that
// containerd sees the handler WANTED, unless the CRI plugin is disabled: containerd reports no
// handlers then. Returns a note if containerd's answer does not tell.
Result<std::string> check_containerd(const std::string& containerd, const std::string& path,
                                     const FileEdit& edit,
                                     const std::optional<RuntimeEntry>& wanted,
                                     const Deadline& deadline) {
  const std::vector<std::string> args = {"--config", path, "config", "dump"};
  const std::string dump = TRY(check_with(containerd, args, deadline));
  if (!wanted || TRY(find_disabled_cri(edit.after, edit.path))) return std::string();
  const DumpedHandler there = TRY(find_dumped_handler(dump, wanted->name));
  if (there.path == wanted->path) return std::string();
  if (!there.is_known_version) {
    return str("'containerd config dump' prints version ", there.version,
               ", which this ipuctl does not know, without the handler ", base::quote(wanted->name),
               "; after the restart, check with 'crictl info' that containerd has it");
  }
  return Error(Code::kInvalid,
               str("containerd ignores the handler ", base::quote(wanted->name), " in ", edit.path,
                   ", because a file that it imports replaces the whole plugin; name that file with"
                   " --config"));
}

}  // namespace

Result<std::string> check_edit(Engine engine, const FileEdit& edit,
                               const std::optional<RuntimeEntry>& wanted,
                               const Deadline& deadline) {
  if (engine != Engine::kDocker && engine != Engine::kContainerd) return std::string();
  const Result<std::string> program = find_program(daemon_of(engine));
  if (!program.ok() || !edit.after || is_template(edit.path)) return std::string();
  const SignalsLater later;
  const Candidate candidate = TRY(Candidate::make(edit.path, *edit.after));
  if (engine == Engine::kDocker) {
    TRY(check_docker(program.value(), candidate.path(), deadline));
    return std::string();
  }
  return check_containerd(program.value(), candidate.path(), edit, wanted, deadline);
}

Result<Reload> reload(Engine engine, const std::vector<Daemon>& daemons) {
  if (engine == Engine::kPodman || daemons.empty()) return Reload::kNone;
  if (engine == Engine::kContainerd) return Reload::kRestart;
  for (const Daemon& daemon : daemons) {
    const Status told = base::signal_process(daemon.process, SIGHUP);
    // A daemon that has ended reads its file when it starts again.
    if (!told.ok() && told.error().code() != Code::kNotFound) return told.error();
  }
  return Reload::kDone;
}

}  // namespace hook::engines
