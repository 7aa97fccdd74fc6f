// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/containerd_config.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/section.h"
#include "hook/engines/containerd_template.h"
#include "hook/engines/toml_text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr std::string_view kBegin = "# ipuctl runtime configure: begin\n";
constexpr std::string_view kEnd = "# ipuctl runtime configure: end\n";
// The names of the CRI plugin: in files of version 2, and in those of version 3 and later.
constexpr const char* kOldPlugin = "io.containerd.grpc.v1.cri";
constexpr const char* kNewPlugin = "io.containerd.cri.v1.runtime";
// The highest version of containerd 2.3. It has the CRI plugin of version 3.
constexpr int64_t kLastKnownVersion = 4;

using Tables = std::optional<config::Section>;

Result<Tables> go_down(Tables at, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (!at) break;
    at = TRY(at->find_table(name));
  }
  return at;
}

// The part of a configuration that this file reads.
struct Cri {
  std::string plugin;  // "io.containerd.grpc.v1.cri"
  Tables runtimes;     // the handlers of the plugin
  std::vector<std::string> disabled = {};
};

// Returns the version of the configuration in FILE, also if the text names none.
Result<int64_t> version_of(const config::Section& root, const std::string& file) {
  const std::optional<int64_t> version =
      TRY(root.find_number("version", 1, INT32_MAX, "1 or higher"));
  return version.value_or(is_template(file) ? template_version(file) : 1);
}

// Refuses a file of version 1. Docker's packages bring such a file, with the CRI plugin disabled.
Error version_one(const Cri& cri, const std::string& file) {
  const bool is_off =
      std::find(cri.disabled.begin(), cri.disabled.end(), "cri") != cri.disabled.end();
  return {Code::kInvalid,
          str(file,
              ": has version 1; convert it to version 2, with 'containerd config migrate' from"
              " containerd 1.7 on",
              is_off ? ", and remove 'cri' from its disabled_plugins" : "")};
}

Result<Cri> read_cri(std::string_view text, const std::string& file) {
  const std::string plain = is_template(file) ? without_actions(text) : std::string(text);
  const config::Section root = TRY(config::Section::parse(plain, file));
  const int64_t version = TRY(version_of(root, file));
  Cri cri;
  // An empty list counts as no list. containerd itself refuses a value that is not a list.
  const auto disabled = root.find_texts("disabled_plugins", "a list of names");
  if (disabled.ok()) cri.disabled = disabled.value();
  if (version == 1) return version_one(cri, file);
  cri.plugin = version == 2 ? kOldPlugin : kNewPlugin;
  const Tables start(root);
  cri.runtimes = TRY(go_down(start, {"plugins", cri.plugin, "containerd", "runtimes"}));
  return cri;
}

// Returns the program of the handler NAME: empty if there is no such handler, "?" if the handler
// names no program.
Result<std::string> path_of(const Cri& cri, const std::string& name) {
  const Tables handler = TRY(go_down(cri.runtimes, {name}));
  if (!handler) return std::string();
  const Tables options = TRY(go_down(handler, {"options"}));
  if (!options) return std::string("?");
  const std::optional<std::string> path = TRY(options->find_text("BinaryName", "a path"));
  return path.value_or("?");
}

// Returns the line that gives our handler the SystemdCgroup setting of the handler "runc"; empty if
// that is false or absent.
Result<std::string> cgroup_line(const Cri& cri, const std::string& file) {
  if (is_template(file)) return std::string("    SystemdCgroup = {{ .SystemdCgroup }}\n");
  const Tables options = TRY(go_down(cri.runtimes, {"runc", "options"}));
  if (!options) return std::string();
  const std::optional<bool> systemd = TRY(options->find_flag("SystemdCgroup"));
  return std::string(systemd.value_or(false) ? "    SystemdCgroup = true\n" : "");
}

std::string block_of(const Cri& cri, const RuntimeEntry& entry, const std::string& cgroup_line) {
  const std::string table =
      str("plugins.", toml_string(cri.plugin), ".containerd.runtimes.", toml_string(entry.name));
  return str(kBegin, "[", table, "]\n", "  runtime_type = \"io.containerd.runc.v2\"\n",
             "  pod_annotations = [\"graphcore.ai/*\"]\n",
             "  container_annotations = [\"graphcore.ai/*\"]\n", "  [", table, ".options]\n",
             "    BinaryName = ", toml_string(entry.path), "\n", cgroup_line, kEnd);
}

// Returns TEXT without our block, if it has one, and without the empty line before the block.
std::string without_block(std::string text) {
  const size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return text;
  const size_t end = text.find(kEnd, begin);
  if (end == std::string::npos) return text;
  const bool has_line = begin > 0 && text.substr(0, begin).ends_with("\n\n");
  const size_t from = has_line ? begin - 1 : begin;
  return text.erase(from, end + kEnd.size() - from);
}

Error taken(const std::string& file, const std::string& name, const std::string& path) {
  return {Code::kExists,
          str(file, ": handler ", base::quote(name), " (", base::quote(path),
              ") was not added by 'ipuctl runtime configure'; remove it there, or choose another"
              " name with --name")};
}

}  // namespace

Result<FileText> add_containerd_runtime(const FileText& text, const RuntimeEntry& entry,
                                        const std::string& file) {
  if (entry.make_default) {
    return Error(
        Code::kUnsupported,
        str("--set-default is not supported for containerd; set default_runtime_name in ", file));
  }
  const std::string others = without_block(text.value_or(new_containerd_file(file)));
  const Cri cri = TRY(read_cri(others, file));
  const std::string path = TRY(path_of(cri, entry.name));
  if (path == entry.path) return text;
  if (!path.empty()) return taken(file, entry.name, path);
  const std::string cgroups = TRY(cgroup_line(cri, file));
  const std::string_view gap = others.ends_with("\n") || others.empty() ? "\n" : "\n\n";
  const std::string edited = str(others, gap, block_of(cri, entry, cgroups));
  const Result<Cri> checked = read_cri(edited, file);
  if (!checked.ok()) {
    return Error(Code::kInvalid,
                 str(file, ": cannot add a runtime to its tables (", checked.error().message(),
                     "); write each runtime as a table of its own, [plugins.",
                     toml_string(cri.plugin), ".containerd.runtimes.NAME]"));
  }
  return FileText(edited);
}

Result<FileText> remove_containerd_runtime(const FileText& text, const std::string& name,
                                           const std::string& file) {
  if (!text) return text;
  const Cri whole = TRY(read_cri(*text, file));
  if (TRY(path_of(whole, name)).empty()) return text;
  const std::string others = without_block(*text);
  const Cri cri = TRY(read_cri(others, file));
  const std::string path = TRY(path_of(cri, name));
  if (!path.empty()) return taken(file, name, path);
  return FileText(others);
}

Result<Registered> find_containerd_runtime(const FileText& text, const std::string& name,
                                           const std::string& file) {
  if (!text) return Registered();
  const Cri cri = TRY(read_cri(*text, file));
  Registered registered;
  registered.path = TRY(path_of(cri, name));
  return registered;
}

Result<DumpedHandler> find_dumped_handler(std::string_view dump, const std::string& name) {
  const std::string source = "containerd config dump";
  const config::Section root = TRY(config::Section::parse(std::string(dump), source));
  DumpedHandler found;
  found.version = TRY(version_of(root, source));
  found.is_known_version = found.version <= kLastKnownVersion;
  for (const char* plugin : {kNewPlugin, kOldPlugin}) {
    Cri cri{plugin, {}};
    cri.runtimes = TRY(go_down(Tables(root), {"plugins", cri.plugin, "containerd", "runtimes"}));
    if (found.path.empty()) found.path = TRY(path_of(cri, name));
  }
  return found;
}

std::string new_containerd_file(const std::string& file) {
  return is_template(file) ? "{{ template \"base\" . }}\n" : "version = 2\n";
}

Result<std::optional<std::string>> find_disabled_cri(const FileText& text,
                                                     const std::string& file) {
  const Cri cri = TRY(read_cri(text.value_or(new_containerd_file(file)), file));
  for (const std::string& name : cri.disabled) {
    if (name == "cri" || name == kOldPlugin || name == cri.plugin) return std::optional(name);
  }
  return std::optional<std::string>();
}

}  // namespace hook::engines
