// SPDX-License-Identifier: Apache-2.0
// Copies of a fleet's etcd, what a host tells after one came back, and a host that leaves.
#include <unistd.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/places.h"
#include "tests/fault/processes.h"
#include "tests/fault/promises.h"
#include "tests/fault/scenario.h"

namespace fault {

using namespace base::names;

namespace {

constexpr const char* kSince = "since";  // a container that started after the copy was made
constexpr const char* kOwnIpus = "own";
constexpr const char* kCopied = "p0";
constexpr Settings kCopies{false, false, true};
constexpr size_t kMaxCopyFile = 1 << 20;

Ask ask_copied() { return {{str("IPU_PARTITION=", kCopied)}}; }

// A fleet that knows this host and a partition.
Status make_fleet() {
  TRY(must_run(World::ipuctl({"fleet", "beat"})));
  return must_run(World::ipuctl({"partition", "create", kCopied, "--size", "4"}));
}

Program export_now() { return World::ipuctl({"fleet", "export", kCopy}); }

Result<Program> export_copy(World&) {
  (void)::unlink(kCopy);
  TRY(make_fleet());
  return export_now();
}

Result<std::string> copy_is_whole() {
  const std::string text = TRY(base::read_file(kCopy, kMaxCopyFile));
  const Result<base::Json> json = base::parse_json(text, "copy");
  if (!json.ok()) return std::string("there is a part of a copy");
  for (const base::Json& key : json.value()["keys"])
    if (key["key"].get<std::string>() == str("partitions/pod64/", kCopied, "/record"))
      return std::string();
  return std::string("the copy has no partition");
}

Result<std::string> is_exported(World&) {
  if (::access(kCopy, F_OK) != 0) return std::string("exported, and there is no copy");
  return copy_is_whole();
}

Result<std::string> is_whole_or_absent(World& world) {
  return ::access(kCopy, F_OK) == 0 ? is_exported(world) : std::string();
}

// Etcd has lost all since, also what a container got after the copy was made.
Status lose_fleet(World& world) {
  TRY(make_fleet());
  TRY(must_run(export_now()));
  TRY(world.attach_now(kSince, ask_copied()));
  TRY(world.attach_now(kOwnIpus));
  TRY(settle());
  return clear_fleet();
}

Program import_now(const char* option = "--no-fences") {
  return World::ipuctl({"fleet", "import", kCopy, option});
}

Result<Program> import_copy(World& world) {
  TRY(lose_fleet(world));
  return import_now();
}

Result<std::string> is_imported(World&) {
  const FleetView view = TRY(read_fleet());
  if (!view.is_open || view.find(kCopied) == nullptr)
    return std::string("imported, and the fleet is not there");
  return std::string(view.untold.empty() ? "imported, and no host has to tell" : "");
}

// The host has told what it has.
Result<std::string> has_told_all(World& world) {
  const FleetView view = TRY(read_fleet());
  if (!view.untold.empty()) return std::string("the host has not told");
  size_t known = 0;
  for (const FleetClaim& claim : view.claims) known += claim.container == kSince && claim.uses;
  for (const FleetGrant& grant : view.grants) known += grant.container == kOwnIpus;
  if (known != 2) return str("the fleet knows of ", known, " containers, and not of 2");
  const std::string own = TRY(check_attached(world, kOwnIpus));
  return own.empty() ? check_attached(world, kSince) : own;
}

Result<std::string> tells_by_gc(World& world) {
  const std::string failed = TRY(why_it_fails(World::ipuctl({"gc"})));
  return failed.empty() ? has_told_all(world) : failed;
}

// Wherever it was cut, another import takes its place.
Result<std::string> imports_again(World& world) {
  const std::string failed = TRY(why_it_fails(import_now("--replace")));
  return failed.empty() ? tells_by_gc(world) : failed;
}

Result<Program> tell_by_gc(World& world) {
  TRY(lose_fleet(world));
  TRY(must_run(import_now()));
  return World::ipuctl({"gc"});
}

Result<Program> tell_by_beat(World& world) {
  TRY(lose_fleet(world));
  TRY(must_run(import_now()));
  return World::ipuctl({"fleet", "beat"});
}

// ---- a host that leaves

Result<Program> leave_fleet(World& world) {
  TRY(must_run(World::ipuctl({"fleet", "beat"})));
  TRY(world.attach_now(kOwnIpus));
  TRY(settle());
  return World::ipuctl({"fleet", "leave"});
}

Result<std::string> has_left(World&) {
  const FleetView view = TRY(read_fleet());
  for (const FleetGrant& grant : view.grants)
    if (grant.container == kOwnIpus) return std::string("left, and the fleet counts its IPUs");
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  const LeaseRow* const lease = ledger ? ledger->of_container(kOwnIpus) : nullptr;
  return std::string(lease == nullptr || !lease->claim.empty() ? "left, and it has a claim" : "");
}

Result<std::string> runs_on(World& world) { return check_attached(world, kOwnIpus); }

}  // namespace

std::vector<Scenario> copy_scenarios() {
  constexpr auto kWith = Bystander::kYes;
  const Ask copied = ask_copied();
  return {{"fleet-export", kWith, kCopies, export_copy, is_exported, is_whole_or_absent},
          {"fleet-import", kWith, kCopies, import_copy, is_imported, imports_again, copied},
          {"fleet-tell", kWith, kCopies, tell_by_gc, has_told_all, tells_by_gc, copied},
          {"fleet-tell-beat", kWith, kCopies, tell_by_beat, has_told_all, tells_by_gc, copied},
          {"fleet-leave", kWith, kCopies, leave_fleet, has_left, runs_on}};
}

}  // namespace fault
