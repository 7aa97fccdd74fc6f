// SPDX-License-Identifier: Apache-2.0
// The parts of an ipuctl command: its options, its inputs, and what it leaves to main.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cmd/ipuctl/print.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ipuctl {

// The text for stdout and the errors on the way, one line each on stderr. The first obstacle
// decides the exit code.
struct Outcome {
  std::string text;
  std::vector<base::Error> obstacles = {};
};

using Command = std::function<base::Result<Outcome>()>;

// The spelling of an option ("--gcds,--num-gcds"), its value ("N"), and its help text.
struct Option {
  const char* names;
  const char* value;
  const char* help;
};

// Declares the options of one command. Targets must live as long as the command; each keeps its
// value if the option is absent. A value that cannot be parsed is a usage error that names the
// option.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void output(Output& target);       // -o, --output: a table or JSON
  void list_output(Output& target);  // the same, and what list_text() has in addition
  void watch();                      // --watch, which watched() of watch.h heeds
  void pool(std::string& target);    // --pool
  // Declares a required argument.
  void argument(const char* name, std::string& target, const char* help);
  // Declares an argument that may be left out.
  void optional_argument(const char* name, std::string& target, const char* help);
  // Declares any number of arguments.
  void arguments(const char* name, std::vector<std::string>& target, const char* help);
  void flag(const char* names, bool& target, const char* help);
  void text(const Option& option, std::string& target);
  void texts(const Option& option, std::vector<std::string>& target);
  void number(const Option& option, uint32_t& target);
  void number(const Option& option, std::optional<uint32_t>& target);
  // Adds to the help which units and times are accepted.
  void duration(const Option& option, std::optional<std::chrono::milliseconds>& target);
  void parsed(const Option& option, std::function<base::Status(const std::string&)> parse);

 private:
  CLI::App& app_;
};

// The --help text of a command: what it does, then command lines that work as printed, one per line
// of EXAMPLES.
struct About {
  const char* name;
  const char* help;
  const char* examples;
};

// Returns EXAMPLES as --help shows them.
[[nodiscard]] std::string examples_text(std::string_view examples);
// Adds a command that only groups others, one of which is required.
CLI::App& add_group(CLI::App& parent, const About& about);
// Adds a group that is a command itself: if none of its commands is called, CHOSEN becomes RUN. Its
// own options before one of its commands are a usage error.
CLI::App& add_listing_group(CLI::App& parent, const About& about, Command& chosen, Command run);
// Adds a command. If it is called, CHOSEN becomes RUN.
Options add_command(CLI::App& parent, const About& about, Command& chosen, Command run);

// Checks that one of two ways to say what is meant was given, and not both. WAYS names both, such
// as "LEASE or --bundle DIR".
base::Status check_one_of(bool first, bool second, std::string_view ways);
// Refuses OPTION, if it is given, because the option WITH leaves it without effect.
base::Status check_no_effect(bool is_given, std::string_view option, std::string_view with);

class Viewer;

// The families of commands. VIEWER must live as long as the commands.
void add_lease_commands(CLI::App& app, const Viewer& viewer, Command& chosen);
void add_partition_commands(CLI::App& app, Command& chosen);
void add_partition_create(CLI::App& partition, Command& chosen);
void add_reservation_commands(CLI::App& app, const Viewer& viewer, Command& chosen);
void add_queue_commands(CLI::App& app, const Viewer& viewer, Command& chosen);
void add_queue_cancel(CLI::App& queue, const Viewer& viewer, Command& chosen);
void add_pool_commands(CLI::App& app, Command& chosen);
void add_device_commands(CLI::App& app, Command& chosen);
void add_network_commands(CLI::App& app, Command& chosen);
void add_tenant_commands(CLI::App& app, Command& chosen);
void add_tenant_changes(CLI::App& tenant, Command& chosen);
void add_report(CLI::App& app, Command& chosen);
void add_metrics(CLI::App& app, Command& chosen);
void add_config_commands(CLI::App& app, Command& chosen);
void add_monitor(CLI::App& app, Command& chosen);
void add_plan(CLI::App& app, Command& chosen);
void add_completion(CLI::App& app, Command& chosen);
void add_drain(CLI::App& app, Command& chosen);
void add_pool_drain(CLI::App& pool, Command& chosen);
void add_pool_taints(CLI::App& pool, Command& chosen);
void add_host_commands(CLI::App& app, Command& chosen);
void add_fleet_commands(CLI::App& app, Command& chosen);
void add_health_commands(CLI::App& app, Command& chosen);
void add_history_commands(CLI::App& app, const Viewer& viewer, Command& chosen);
void add_ledger_commands(CLI::App& app, Command& chosen);
void add_ledger_repair(CLI::App& group, Command& chosen);
void add_runtime_commands(CLI::App& app, Command& chosen);
void add_border_commands(CLI::App& app, Command& chosen);
void add_slurm_commands(CLI::App& app, Command& chosen);
void add_support_bundle(CLI::App& app, Command& chosen);
void add_top(CLI::App& app, Command& chosen);
void add_info(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);

// Returns the pool NAME of the configuration; the first if NAME is empty.
base::Result<hook::config::PoolConfig> load_pool(const std::string& name);
// Opens the ledger of this host. The error says so if root is required.
base::Result<hook::ledger::Ledger> open_ledger();
// Opens the ledger for a command that changes nothing: an absent ledger counts as empty. This and
// the other three fail if the ledger is absent while leases have files.
base::Result<hook::ledger::Ledger> read_ledger();
// Does so at no cost for the history, for a command that neither waits nor changes the copy:
// Ledger::open_view().
base::Result<hook::ledger::Ledger> view_ledger();
// Opens the ledger itself, for a command that reads what other processes write meanwhile. Makes
// none: an absent ledger counts as empty.
base::Result<hook::ledger::Ledger> existing_ledger();

// Returns the deadline for a query that a controller answers at once.
[[nodiscard]] base::Deadline query_deadline();

}  // namespace ipuctl
