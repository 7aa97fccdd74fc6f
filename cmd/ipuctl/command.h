// SPDX-License-Identifier: Apache-2.0
// What a command of ipuctl is made of: options, what it works with, and what it leaves to main.
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

// What goes to stdout, and what went wrong on the way: one line each on stderr. The exit code is
// that of the first obstacle.
struct Outcome {
  std::string text;
  std::vector<base::Error> obstacles = {};
};

using Command = std::function<base::Result<Outcome>()>;

// How an option is written ("--gcds,--num-gcds"), its value ("N"), and what it says.
struct Option {
  const char* names;
  const char* value;
  const char* help;
};

// Declares the options of one command. Targets live as long as the command does; each keeps its
// value if the option is not given. What cannot be parsed is a usage error, with the option.
class Options {
 public:
  explicit Options(CLI::App& app) : app_(app) {}

  void output(Output& target);     // -o, --output
  void pool(std::string& target);  // --pool
  // An argument that must be given.
  void argument(const char* name, std::string& target, const char* help);
  // Any number of arguments.
  void arguments(const char* name, std::vector<std::string>& target, const char* help);
  void flag(const char* names, bool& target, const char* help);
  void text(const Option& option, std::string& target);
  void texts(const Option& option, std::vector<std::string>& target);
  void number(const Option& option, uint32_t& target);
  void number(const Option& option, std::optional<uint32_t>& target);
  void duration(const Option& option, std::optional<std::chrono::milliseconds>& target);
  void parsed(const Option& option, std::function<base::Status(const std::string&)> parse);

 private:
  CLI::App& app_;
};

// What --help says of a command: what it does, and at the end command lines that work as printed,
// one each line of EXAMPLES.
struct About {
  const char* name;
  const char* help;
  const char* examples;
};

// How --help shows EXAMPLES.
[[nodiscard]] std::string examples_text(std::string_view examples);
// A command that only has others below it, one of which must be given.
CLI::App& add_group(CLI::App& parent, const About& about);
// Adds a command; if it is the one that is called, CHOSEN becomes RUN.
Options add_command(CLI::App& parent, const About& about, Command& chosen, Command run);

// The families of commands.
void add_lease_commands(CLI::App& app, Command& chosen);
void add_partition_commands(CLI::App& app, Command& chosen);
void add_partition_create(CLI::App& partition, Command& chosen);
void add_pool_commands(CLI::App& app, Command& chosen);
void add_history_commands(CLI::App& app, Command& chosen);
void add_ledger_commands(CLI::App& app, Command& chosen);
void add_ledger_repair(CLI::App& group, Command& chosen);
void add_runtime_commands(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);

// The pool NAME of the configuration; the first one if NAME is empty.
base::Result<hook::config::PoolConfig> load_pool(const std::string& name);
// The ledger of this host. Says so if it takes root.
base::Result<hook::ledger::Ledger> open_ledger();
// What it says now, for a command that changes nothing: an absent ledger is an empty one.
base::Result<hook::ledger::Ledger> read_ledger();

// For a question to a controller that has its answer at hand.
[[nodiscard]] base::Deadline query_deadline();

}  // namespace ipuctl
