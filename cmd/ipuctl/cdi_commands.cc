// SPDX-License-Identifier: Apache-2.0
// ipuctl cdi generate, list, validate, refresh, remove.
#include <sys/stat.h>

#include <memory>
#include <set>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "hook/cdi/validate.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using namespace base::names;

struct CdiOptions {
  std::string dir;  // empty: that of the last time
  std::string file;
  bool dry_run = false;
  Output output = Output::kTable;
};

std::vector<Error> obstacles_of(const hook::cdi::Files& files) {
  std::vector<Error> obstacles;
  for (const std::string& name : files.unnamed) {
    obstacles.emplace_back(Code::kInvalid, str(base::quote(name),
                                               " has no CDI device: its name must begin and end"
                                               " with a letter or digit; rename it"));
  }
  return obstacles;
}

std::string text_of(const std::vector<std::string>& changed, const char* what) {
  std::string text;
  for (const std::string& path : changed) {
    struct stat there {};
    text += str(::stat(path.c_str(), &there) == 0 ? what : "removed ", path, '\n');
  }
  return text;
}

Result<Outcome> run_generate(const CdiOptions& options) {
  if (!options.dir.empty() && !options.dir.starts_with('/')) {
    return Error(Code::kInvalid, str("--output ", base::quote(options.dir),
                                     " must be the absolute path of a directory"));
  }
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(options.dry_run ? read_ledger() : open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  if (options.dry_run) {
    const hook::cdi::Files files = TRY(wanted_cdi_files(env, config));
    Outcome outcome{"", obstacles_of(files)};
    for (const hook::cdi::File& file : files.files) outcome.text += file.text;
    return outcome;
  }
  const WrittenCdi written = TRY(generate_cdi(env, config, options.dir));
  const std::vector<hook::cdi::File>& files = written.files.files;
  Outcome outcome{text_of(written.changed, "wrote "), obstacles_of(written.files)};
  const bool is_empty = std::all_of(files.begin(), files.end(),
                                    [](const hook::cdi::File& file) { return file.text.empty(); });
  if (is_empty) {
    outcome.text +=
        "this host has no card and no named partition yet; the files follow once it has\n";
  } else if (written.changed.empty()) {
    outcome.text = "the files are up to date\n";
  }
  return outcome;
}

Result<Outcome> run_refresh(const CdiOptions&) {
  const std::optional<std::string> dir = TRY(cdi_dir());
  if (!dir) return Outcome{"nothing to refresh; 'ipuctl cdi generate' makes the files\n"};
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::vector<std::string> changed = TRY(refresh_cdi(env, config));
  return Outcome{changed.empty() ? "the files are up to date\n" : text_of(changed, "wrote ")};
}

Result<Outcome> run_remove(const CdiOptions&) {
  const std::vector<std::string> removed = TRY(remove_cdi_files());
  return Outcome{text_of(removed, "kept ")};
}

// Devices of this host that engines know by our files, wherever they are.
Result<Outcome> run_list(const CdiOptions& options) {
  std::vector<std::string> dirs(std::begin(kCdiDirs), std::end(kCdiDirs));
  const std::optional<std::string> kept = TRY(cdi_dir());
  const auto is_kept = [&](const std::string& dir) { return is_same_dir(dir, *kept); };
  if (kept && std::none_of(dirs.begin(), dirs.end(), is_kept)) dirs.push_back(*kept);
  Outcome outcome;
  Rows rows = {{"DEVICE", "FILE"}};
  base::Json json = base::Json::array();
  for (const std::string& dir : dirs) {
    for (const std::string_view name : hook::cdi::kFileNames) {
      const std::string path = str(dir, '/', name);
      const std::optional<std::string> text =
          TRY(base::read_file_if_exists(path, hook::cdi::kMaxFileBytes));
      if (!text) continue;
      const hook::cdi::Contents contents = hook::cdi::validate(*text);
      for (const std::string& device : contents.devices) {
        rows.push_back({str(contents.kind, '=', device), path});
        json.push_back({{"device", rows.back().front()}, {"file", path}});
      }
      if (!contents.faults.empty()) {
        outcome.obstacles.emplace_back(
            Code::kInvalid,
            str("engines do not read ", base::quote(path), ": see 'ipuctl cdi validate'"));
      }
    }
  }
  outcome.text = options.output == Output::kJson ? base::to_pretty_text(json) : table(rows);
  return outcome;
}

// What the file names must be on this host, or the engine refuses each container.
void check_host(const hook::cdi::Contents& contents, std::vector<Error>& obstacles) {
  struct stat there {};
  for (const std::string& node : std::set(contents.nodes.begin(), contents.nodes.end())) {
    if (::stat(node.c_str(), &there) == 0 && (S_ISCHR(there.st_mode) || S_ISBLK(there.st_mode)))
      continue;
    obstacles.emplace_back(Code::kNotFound, str("this host has no device node ", base::quote(node),
                                                "; load its driver, or run 'ipuctl cdi refresh'"));
  }
  for (const std::string& program : std::set(contents.programs.begin(), contents.programs.end())) {
    if (::stat(program.c_str(), &there) == 0 && S_ISREG(there.st_mode)) continue;
    obstacles.emplace_back(Code::kNotFound,
                           str("this host has no hook program ", base::quote(program),
                               "; install it, or remove the file"));
  }
}

Result<Outcome> run_validate(const CdiOptions& options) {
  const std::string text = TRY(base::read_plain_file(options.file, hook::cdi::kMaxFileBytes));
  const hook::cdi::Contents contents = hook::cdi::validate(text);
  Outcome outcome;
  for (const std::string& fault : contents.faults)
    outcome.obstacles.emplace_back(Code::kInvalid, str(options.file, ": ", fault));
  if (contents.faults.empty()) check_host(contents, outcome.obstacles);
  if (outcome.obstacles.empty()) {
    outcome.text = str(options.file, " is valid: ", contents.devices.size(), " devices of ",
                       contents.kind, '\n');
  }
  return outcome;
}

using RunCdi = Result<Outcome> (*)(const CdiOptions&);

Options add(CLI::App& group, Command& chosen, const About& about, RunCdi run,
            const std::shared_ptr<CdiOptions>& options) {
  return add_command(group, about, chosen, [options, run] { return run(*options); });
}

}  // namespace

void add_cdi_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, {"cdi", "Let engines give IPUs by --device, without the runtime",
                                    "ipuctl cdi generate\nipuctl cdi list"});
  const auto options = std::make_shared<CdiOptions>();
  Options generate = add(group, chosen,
                         {"generate", "Write the CDI files, and keep them up to date from now on",
                          "ipuctl cdi generate --output /etc/cdi\nipuctl cdi generate --dry-run"},
                         run_generate, options);
  generate.text({"--output", "DIR",
                 "Write to this directory (default: that of the last time, or /var/run/cdi)"},
                options->dir);
  generate.flag("--dry-run", options->dry_run, "Print the files; change nothing");
  add(group, chosen, {"list", "List the CDI devices of this host", "ipuctl cdi list -o json"},
      run_list, options)
      .output(options->output);
  add(group, chosen,
      {"validate", "Check a CDI file of any vendor, and that the host has what it names",
       "ipuctl cdi validate /etc/cdi/graphcore.ai-partition.json"},
      run_validate, options)
      .argument("FILE", options->file, "Path of the file");
  add(group, chosen,
      {"refresh", "Write the CDI files anew if cards or partitions changed", "ipuctl cdi refresh"},
      run_refresh, options);
  add(group, chosen,
      {"remove", "Remove the CDI files, and keep none from now on", "ipuctl cdi remove"},
      run_remove, options);
}

}  // namespace ipuctl
