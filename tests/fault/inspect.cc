// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/inspect.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "netns/border.h"
#include "tests/fault/network_view.h"
#include "tests/fault/places.h"
#include "tests/fault/processes.h"

namespace fault {
namespace {

using namespace base::names;

using Violations = std::vector<std::string>;

// The names directly in DIRECTORY; none if it is not there.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code err;
  for (const auto& entry : std::filesystem::directory_iterator(directory, err)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string leases_dir() { return str(hook::config::run_dir(), "/leases"); }
std::string marks_dir() { return str(hook::config::run_dir(), "/namespaces"); }
std::string kept_dir() { return str(hook::config::run_dir(), "/netns"); }

// An interface that the product makes, under its own or its temporary name.
bool is_ours(const LinkView& link) {
  return link.name.starts_with("roce") || link.name.starts_with("ipu");
}

Result<std::vector<LinkView>> our_links(int netns) {
  std::vector<LinkView> links = TRY(read_links(netns));
  std::erase_if(links, [](const LinkView& link) { return !is_ours(link); });
  return links;
}

Result<std::vector<LinkView>> host_links() {
  const base::Fd host = TRY(base::open_at(AT_FDCWD, "/proc/self/ns/net", O_RDONLY));
  return our_links(host.get());
}

// Links of containers and host that the product made.
Result<std::vector<LinkView>> all_links(World& world) {
  std::vector<LinkView> all = TRY(host_links());
  for (const Container& container : world.containers()) {
    const std::vector<LinkView> links = TRY(our_links(container.netns()));
    all.insert(all.end(), links.begin(), links.end());
  }
  return all;
}

// What passes the border of the host.
Result<std::vector<netns::Admitted>> admitted() {
  const netns::Namespace host = TRY(netns::Namespace::current());
  return netns::admitted(host);
}

void check_led_to(const std::vector<std::string>& directories, const std::string& what,
                  const LedgerView& ledger, Violations& found) {
  for (const std::string& id : directories) {
    const bool led =
        std::any_of(ledger.leases.begin(), ledger.leases.end(), [&](const LeaseRow& lease) {
          return lease.live && (lease.id == id || lease.attachment == id);
        });
    if (!led) found.push_back(str("no live lease leads to ", what, " ", id));
  }
}

Status check_ledger(World& world, const LedgerView& ledger, const std::set<std::string>& in_fleet,
                    Violations& found) {
  if (ledger.integrity != "ok") found.push_back(str("integrity_check: ", ledger.integrity));
  for (const std::string& twice : ledger.doubles) found.push_back(str(twice, " is held twice"));
  for (const auto& [name, text] : TRY(World::partitions())) {
    if (!ledger.leads_to_partition(name) && !in_fleet.contains(name)) {
      found.push_back(str("no row leads to partition ", name));
    }
  }
  for (const LinkView& link : TRY(all_links(world))) {
    if (ledger.leads_to_mac(link.mac)) continue;
    found.push_back(str("no live lease leads to interface ", link.name, " ", link.mac));
  }
  for (const netns::Admitted& each : TRY(admitted())) {
    const std::string mac = netns::to_string(each.mac);
    if (ledger.leads_to_mac(mac)) continue;
    found.push_back(str("no live lease leads to ", mac, " in the border"));
  }
  for (const std::string& pid : running_endpoints()) {
    if (std::count(ledger.endpoints.begin(), ledger.endpoints.end(), pid) > 0) continue;
    found.push_back(str("no live lease leads to endpoint ", pid));
  }
  check_led_to(names_in(leases_dir()), "directory", ledger, found);
  check_led_to(names_in(kept_dir()), "kept namespace", ledger, found);
  return {};
}

// Without a ledger there is nothing that it could lead to.
Status check_nothing(World& world, Violations& found) {
  for (const auto& [name, text] : TRY(World::partitions())) {
    found.push_back(str("there is no ledger, and partition ", name));
  }
  for (const LinkView& link : TRY(all_links(world))) {
    found.push_back(str("there is no ledger, and interface ", link.name));
  }
  return {};
}

Status check_bystander(const World& world, Violations& found) {
  const std::string now = TRY(world.bystander_now());
  if (now == world.bystander_before()) return {};
  const std::vector<std::string_view> before = base::split(world.bystander_before(), '\n');
  const std::vector<std::string_view> after = base::split(now, '\n');
  for (size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
    const std::string_view was = i < before.size() ? before[i] : "nothing";
    const std::string_view is = i < after.size() ? after[i] : "nothing";
    if (was == is) continue;
    found.push_back(str("the bystander changed: '", was, "' became '", is, "'"));
    break;
  }
  return {};
}

void check_names(const std::string& directory, const std::set<std::string>& allowed,
                 Violations& found) {
  for (const std::string& name : names_in(directory)) {
    if (allowed.count(name) == 0) found.push_back(str("left: ", directory, "/", name));
  }
}

void check_files(const World& world, bool killed, Findings& findings) {
  Violations& found = findings.violations;
  check_names(hook::config::run_dir(),
              {"leases", "namespaces", "netns", "network.lock", "runtime", "choice", "last-gc"},
              found);
  for (const std::string& name : names_in(marks_dir())) {
    const std::string marks = str(marks_dir(), "/", name);
    check_names(marks, {world.bystander_lease()}, found);
    if (names_in(marks).empty()) found.push_back(str("left: ", marks));
  }
  check_names(hook::config::state_dir(),
              {"ledger.db", "ledger.db-wal", "ledger.db-shm", "audit.log", "reserve", "partitions"},
              found);
  check_names(leases_dir(), {world.bystander_lease()}, found);
  check_names(kept_dir(), {}, found);
  for (const std::string& bundle : names_in(kBundles)) {
    for (const std::string& name : names_in(str(kBundles, "/", bundle))) {
      if (name == "config.json") continue;
      if (killed && name.starts_with(".config.json.")) {
        ++findings.left_in_bundles;
      } else {
        found.push_back(str("left: ", kBundles, "/", bundle, "/", name));
      }
    }
  }
}

Status check_mounts(Violations& found) {
  const std::string mounts = TRY(base::read_file("/proc/self/mounts", 1 << 20));
  for (const std::string_view line : base::split(mounts, '\n')) {
    const std::vector<std::string_view> words = base::split(line, ' ');
    const bool kept = words.size() > 2 && words[2] == "nsfs" && words[1].starts_with(kept_dir());
    if (kept) found.push_back(str("left: mount ", words[1]));
  }
  return {};
}

Status check_partitions_left(const World& world, const LedgerView* ledger,
                             std::set<std::string> ready, Violations& found) {
  ready.insert(world.bystander_partition());
  std::set<std::string> recorded;
  if (ledger != nullptr) {
    for (const PartitionRow& row : ledger->partitions) {
      recorded.insert(row.name);
      if (row.state == "READY") ready.insert(row.name);
      if (row.state != "READY") found.push_back(str("left: row of partition ", row.name));
    }
  }
  for (const auto& [name, text] : TRY(World::partitions())) {
    if (ready.erase(name) == 0) found.push_back(str("left: partition ", name));
  }
  // Each has a record beside the ledger, from which a lost ledger is rebuilt.
  for (const std::string& file : names_in(str(hook::config::state_dir(), "/partitions"))) {
    if (recorded.count(file.substr(0, file.find('@'))) == 0)
      found.push_back(str("left: record of partition ", file));
  }
  ready.erase("");
  for (const std::string& name : ready) found.push_back(str("lost: partition ", name));
  return {};
}

void check_rows_left(const World& world, const LedgerView& ledger, Violations& found) {
  for (const LeaseRow& lease : ledger.leases) {
    if (!lease.live || lease.id == world.bystander_lease()) continue;
    found.push_back(str("left: lease ", lease.id, " ", lease.state));
  }
  for (const AddressRow& address : ledger.addresses) {
    if (!address.held || address.lease == world.bystander_lease()) continue;
    found.push_back(str("left: address of ", address.mac, " by lease ", address.lease));
  }
  if (ledger.endpoint_rows != 0) found.push_back("left: the row of an endpoint");
  for (const std::string& pid : running_endpoints()) found.push_back("left: endpoint " + pid);
  if (ledger.waiters != 0) found.push_back("left: a ticket of the queue");
}

bool aborted_by_design(const Trace& trace) {
  return trace.hit && trace.hit->call.starts_with("setns ") && trace.aborts == 1 &&
         trace.crashes.empty();
}

}  // namespace

Status inspect_invariants(World& world, const std::set<std::string>& in_fleet, Findings& findings) {
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  if (!ledger) return check_nothing(world, findings.violations);
  TRY(check_ledger(world, *ledger, in_fleet, findings.violations));
  return check_bystander(world, findings.violations);
}

void inspect_end(const Trace& trace, Findings& findings) {
  Violations& found = findings.violations;
  if (trace.hung) found.push_back("it did not end in time");
  if (aborted_by_design(trace)) {
    ++findings.aborts;
    if (::unlink(hook::config::crashes_file().c_str()) != 0)
      found.push_back("aborted, and left no record of it");
    return;
  }
  for (const std::string& crash : trace.crashes) found.push_back(str("crashed: ", crash));
  // Nobody is told if what cannot be written is the line itself.
  const bool muted = trace.hit && trace.hit->call.ends_with("memfd:error (deleted)");
  if (trace.killed || muted) return;
  const std::string& text = trace.ended.err;
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const bool prefixed = text.starts_with("ipu: ") || text.starts_with("ipuctl: ");
  const bool failed = !trace.ended.succeeded();
  if (failed ? lines != 1 || !prefixed : lines > 1 || (lines == 1 && !prefixed)) {
    found.push_back(str(status_text(trace.ended.status), " with ", lines,
                        " lines on standard error: ", base::one_line(text, 300)));
  }
}

Status inspect_rest(World& world, const std::set<std::string>& in_fleet, bool killed,
                    Findings& findings) {
  Violations& found = findings.violations;
  const std::optional<LedgerView> ledger = TRY(World::ledger());
  for (const LinkView& link : TRY(all_links(world))) {
    found.push_back(str("left: interface ", link.name, " ", link.mac));
  }
  for (const netns::Admitted& each : TRY(admitted())) {
    if (each.lease == world.bystander_lease()) continue;
    found.push_back(str("left: ", netns::to_string(each.mac), " in the border"));
  }
  TRY(check_partitions_left(world, ledger ? &*ledger : nullptr, in_fleet, found));
  if (ledger) check_rows_left(world, *ledger, found);
  if (ledger) TRY(check_bystander(world, found));
  check_files(world, killed, findings);
  for (const std::string& program : running_programs()) found.push_back(str("left: ", program));
  return check_mounts(found);
}

}  // namespace fault
