// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/drop_in.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/config/section.h"
#include "hook/engines/toml_text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr std::string_view kMark =
    "# Written by 'ipuctl runtime configure'; 'ipuctl runtime unconfigure' removes it.\n";

// All that any version of podman has in its default runtime_supports_json. A list in a file
// replaces the default, so that ours must repeat it.
constexpr std::string_view kPodmanJson[] = {"crun", "crun-vm", "crun-wasm", "kata",  "krun",
                                            "runc", "ocijail", "runj",      "runsc", "youki"};

// Returns the names that podman may have for the runtime: for one that it is given by a path, the
// name of the file. A runtime with another name writes what it has to say as log lines, which
// podman shows as they are.
std::string own_names(const RuntimeEntry& entry) {
  const std::string program = entry.path.substr(entry.path.rfind('/') + 1);
  const std::string name = toml_string(entry.name);
  return program == entry.name ? name : str(toml_string(program), ", ", name);
}

std::string default_line(const RuntimeEntry& entry, std::string_view key) {
  return entry.make_default ? str(key, " = ", toml_string(entry.name), "\n") : std::string();
}

}  // namespace

std::string podman_drop_in(const RuntimeEntry& entry) {
  std::string names;
  for (const std::string_view name : kPodmanJson) names += str(toml_string(name), ", ");
  return str(kMark, "[engine]\n", default_line(entry, "runtime"), "runtime_supports_json = [",
             names, own_names(entry), "]\n\n[engine.runtimes]\n", toml_string(entry.name), " = [",
             toml_string(entry.path), "]\n");
}

std::string crio_drop_in(const RuntimeEntry& entry) {
  const std::string start =
      entry.make_default ? str("[crio.runtime]\n", default_line(entry, "default_runtime"), "\n")
                         : "";
  const std::string monitor =
      entry.monitor.empty() ? "" : str("monitor_path = ", toml_string(entry.monitor), "\n");
  return str(kMark, start, "[crio.runtime.runtimes.", toml_string(entry.name), "]\n",
             "runtime_path = ", toml_string(entry.path), "\nruntime_type = \"oci\"\n", monitor);
}

bool is_drop_in(std::string_view text) { return text.starts_with(kMark); }

Result<Registered> find_podman_runtime(const FileText& text, const std::string& name,
                                       const std::string& file) {
  Registered registered;
  if (!text) return registered;
  const config::Section root = TRY(config::Section::parse(*text, file));
  const std::optional<config::Section> engine = TRY(root.find_table("engine"));
  if (!engine) return registered;
  registered.is_default = TRY(engine->find_text("runtime", "a name")) == name;
  const std::optional<config::Section> runtimes = TRY(engine->find_table("runtimes"));
  if (!runtimes || !runtimes->has(name)) return registered;
  const std::vector<std::string> paths = TRY(runtimes->find_texts(name, "a list of paths"));
  registered.path = paths.empty() ? "?" : paths.front();
  return registered;
}

Result<Registered> find_crio_runtime(const FileText& text, const std::string& name,
                                     const std::string& file) {
  Registered registered;
  if (!text) return registered;
  const config::Section root = TRY(config::Section::parse(*text, file));
  const std::optional<config::Section> crio = TRY(root.find_table("crio"));
  if (!crio) return registered;
  const std::optional<config::Section> runtime = TRY(crio->find_table("runtime"));
  if (!runtime) return registered;
  registered.is_default = TRY(runtime->find_text("default_runtime", "a name")) == name;
  const std::optional<config::Section> runtimes = TRY(runtime->find_table("runtimes"));
  if (!runtimes) return registered;
  const std::optional<config::Section> handler = TRY(runtimes->find_table(name));
  if (!handler) return registered;
  registered.path = TRY(handler->find_text("runtime_path", "a path")).value_or("?");
  return registered;
}

}  // namespace hook::engines
