// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/world.h"
#include "netns/border.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "tests/fault/clean.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/network_view.h"
#include "tests/fault/places.h"
#include "tests/fault/processes.h"

namespace fault {

using namespace base::names;
using base::Json;

namespace {

constexpr size_t kMaxWorldFile = size_t{16} << 20;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Status write_file(const std::string& path, const std::string& text, mode_t mode) {
  return base::write_atomic(path, text, {mode, {}, {}});
}

// What is in DIRECTORY and below: names, modes, times and contents.
Result<std::string> dump_files(const std::string& directory) {
  std::string text;
  std::vector<std::string> paths = {directory};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return Error::from_errno(errno, path);
    text += str(path, " ", status.st_mode, " ", status.st_uid, " ", status.st_ino, " ",
                status.st_mtim.tv_sec, ".", status.st_mtim.tv_nsec, "\n");
    if (S_ISREG(status.st_mode)) text += TRY(base::read_file(path, kMaxWorldFile));
  }
  return text;
}

std::string config_text(const Settings& settings, const std::string& range) {
  return str("[runtime]\npaths = [\"", kLowLevel, "\"]\n\n[pool]\nname = \"pod64\"\n",
             "provider = \"vipu\"\ncontroller = \"", kController, "\"\ntimeout = \"20s\"\n",
             settings.warm ? "warm = { \"4\" = 1 }\n" : "", "\n[[network.rail]]\n",
             settings.functions ? str("functions = [\"", kFunction, "\"]") : "parent = \"rnic0\"",
             "\nsubnet = \"10.5.0.0/16\"\nrange = \"", range, "\"\n",
             settings.tenants ? "\n[policy]\ntenant_variable = true\n" : "",
             settings.fleet ? str("\n[fleet]\nendpoints = [\"", kEtcd, "\"]\n") : "");
}

Status copy_files(const std::string& from, const std::string& to) {
  std::error_code err;
  for (const auto& entry : std::filesystem::directory_iterator(from, err)) {
    std::filesystem::copy_file(entry.path(), str(to, "/", entry.path().filename().string()),
                               std::filesystem::copy_options::overwrite_existing, err);
    if (err) break;
  }
  if (err) return Error::from_errno(err.value(), str("copy ", from));
  return {};
}

Status make_function() {
  if (std::filesystem::exists(str("/sys/class/net/", kFunction))) return {};
  TRY(must_run(
      {"/sbin/ip",
       {"link", "add", kFunction, "type", "veth", "peer", "name", "fabvf0", "netns", "pod"}}));
  return must_run({"/sbin/ip", {"link", "set", kFunction, "up"}});
}

std::string runtime() {
  return str(folder_of(hook::config::hook_program()), "/ipu-container-runtime");
}

Json bundle_json(const Ask& ask) {
  Json network{{"type", "network"}};
  if (ask.network != nullptr) network["path"] = ask.network->netns_path();
  Json json{{"ociVersion", "1.0.2"},
            {"process", {{"args", {"true"}}, {"cwd", "/"}, {"env", ask.environment}}},
            {"root", {{"path", "rootfs"}}},
            {"linux", {{"namespaces", Json::array({network, Json{{"type", "mount"}}})}}}};
  if (!ask.annotations.empty()) json["annotations"] = ask.annotations;
  return json;
}

}  // namespace

std::string World::bundle_of(const std::string& name) { return str(kBundles, "/", name); }

std::vector<std::string> World::installed() {
  return {folder_of(hook::config::hook_program()), folder_of(hook::config::client_program())};
}

Result<std::string> World::check_other_commands() {
  // Which low-level runtime it is, is known as soon as there is a container.
  if (!std::filesystem::is_symlink(str(hook::config::run_dir(), "/runtime"))) return std::string();
  for (const char* command : {"kill", "delete", "state", "exec"}) {
    (void)::unlink(kCalled);
    const Ended ended = TRY(run({runtime(), {"--root", "/run/fault/oci", command, "job"}}));
    const std::optional<std::string> called =
        TRY(base::read_file_if_exists(kCalled, kMaxWorldFile));
    if (ended.succeeded() && called == str("--root /run/fault/oci ", command, " job\n")) continue;
    return str("'", command, "' of a container does not work: ", base::one_line(ended.err, 200));
  }
  return std::string();
}

Result<std::map<std::string, std::string>> World::partitions() {
  std::map<std::string, std::string> partitions;
  // It writes its first record with its first partition.
  const std::optional<std::string> text =
      TRY(base::read_file_if_exists(kSimulatorState, kMaxWorldFile));
  if (!text) return partitions;
  const Json state = TRY(base::parse_json(*text, kSimulatorState));
  for (const Json& partition : state["partitions"]) {
    partitions[partition["id"].get<std::string>()] = base::to_text(partition);
  }
  return partitions;
}

Result<std::optional<LedgerView>> World::ledger() {
  return read_ledger(hook::config::state_dir(), kLook);
}

void World::take_range() {
  // Eight addresses that no run had before: an address that was used is in quarantine, and its MAC
  // is taken until the kernel has taken the namespace of the last one apart.
  const size_t block = runs_++ % 4096;
  const std::string prefix = str("10.5.", 64 + block / 32, ".");
  range_ = str(prefix, block % 32 * 8, "-", prefix, block % 32 * 8 + 7);
}

Status World::change(const Settings& settings) {
  return write_file(hook::config::config_file(), config_text(settings, range_), 0644);
}

Status World::rebuild(Bystander bystander) {
  forget_containers();
  TRY(undo_reboot());
  bystander_.reset();
  before_.clear();
  bystander_lease_.clear();
  bystander_partition_.clear();
  TRY(clean_host());
  TRY(base::ensure_dir(kBundles, 0755));
  TRY(base::ensure_dir(folder_of(hook::config::config_file()), 0755));
  TRY(write_file(kLowLevel, str("#!/bin/sh\necho \"$*\" >>", kCalled, "\n"), 0755));
  TRY(base::ensure_dir(kBaseline, 0700));
  if (bystander == Bystander::kNo) return {};
  take_range();
  TRY(change({}));
  TRY(make_bystander());
  return copy_files(hook::config::state_dir(), kBaseline);
}

Status World::make_bystander() {
  bystander_ = std::make_unique<Container>(TRY(Container::start(kBystanderName, nullptr)));
  TRY(create_now(kBystanderName));
  const Program attach = TRY(hook("createRuntime", *bystander_));
  TRY(must_run(attach));
  TRY(settle());
  const std::optional<LedgerView> view = TRY(ledger());
  const LeaseRow* const lease = view ? view->of_container(kBystanderName) : nullptr;
  if (lease == nullptr || lease->state != "RUNNING") {
    return Error(Code::kInternal, "the bystander does not run");
  }
  bystander_lease_ = lease->id;
  bystander_partition_ = lease->partition;
  before_ = TRY(bystander_now());
  return {};
}

namespace {

// A host that is in a fleet enters the IPUs of what runs already into the fleet's books: the row of
// a lease ends in its claim and its fleet.
std::string without_claim(std::string row) {
  const size_t end = std::min(row.find('\n'), row.size());
  const size_t fleet = row.rfind('|', end);
  const size_t claim = fleet == std::string::npos ? fleet : row.rfind('|', fleet - 1);
  if (claim != std::string::npos) row.erase(claim, end - claim);
  return row;
}

}  // namespace

Result<std::string> World::bystander_now() const {
  if (bystander_lease_.empty()) return std::string();
  std::map<std::string, std::string> made = TRY(partitions());
  std::string text = str("partition ", made[bystander_partition_], "\n");
  text += TRY(dump_network(bystander_->netns()));
  text += TRY(dump_files(str(hook::config::run_dir(), "/leases/", bystander_lease_)));
  text += TRY(dump_files(bundle_of(kBystanderName)));
  text += without_claim(TRY(dump_lease(str(kLook, "/ledger.db"), bystander_lease_)));
  return text;
}

Status World::begin(const Settings& settings) {
  (void)::unlink(kCalled);
  if (bystander_) {
    std::error_code err;  // an absent folder is none
    std::filesystem::remove_all(str(hook::config::state_dir(), "/partitions"), err);
    TRY(copy_files(kBaseline, hook::config::state_dir()));
  } else {
    TRY(clean_host());
  }
  if (settings.functions) TRY(make_function());
  if (settings.fleet) TRY(clear_fleet());
  take_range();
  return change(settings);
}

Status World::end() {
  forget_containers();
  TRY(undo_reboot());
  for (const auto& [name, text] : TRY(partitions())) {
    if (name != bystander_partition_) TRY(remove_partition(name));
  }
  for (const auto& entry : std::filesystem::directory_iterator(kBundles)) {
    std::error_code err;
    if (entry.path().filename() != kBystanderName) std::filesystem::remove_all(entry.path(), err);
  }
  return {};
}

Result<Container*> World::start_container(const std::string& name, const Container* of) {
  containers_.push_back(TRY(Container::start(name, of)));
  return &containers_.back();
}

void World::end_containers() {
  for (Container& container : containers_) container.end();
}

void World::forget_containers() {
  containers_.clear();  // whose destructors end them
}

Status World::make_bundle(const std::string& name, const Ask& ask) {
  TRY(base::ensure_dir(bundle_of(name), 0700));
  return write_file(str(bundle_of(name), "/config.json"), base::to_text(bundle_json(ask)), 0644);
}

Program World::create(const std::string& name) const {
  return {runtime(), {"--root", "/run/fault/oci", "create", "--bundle", bundle_of(name), name}};
}

Program World::hook(const std::string& stage, const Container& container,
                    const std::string& lease) {
  // As config.json names them.
  return {stage == "poststop" ? hook::config::poststop_program() : hook::config::hook_program(),
          {stage, "--lease", lease},
          container.state(bundle_of(container.name()))};
}

Result<Program> World::hook(const std::string& stage, const Container& container) const {
  const std::optional<LedgerView> view = TRY(ledger());
  const LeaseRow* const lease = view ? view->of_container(container.name()) : nullptr;
  if (lease != nullptr) return hook(stage, container, lease->id);
  return Error(Code::kNotFound, str("container ", container.name(), " has no lease"));
}

Program World::ipuctl(std::vector<std::string> args) {
  return {hook::config::control_program(), std::move(args)};
}

Status World::create_now(const std::string& name, const Ask& ask) {
  TRY(make_bundle(name, ask));
  return must_run(create(name));
}

Result<Container*> World::attach_now(const std::string& name, const Ask& ask) {
  Container* const container = TRY(start_container(name, ask.network));
  TRY(create_now(name, ask));
  const Program attach = TRY(hook("createRuntime", *container));
  TRY(must_run(attach));
  return container;
}

Status World::undo_reboot() {
  if (rebooted_ && ::umount2(kBootId, MNT_DETACH) != 0) return Error::from_errno(errno, kBootId);
  rebooted_ = false;
  return {};
}

Status World::reboot() {
  forget_containers();
  TRY(clean_run_dir());
  const netns::Namespace host = TRY(netns::Namespace::current());
  TRY(netns::remove_border(host));
  const std::string other = str(kScratch, "/boot_id");
  TRY(write_file(other, "11111111-2222-3333-4444-555555555555\n", 0444));
  if (::mount(other.c_str(), kBootId, nullptr, MS_BIND, nullptr) != 0) {
    return Error::from_errno(errno, kBootId);
  }
  rebooted_ = true;
  return {};
}

}  // namespace fault
