// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/engine.h"

#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/engines/containerd_config.h"
#include "hook/engines/containerd_template.h"
#include "hook/engines/docker_config.h"
#include "hook/engines/drop_in.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr size_t kMaxConfigFile = 4 << 20;

// One engine. Root's file is PATH, any other user's is HOME_PATH below ~/.config. Both paths are
// from the engine's documentation.
struct Kind {
  std::string_view name;
  std::string_view daemon;
  std::string_view path;
  std::string_view home_path;
  std::string_view snap_path;  // empty: the engine has no snap
  std::string_view empty;      // the text of a file of ours without an entry; empty: a drop-in
  Result<FileText> (*add)(const FileText&, const RuntimeEntry&, const std::string&);
  Result<FileText> (*remove)(const FileText&, const FileText&, const std::string&,
                             const std::string&);
  Result<Registered> (*find)(const FileText&, const std::string&, const std::string&);
};

Status check_ours(const FileText& text, const std::string& file) {
  if (!text || is_drop_in(*text)) return {};
  return Error(Code::kExists, str(base::quote(file),
                                  " was not written by 'ipuctl runtime configure'; move it away"
                                  " and try again"));
}

// Returns ENTRY, made the default also if it is the default already.
RuntimeEntry as_it_is(RuntimeEntry entry, const Registered& there) {
  entry.make_default = entry.make_default || there.is_default;
  return entry;
}

Result<FileText> add_podman(const FileText& text, const RuntimeEntry& entry,
                            const std::string& file) {
  TRY(check_ours(text, file));
  const Registered there = TRY(find_podman_runtime(text, entry.name, file));
  return FileText(podman_drop_in(as_it_is(entry, there)));
}

Result<FileText> add_crio(const FileText& text, const RuntimeEntry& entry,
                          const std::string& file) {
  TRY(check_ours(text, file));
  const Registered there = TRY(find_crio_runtime(text, entry.name, file));
  return FileText(crio_drop_in(as_it_is(entry, there)));
}

Result<FileText> remove_podman(const FileText& text, const FileText& /*before*/,
                               const std::string& name, const std::string& file) {
  TRY(check_ours(text, file));
  const Registered there = TRY(find_podman_runtime(text, name, file));
  return there.path.empty() ? text : FileText();
}

Result<FileText> remove_crio(const FileText& text, const FileText& /*before*/,
                             const std::string& name, const std::string& file) {
  TRY(check_ours(text, file));
  const Registered there = TRY(find_crio_runtime(text, name, file));
  return there.path.empty() ? text : FileText();
}

Result<FileText> add_containerd(const FileText& text, const RuntimeEntry& entry,
                                const std::string& file) {
  TRY(check_not_generated(file, text));
  return add_containerd_runtime(text, entry, file);
}

Result<FileText> remove_containerd(const FileText& text, const FileText& /*before*/,
                                   const std::string& name, const std::string& file) {
  TRY(check_not_generated(file, text));
  return remove_containerd_runtime(text, name, file);
}

Result<FileText> add_docker(const FileText& text, const RuntimeEntry& entry,
                            const std::string& file) {
  if (file.find("/var/snap/docker/") != std::string::npos) {
    return Error(
        Code::kUnsupported,
        str(file, " belongs to docker's snap, which is confined and cannot start ", entry.path,
            "; install docker from a package (docker.io or docker-ce), and remove the"
            " snap: 'snap remove docker'"));
  }
  return add_docker_runtime(text, entry, file);
}

const Kind& kind_of(Engine engine) {
  static const Kind docker = {"docker",
                              "dockerd",
                              "/etc/docker/daemon.json",
                              "/docker/daemon.json",
                              "/var/snap/docker/current/config/daemon.json",
                              "{}\n",
                              add_docker,
                              remove_docker_runtime,
                              find_docker_runtime};
  static const Kind containerd = {"containerd",
                                  "containerd",
                                  "/etc/containerd/config.toml",
                                  "/containerd/config.toml",
                                  "",
                                  "version = 2\n",
                                  add_containerd,
                                  remove_containerd,
                                  find_containerd_runtime};
  static const Kind crio = {
      "crio",   "crio",      "/etc/crio/crio.conf.d/99-ipu-container-toolkit.conf",
      "",       "",          "",
      add_crio, remove_crio, find_crio_runtime};
  static const Kind podman = {"podman",
                              "podman",
                              "/etc/containers/containers.conf.d/ipu-container-toolkit.conf",
                              "/containers/containers.conf.d/ipu-container-toolkit.conf",
                              "",
                              "",
                              add_podman,
                              remove_podman,
                              find_podman_runtime};
  switch (engine) {
    case Engine::kDocker:
      return docker;
    case Engine::kContainerd:
      return containerd;
    case Engine::kCrio:
      return crio;
    case Engine::kPodman:
      break;
  }
  return podman;
}

bool is_drop_in_kind(const Kind& kind) { return kind.empty.empty(); }

// Returns whether DAEMON is docker's own containerd, whose file docker writes itself.
bool is_of_docker(const Daemon& daemon) {
  const auto file = option_value(daemon.args, {"--config"});
  return file && file->ends_with("/containerd/containerd.toml");
}

// Returns the backup, if adding NAME to the backup gives the present text; nothing otherwise.
Result<FileText> text_before(const Kind& kind, const FileEdit& edit, const std::string& name) {
  if (!edit.backup_before || !edit.before) return FileText();
  const Registered there = TRY(kind.find(edit.before, name, edit.path));
  for (const bool make_default : {false, true}) {
    const Result<FileText> added =
        kind.add(edit.backup_before, {name, there.path, make_default}, edit.path);
    if (added.ok() && added.value() == edit.before) return edit.backup_before;
  }
  return FileText();
}

// Returns whether TEXT is that of a file of ours without an entry.
bool is_nothing(const Kind& kind, const FileText& text, const std::string& file) {
  if (!text || is_drop_in_kind(kind)) return false;
  return *text == kind.empty || (is_template(file) && *text == new_containerd_file(file));
}

// Returns the file that DAEMON reads if no option names one; empty if it reads the usual file.
std::string own_file(const Kind& kind, const Daemon& daemon) {
  return daemon.config_home.empty() ? "" : str(daemon.config_home, kind.home_path);
}

// Returns the file that DAEMONS read instead of the usual one: an option names it, or they are a
// user's. Empty if they read the usual file; kInvalid if they read different ones.
Result<std::string> told_file(const Kind& kind, const std::vector<Daemon>& daemons,
                              const std::string& root) {
  std::string told;
  for (const Daemon& daemon : daemons) {
    const auto option = option_value(daemon.args, {"--config-file", "--config", "-c"});
    const std::string file = option ? str(root, *option) : own_file(kind, daemon);
    if (file.empty() || is_drop_in_kind(kind) || file == told) continue;
    if (!told.empty()) {
      return Error(Code::kInvalid, str("several ", kind.daemon, " are running, with ", told,
                                       " and ", file, "; choose a file with --config"));
    }
    told = file;
  }
  return told;
}

Result<std::string> users_file(const Kind& kind, const Surroundings& where) {
  if (kind.home_path.empty()) {
    return Error(Code::kDenied,
                 str(kind.name, ": only root can change its files; run this command as root"));
  }
  if (!where.config_home.empty()) return str(where.config_home, kind.home_path);
  return Error(Code::kInvalid,
               str(kind.name,
                   ": find this user's configuration file: HOME is not set; set HOME, or name the"
                   " file with --config"));
}

}  // namespace

std::string_view name_of(Engine engine) { return kind_of(engine).name; }
std::string_view daemon_of(Engine engine) { return kind_of(engine).daemon; }

Result<Engine> parse_engine(std::string_view name) {
  for (const Engine engine : kEngines) {
    if (name_of(engine) == name) return engine;
  }
  return Error(Code::kInvalid, str("unknown engine ", base::quote(name),
                                   "; give docker, containerd, crio, podman or auto"));
}

std::vector<Daemon> daemons_of(Engine engine) {
  std::vector<Daemon> daemons = find_daemons("/proc", daemon_of(engine));
  std::erase_if(daemons, is_of_docker);
  return daemons;
}

Result<std::string> file_of(Engine engine, const std::vector<Daemon>& daemons,
                            const Surroundings& where) {
  const Kind& kind = kind_of(engine);
  std::string told = TRY(told_file(kind, daemons, where.root));
  if (!told.empty()) return told;
  if (!where.is_root) return users_file(kind, where);
  const std::string usual = str(where.root, kind.path);
  const std::string snap = str(where.root, kind.snap_path);
  std::error_code err;
  const bool only_snap = !kind.snap_path.empty() && !std::filesystem::exists(usual, err) &&
                         std::filesystem::exists(std::filesystem::path(snap).parent_path(), err);
  return only_snap ? snap : usual;
}

Result<FileEdit> plan_configure(Engine engine, const std::string& path, const RuntimeEntry& entry) {
  const Kind& kind = kind_of(engine);
  FileEdit edit = TRY(read_edit(path));
  edit.after = TRY(kind.add(edit.before, entry, edit.path));
  edit.backup_after = edit.backup_before;
  const Registered there = TRY(kind.find(edit.before, entry.name, edit.path));
  const bool is_first = !edit.backup_before && there.path.empty() && edit.before != edit.after;
  if (is_first && !is_drop_in_kind(kind)) edit.backup_after = edit.before;
  return edit;
}

Result<FileEdit> plan_unconfigure(Engine engine, const std::string& path, const std::string& name) {
  const Kind& kind = kind_of(engine);
  FileEdit edit = TRY(read_edit(path));
  edit.after = TRY(text_before(kind, edit, name));
  if (edit.after) return edit;
  edit.after = TRY(kind.remove(edit.before, edit.backup_before, name, edit.path));
  // While the runtime is still there under another name, the backup stays.
  const bool stays = engine == Engine::kDocker && has_docker_runtime(edit.after);
  if (stays) edit.backup_after = edit.backup_before;
  const bool is_ours = !edit.backup_before && edit.before != edit.after;
  if (is_ours && is_nothing(kind, edit.after, edit.path)) edit.after.reset();
  return edit;
}

Result<std::string> find_hindrance(Engine engine, const std::string& path) {
  if (engine != Engine::kContainerd) return std::string();
  const FileText text = TRY(base::read_file_if_exists(path, kMaxConfigFile));
  const std::optional<std::string> disabled = TRY(find_disabled_cri(text, path));
  if (!disabled) return std::string();
  return str("the runtime has no effect while the CRI plugin is disabled; remove ",
             base::quote(*disabled), " from disabled_plugins in ", path);
}

Result<Registered> find_runtime(Engine engine, const std::string& path, const std::string& name) {
  return kind_of(engine).find(TRY(base::read_file_if_exists(path, kMaxConfigFile)), name, path);
}

}  // namespace hook::engines
