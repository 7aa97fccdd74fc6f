// SPDX-License-Identifier: Apache-2.0
// support-bundle: one file that says what a supporter asks first.
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/process.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/runtime_site.h"
#include "hook/config/log.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using namespace base::names;

constexpr std::chrono::seconds kCommandTime{30};
constexpr std::chrono::seconds kAskTime{30};  // for the versions of all engines
constexpr size_t kMaxCommand = 4 << 20;       // bytes that one command adds
constexpr size_t kMaxCopy = 256 << 10;        // bytes of one file
constexpr size_t kMaxLogTail = 4 << 20;       // bytes from the end of a log

struct BundleOptions {
  std::string file;
};

std::string section(const std::string& title, const std::string& text) {
  return str("==== ", title, "\n", text, text.ends_with('\n') ? "" : "\n", "\n");
}

// Runs this program with WORDS. A command that fails says why in the file.
std::string run_self(const std::string& words) {
  std::error_code err;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", err).string();
  base::Command command;
  command.path = err ? hook::config::control_program() : self;
  command.args = {"ipuctl"};
  command.max_output = kMaxCommand;
  for (const std::string_view word : base::split(words, ' ')) command.args.emplace_back(word);
  const auto done = base::run(command, Deadline::after(kCommandTime));
  if (!done.ok()) return section(str("ipuctl ", words), done.error().message());
  std::string text = base::safe_lines(done.value().out);
  if (done.value().exit_status != 0) text += str("(exit status ", done.value().exit_status, ")\n");
  return section(str("ipuctl ", words), text);
}

// Copies a file that holds no secrets: what is secret has files of its own.
std::string copy_of(const std::string& path) {
  const Result<std::string> text = base::read_file(path, kMaxCopy);
  return section(path, text.ok() ? base::safe_lines(text.value()) : text.error().message());
}

// Copies the end of a log; nothing if there is none.
std::string tail_of(const std::string& path) {
  Result<std::string> text = base::read_file(path, 2 * base::kMaxLog);
  if (!text.ok() && text.error().sys_errno() == ENOENT) return "";
  if (!text.ok()) return section(path, text.error().message());
  std::string_view tail = text.value();
  if (tail.size() > kMaxLogTail) tail.remove_prefix(tail.find('\n', tail.size() - kMaxLogTail) + 1);
  return section(path, base::safe_lines(tail));
}

std::string kernel_text() {
  struct utsname name {};
  (void)::uname(&name);
  return section("kernel",
                 str(name.sysname, " ", name.release, " ", name.version, " ", name.machine));
}

// Lists the names in a folder, one on each line.
std::string names_in(const std::string& folder) {
  std::error_code err;
  std::string text;
  for (std::filesystem::directory_iterator at(folder, err), end; !err && at != end;
       at.increment(err)) {
    text += str(at->path().filename().string(), "\n");
  }
  return section(folder, base::safe_lines(text.empty() ? "none\n" : text));
}

std::string engine_text() {
  std::string text;
  for (const ProgramVersion& one : program_versions(Deadline::after(kAskTime))) {
    const std::string& says = one.says.ok() ? one.says.value() : one.says.error().message();
    text += str(one.path, ": ", base::one_line(says, 300), "\n");
  }
  return section("engines", text);
}

std::string bundle_text() {
  std::string text =
      str("The IPU container toolkit ", base::rfc3339(base::unix_millis()),
          ". This file has names of containers and tenants, addresses and errors.\n\n");
  text += kernel_text() + copy_of("/etc/os-release") + engine_text();
  for (const char* words : {"version", "info", "doctor", "ps", "queue", "reservation list",
                            "pool list", "partition list --holders", "runtime status",
                            "drain --dry-run", "gc --dry-run", "ledger check", "events"}) {
    text += run_self(words);
  }
  text += copy_of(hook::config::config_file()) + copy_of(hook::config::forbidden_calls_file()) +
          copy_of(hook::config::crashes_file());
  const std::string log = hook::config::load_log(hook::config::config_file()).file;
  text += tail_of(log + ".1") + tail_of(log);
  for (const char* folder : {"/sys/class/net", "/sys/class/infiniband", "/sys/fs/cgroup"})
    text += names_in(folder);
  return text;
}

Result<Outcome> run_bundle(const BundleOptions& options) {
  if (::geteuid() != 0) (void)TRY(read_ledger());  // the error says who may
  const std::string file =
      options.file.empty() ? str("ipu-support-", base::unix_millis() / 1000, ".txt") : options.file;
  std::error_code err;
  if (std::filesystem::exists(file, err)) {
    return Error(Code::kExists, str("write ", base::quote(file),
                                    ": it is there already; give"
                                    " another name"));
  }
  TRY(base::write_atomic(file, bundle_text(), {.mode = 0600}));
  return Outcome{str("wrote ", file, "; read it before you send it\n")};
}

}  // namespace

void add_support_bundle(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<BundleOptions>();
  Options declared =
      add_command(app,
                  {"support-bundle", "Write one file that says what a supporter asks first",
                   "ipuctl support-bundle --file /tmp/ipu-support.txt"},
                  chosen, [options] { return run_bundle(*options); });
  declared.text({"--file", "FILE", "Where to write it (default: ipu-support-TIME.txt)"},
                options->file);
}

}  // namespace ipuctl
