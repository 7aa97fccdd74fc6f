// SPDX-License-Identifier: Apache-2.0
// The host that scenarios happen on: the installed product, its configuration, the simulated
// controller, containers, and a bystander: a container that runs the whole time and must not
// notice.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fault/container.h"
#include "tests/fault/ledger_view.h"
#include "tests/fault/program.h"

namespace fault {

enum class Bystander { kNo, kYes };
inline constexpr const char* kBystanderName = "bystander";

// What the configuration says beside the pool and the rail.
struct Settings {
  bool functions = false;  // the rail gives each container a function, vf0, and not a macvlan
  bool warm = false;       // one partition of 4 IPUs is kept ready
  bool fleet = false;      // the host is in a fleet, which has no other one
  bool tenants = false;    // a container may say its tenant
};

// A bundle: what its config.json asks for.
struct Ask {
  std::vector<std::string> environment = {"IPU_COUNT=4"};
  std::map<std::string, std::string> annotations = {};
  const Container* network = nullptr;  // whose namespace it shares
};

class World {
 public:
  // Brings the host to the start of all runs: nothing of the product but, if wanted, the bystander.
  // Takes away by force whatever was there.
  base::Status rebuild(Bystander bystander);
  // The start of one run: the ledger as rebuild() left it, and addresses that no run had before.
  base::Status begin(const Settings& settings);
  // The host has these SETTINGS from now on, with the addresses of this run.
  base::Status change(const Settings& settings);
  // The end of one run: its named and warm partitions are removed and its containers forgotten.
  base::Status end();

  // Whether this run cut a program short. Some promises then hold only in part.
  void note_cut(bool is_cut) { is_cut_ = is_cut; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  // The first process of the container NAME, in the namespace of OF or in one of its own.
  base::Result<Container*> start_container(const std::string& name, const Container* of = nullptr);
  // Kills the first processes of this run's containers.
  void end_containers();
  // And gives up their namespaces.
  void forget_containers();
  [[nodiscard]] std::list<Container>& containers() { return containers_; }

  base::Status make_bundle(const std::string& name, const Ask& ask = {});
  [[nodiscard]] Program create(const std::string& name) const;
  [[nodiscard]] base::Result<Program> hook(const std::string& stage,
                                           const Container& container) const;
  [[nodiscard]] static Program hook(const std::string& stage, const Container& container,
                                    const std::string& lease);
  [[nodiscard]] static Program ipuctl(std::vector<std::string> args);
  // A bundle and a lease for it; and, attached, the container too.
  base::Status create_now(const std::string& name, const Ask& ask = {});
  base::Result<Container*> attach_now(const std::string& name, const Ask& ask = {});
  // Another boot: another boot id, and nothing in memory is left. Undone by end() and rebuild().
  base::Status reboot();

  [[nodiscard]] static base::Result<std::optional<LedgerView>> ledger();
  // The controller's own record of its partitions: name to text.
  [[nodiscard]] static base::Result<std::map<std::string, std::string>> partitions();
  // All that the bystander has, as text; empty without one.
  [[nodiscard]] base::Result<std::string> bystander_now() const;
  [[nodiscard]] const std::string& bystander_before() const { return before_; }
  [[nodiscard]] const std::string& bystander_lease() const { return bystander_lease_; }
  [[nodiscard]] const std::string& bystander_partition() const { return bystander_partition_; }
  [[nodiscard]] static std::string bundle_of(const std::string& name);
  [[nodiscard]] static std::vector<std::string> installed();
  // Whether kill, delete, state and exec of a container reach the low-level runtime; else what does
  // not.
  [[nodiscard]] static base::Result<std::string> check_other_commands();

 private:
  base::Status undo_reboot();
  base::Status make_bystander();
  void take_range();

  bool is_cut_ = false;
  std::list<Container> containers_;
  std::unique_ptr<Container> bystander_;
  std::string bystander_lease_;
  std::string bystander_partition_;
  std::string before_;
  size_t runs_ = 0;
  std::string range_;
  bool rebooted_ = false;
};

}  // namespace fault
