// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/engine.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/fs.h"
#include "base/text.h"
#include "hook/engines/containerd_config.h"
#include "hook/engines/docker_config.h"
#include "hook/engines/drop_in.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

constexpr size_t kMaxFile = 4 << 20;

// One engine. Its file is PATH, that of a user who is not root HOME_PATH below ~/.config; both are
// those of the engine's documentation.
struct Kind {
  std::string_view name;
  std::string_view daemon;
  std::string_view path;
  std::string_view home_path;
  std::string_view snap_path;  // empty: there is no snap of it
  std::string_view empty;      // what a file of ours holds without the entry; empty: a drop-in
  Result<FileText> (*add)(const FileText&, const RuntimeEntry&, const std::string&);
  Result<FileText> (*remove)(const FileText&, const std::string&, const std::string&);
  Result<Registered> (*find)(const FileText&, const std::string&, const std::string&);
};

Status check_ours(const FileText& text, const std::string& file) {
  if (!text || is_drop_in(*text)) return {};
  return Error(Code::kExists, str(file,
                                  " is there, and not by 'ipuctl runtime configure'; move it"
                                  " away"));
}

Result<FileText> add_podman(const FileText& text, const RuntimeEntry& entry,
                            const std::string& file) {
  TRY(check_ours(text, file));
  return FileText(podman_drop_in(entry));
}

Result<FileText> add_crio(const FileText& text, const RuntimeEntry& entry,
                          const std::string& file) {
  TRY(check_ours(text, file));
  return FileText(crio_drop_in(entry));
}

Result<FileText> remove_drop_in(const FileText& text, const std::string& /*name*/,
                                const std::string& file) {
  TRY(check_ours(text, file));
  return FileText();
}

const Kind& kind_of(Engine engine) {
  static const Kind kKinds[] = {
      {"docker", "dockerd", "/etc/docker/daemon.json", "/docker/daemon.json",
       "/var/snap/docker/current/config/daemon.json", "{}\n", add_docker_runtime,
       remove_docker_runtime, find_docker_runtime},
      {"containerd", "containerd", "/etc/containerd/config.toml", "/containerd/config.toml", "",
       "version = 2\n", add_containerd_runtime, remove_containerd_runtime, find_containerd_runtime},
      {"crio", "crio", "/etc/crio/crio.conf.d/99-ipu-container-toolkit.conf", "", "", "", add_crio,
       remove_drop_in, find_crio_runtime},
      {"podman", "podman", "/etc/containers/containers.conf.d/ipu-container-toolkit.conf",
       "/containers/containers.conf.d/ipu-container-toolkit.conf", "", "", add_podman,
       remove_drop_in, find_podman_runtime}};
  return kKinds[static_cast<size_t>(engine)];
}

bool is_drop_in_kind(const Kind& kind) { return kind.empty.empty(); }

// docker starts a containerd of its own, with a file that it writes itself.
bool is_of_docker(const Daemon& daemon) {
  const auto file = option_value(daemon.args, {"--config"});
  return file && file->ends_with("/containerd/containerd.toml");
}

std::string backup_of(const std::string& path) { return path + ".before-ipu"; }

// The file itself where PATH is a link to it.
std::string target_of(const std::string& path) {
  std::error_code err;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, err);
  return err ? path : target.string();
}

// The text from before NAME was added, if TEXT is what adding it made of that.
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

Result<FileEdit> read_files(const std::string& path) {
  FileEdit edit{target_of(path), {}, {}};
  edit.before = TRY(base::read_file_if_exists(edit.path, kMaxFile));
  edit.backup_before = TRY(base::read_file_if_exists(backup_of(edit.path), kMaxFile));
  return edit;
}

Status make_directories(const std::string& path) {
  std::error_code err;
  std::filesystem::create_directories(path, err);
  if (err) return Error::from_errno(err.value(), str("make ", base::quote(path)));
  return {};
}

base::FileAttributes attributes_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_mode & 07777, status.st_uid, status.st_gid};
}

}  // namespace

std::string_view name_of(Engine engine) { return kind_of(engine).name; }
std::string_view daemon_of(Engine engine) { return kind_of(engine).daemon; }

Result<Engine> parse_engine(std::string_view name) {
  for (const Engine engine : kEngines) {
    if (name_of(engine) == name) return engine;
  }
  return Error(Code::kInvalid, str("there is no engine ", base::quote(name),
                                   "; there are docker, containerd, crio, podman and auto"));
}

std::vector<Daemon> daemons_of(Engine engine) {
  std::vector<Daemon> daemons = find_daemons("/proc", daemon_of(engine));
  std::erase_if(daemons, is_of_docker);
  return daemons;
}

Result<std::string> file_of(Engine engine, const std::vector<Daemon>& daemons,
                            const Surroundings& where) {
  const Kind& kind = kind_of(engine);
  std::string told;
  for (const Daemon& daemon : daemons) {
    const auto file = option_value(daemon.args, {"--config-file", "--config", "-c"});
    if (!file || is_drop_in_kind(kind) || *file == told) continue;
    if (!told.empty()) {
      return Error(Code::kInvalid, str(kind.daemon, " runs more than once, with ", told, " and ",
                                       *file, "; choose one with --config"));
    }
    told = *file;
  }
  if (!told.empty()) return str(where.root, told);
  if (!where.config_home.empty()) return str(where.config_home, kind.home_path);
  const std::string usual = str(where.root, kind.path);
  const std::string snap = str(where.root, kind.snap_path);
  std::error_code err;
  const bool only_snap = !kind.snap_path.empty() && !std::filesystem::exists(usual, err) &&
                         std::filesystem::exists(std::filesystem::path(snap).parent_path(), err);
  return only_snap ? snap : usual;
}

Result<FileEdit> plan_configure(Engine engine, const std::string& path, const RuntimeEntry& entry) {
  const Kind& kind = kind_of(engine);
  FileEdit edit = TRY(read_files(path));
  edit.after = TRY(kind.add(edit.before, entry, edit.path));
  edit.backup_after = edit.backup_before;
  const Registered there = TRY(kind.find(edit.before, entry.name, edit.path));
  const bool is_first = !edit.backup_before && there.path.empty() && edit.before != edit.after;
  if (is_first && !is_drop_in_kind(kind)) edit.backup_after = edit.before;
  return edit;
}

Result<FileEdit> plan_unconfigure(Engine engine, const std::string& path, const std::string& name) {
  const Kind& kind = kind_of(engine);
  FileEdit edit = TRY(read_files(path));
  edit.after = TRY(text_before(kind, edit, name));
  if (edit.after) return edit;
  edit.after = TRY(kind.remove(edit.before, name, edit.path));
  const bool is_ours = !edit.backup_before && edit.before != edit.after && edit.after == kind.empty;
  if (is_ours) edit.after.reset();
  return edit;
}

Result<Registered> find_runtime(Engine engine, const std::string& path, const std::string& name) {
  return kind_of(engine).find(TRY(base::read_file_if_exists(path, kMaxFile)), name, path);
}

Status apply_edit(const FileEdit& edit) {
  if (edit.before == edit.after) return {};
  const FileText now = TRY(base::read_file_if_exists(edit.path, kMaxFile));
  if (now != edit.before) {
    return Error(Code::kBusy, str(edit.path, " was changed by somebody else meanwhile; try again"));
  }
  const base::FileAttributes attributes = attributes_of(edit.path);
  const std::string backup = backup_of(edit.path);
  if (edit.backup_after && !edit.backup_before) {
    TRY(base::write_atomic(backup, *edit.backup_after, attributes));
  }
  if (!edit.before) TRY(make_directories(edit.path.substr(0, edit.path.rfind('/'))));
  if (edit.after) {
    TRY(base::write_atomic(edit.path, *edit.after, attributes));
  } else {
    TRY(base::remove_file(edit.path));
  }
  if (!edit.backup_after) TRY(base::remove_file(backup));
  return {};
}

}  // namespace hook
