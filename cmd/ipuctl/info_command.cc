// SPDX-License-Identifier: Apache-2.0
// info: one page for a report of a bug. It has no secret, and nothing of a container but how many
// there are. Whatever does not answer is a row that says so.
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/version.h"
#include "cmd/ipuctl/agent_client.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "cmd/ipuctl/info/kernel.h"
#include "cmd/ipuctl/runtime_site.h"
#include "hook/config/paths.h"
#include "hook/ledger/check.h"
#include "hook/lifecycle/env.h"
#include "netns/trial.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;

constexpr std::chrono::seconds kInfoTime{30};   // for the whole page
constexpr std::chrono::seconds kEngineTime{5};  // for one engine
constexpr std::chrono::seconds kSourceTime{2};  // for one controller, or the fleet
constexpr std::chrono::seconds kAgentTime{1};
constexpr size_t kMaxDetail = 300;
constexpr const char* kRuntimeName = "ipu";  // the name that 'runtime configure' gives

// One row of the page.
struct Item {
  std::string name;
  std::string state;
  std::string detail = {};
  std::vector<std::pair<std::string, std::string>> more = {};  // further members of its JSON
};

struct Part {
  std::string name;  // "engines"
  std::vector<Item> items;
};

// Returns the first line of TEXT.
std::string first_line(std::string_view text) {
  return base::one_line(base::trim(text.substr(0, text.find('\n'))), kMaxDetail);
}

std::string why(const Error& error) { return base::one_line(error.message(), kMaxDetail); }

// ---- toolkit

Item ledger_item(Result<hook::ledger::Ledger>& ledger) {
  const std::string file = hook::config::ledger_file();
  std::error_code err;
  if (!ledger.ok()) return {"ledger", "unreadable", why(ledger.error())};
  if (!std::filesystem::exists(file, err)) return {"ledger", "absent", file};
  const Result<int64_t> schema = hook::ledger::schema_of(file);
  const auto leases = ledger.value().holds();
  if (!schema.ok()) return {"ledger", "unreadable", why(schema.error())};
  if (!leases.ok()) return {"ledger", "unreadable", why(leases.error())};
  return {"ledger",
          "ok",
          str("schema ", schema.value(), ", ", leases.value().size(), " live leases"),
          {{"schema", str(schema.value())}, {"leases", str(leases.value().size())}}};
}

Item agent_item() {
  switch (find_agent(kAgentTime)) {
    case AgentState::kAbsent:
      return {"agent", "absent", "no socket for this user"};
    case AgentState::kAnswers:
      return {"agent", "ok", "answers"};
    case AgentState::kSilent:
      break;
  }
  return {"agent", "silent", "ipu-agent has a socket, but does not answer"};
}

Item fleet_item(const Deadline& deadline) {
  const auto fleet = hook::config::load_fleet(hook::config::config_file());
  if (!fleet.ok()) return {"fleet", "unknown", why(fleet.error())};
  if (!fleet.value()) return {"fleet", "none"};
  const hook::config::FleetConfig& config = *fleet.value();
  const std::string where = str(config.prefix, " at ", base::join(config.endpoints, ", "));
  if (::geteuid() != 0) return {"fleet", "unknown", where + "; only root can ask it"};
  std::vector<Error> obstacles;
  const auto hosts = hook::fleet::list_hosts(*open_store(config), config.prefix,
                                             deadline.capped(kSourceTime), obstacles);
  if (!hosts.ok()) return {"fleet", "unreachable", str(where, ": ", why(hosts.error()))};
  return {"fleet", "ok", str(where, ", ", hosts.value().size(), " hosts")};
}

Part toolkit_part(const Result<hook::config::Config>& config, Result<hook::ledger::Ledger>& ledger,
                  const Deadline& deadline) {
  Part part{"toolkit", {{"version", base::product_version(), "ipu-container-toolkit"}}};
  part.items.push_back(config.ok() ? Item{"configuration", "ok", hook::config::config_file()}
                                   : Item{"configuration", "wrong", why(config.error())});
  part.items.push_back(ledger_item(ledger));
  part.items.push_back(agent_item());
  part.items.push_back(fleet_item(deadline));
  return part;
}

// ---- host

// Returns the value of KEY in a file of lines KEY="VALUE".
std::string value_of(std::string_view text, std::string_view key) {
  for (std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(key) || line.size() == key.size() || line[key.size()] != '=') continue;
    line.remove_prefix(key.size() + 1);
    if (line.size() >= 2 && line.front() == '"') line = line.substr(1, line.size() - 2);
    return base::one_line(line, kMaxDetail);
  }
  return "";
}

size_t numa_nodes() {
  size_t count = 0;
  std::error_code err;
  for (std::filesystem::directory_iterator at("/sys/devices/system/node", err), end;
       !err && at != end; at.increment(err)) {
    const std::string name = at->path().filename().string();
    if (name.size() > 4 && name.starts_with("node") && name[4] >= '0' && name[4] <= '9') ++count;
  }
  return count;
}

Part host_part(const utsname& kernel) {
  constexpr size_t kMaxRelease = 64 << 10;
  const Result<std::string> release = base::read_file("/etc/os-release", kMaxRelease);
  struct sysinfo memory {};
  (void)::sysinfo(&memory);
  const uint64_t bytes = uint64_t{memory.totalram} * memory.mem_unit;
  std::error_code err;
  const bool has_systemd = std::filesystem::exists("/run/systemd/system", err);
  return {
      "host",
      {{"system", release.ok() ? value_of(release.value(), "PRETTY_NAME") : "unknown"},
       {"kernel", kernel.release, kernel.version},
       {"machine", kernel.machine,
        str(::get_nprocs(), " processors, ", bytes >> 20, " MiB, ", numa_nodes(), " NUMA nodes")},
       {"systemd", has_systemd ? "yes" : "no"}}};
}

// ---- engines

Part programs_part(const Deadline& deadline) {
  Part part{"programs", {}};
  for (const ProgramVersion& one : program_versions(deadline)) {
    const bool says = one.says.ok();
    part.items.push_back({one.name,
                          says ? "ok" : "silent",
                          says ? first_line(one.says.value()) : why(one.says.error()),
                          {{"path", one.path}}});
  }
  return part;
}

Item engine_item(hook::engines::Engine engine, const Deadline& deadline) {
  const std::string name(name_of(engine));
  const auto state = find_state(engine, "", kRuntimeName, deadline.capped(kEngineTime));
  if (!state.ok()) return {name, "unknown", why(state.error())};
  const auto& [file, found, listing] = state.value();
  const std::string in_use(word_of(listing.listed));
  const std::string because =
      listing.why.empty() ? "" : str(" (", base::one_line(listing.why, kMaxDetail), ")");
  return {name,
          found.path.empty() && in_use != "yes" ? "not configured" : "configured",
          str(file, "; in use: ", in_use, because),
          {{"file", file},
           {"runtime", found.path},
           {"default", found.is_default ? "yes" : "no"},
           {"in_use", in_use}}};
}

Part engines_part(const Deadline& deadline) {
  Part part{"engines", {}};
  const auto engines = choose_engines({}, kRuntimeName);
  if (!engines.ok()) return part;  // none is installed
  for (const hook::engines::Engine engine : engines.value())
    part.items.push_back(engine_item(engine, deadline));
  return part;
}

// ---- pools

Item pool_item(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
               const Deadline& deadline) {
  const std::string provider(name_of(pool.provider));
  const std::string source = hook::config::source_of(pool);
  Item item{pool.name, "unknown", "", {{"provider", provider}, {"source", source}}};
  const std::string where = pool.provider == hook::config::Provider::kVipu
                                ? str(provider, ", ", source)
                                : source;  // begins with the provider
  // The client of a controller needs a user of its own, and the partitions of others are root's.
  if (::geteuid() != 0) {
    item.detail = where + "; only root can ask it";
    return item;
  }
  const auto controller = env.controller(pool);
  std::string says;
  if (pool.provider == hook::config::Provider::kVipu) {
    const auto version = controller->version(deadline.capped(kSourceTime));
    item.state = version.ok() ? "reachable" : "unreachable";
    says = version.ok() ? str("version ", version.value()) : version.error().message();
  } else {
    const auto survey = controller->survey(deadline.capped(kSourceTime));
    item.state = survey.ok() ? "reachable" : "unreachable";
    size_t ipus = 0;
    if (survey.ok())
      for (const uint32_t domain : survey.value().domains) ipus += domain;
    says = survey.ok() ? str(ipus, " IPUs") : survey.error().message();
  }
  item.detail = base::one_line(str(where, ": ", says), kMaxDetail);
  return item;
}

Part pools_part(const Result<hook::config::Config>& config, Result<hook::ledger::Ledger>& ledger,
                const Deadline& deadline) {
  Part part{"pools", {}};
  if (!config.ok()) {
    part.items.push_back({"-", "unknown", "the configuration is wrong: see toolkit"});
    return part;
  }
  // A controller answers whatever becomes of the ledger: without one, an empty copy serves.
  Result<hook::ledger::Ledger> empty =
      hook::ledger::Ledger::open_copy(hook::config::run_dir() + "/no-ledger");
  if (!ledger.ok() && !empty.ok()) return part;
  hook::lifecycle::Env env =
      hook::lifecycle::product_env(ledger.ok() ? ledger.value() : empty.value());
  for (const hook::config::PoolConfig& pool : config.value().pools)
    part.items.push_back(pool_item(env, pool, deadline));
  return part;
}

// ---- kernel

Item tried(const char* name, const Status& done, const char* says) {
  return {name, done.ok() ? "yes" : "no", done.ok() ? says : why(done.error())};
}

Item rdma_mode_item() {
  const char* const name = "rdma namespaces";
  const auto mode = hook::lifecycle::host_view("/sys").rdma_mode();
  if (!mode.ok()) return {name, "unknown", why(mode.error())};
  if (!mode.value()) return {name, "no", "the kernel has no RDMA now"};
  return {name, "yes",
          *mode.value() == netns::RdmaMode::kExclusive ? "mode exclusive" : "mode shared"};
}

// Root tries what an attachment needs, in namespaces that are thrown away.
Part kernel_part(const Result<hook::config::Config>& config, const utsname& kernel) {
  Part part{"kernel", {}};
  for (const info::Feature& feature : info::look_at_kernel("", kernel.release)) {
    const char* const state = !feature.is_there ? "unknown" : *feature.is_there ? "yes" : "no";
    part.items.push_back({feature.name, state, feature.says});
  }
  part.items.push_back(rdma_mode_item());
  if (::geteuid() != 0) return part;
  part.items.push_back(
      tried("filter of a container", netns::try_filter(), "made one and removed it"));
  const auto host = netns::Namespace::current();
  if (!config.ok() || !host.ok()) return part;
  for (const hook::config::RailConfig& rail : config.value().network.rails) {
    if (rail.parent.empty()) continue;
    const std::string name = "macvlan of " + rail.parent;
    part.items.push_back(tried(name.c_str(), netns::try_macvlan(host.value(), rail.parent),
                               "made one and removed it"));
  }
  return part;
}

// ---- the page

std::string json_of(const std::vector<Part>& parts) {
  Json page = {{"format", 1}, {"time", base::rfc3339(base::unix_millis())}};
  for (const Part& part : parts) {
    Json list = Json::array();
    for (const Item& item : part.items) {
      Json one = {{"name", item.name}, {"state", item.state}, {"detail", item.detail}};
      for (const auto& [key, value] : item.more) one[key] = value;
      list.push_back(std::move(one));
    }
    page[part.name] = std::move(list);
  }
  return base::to_pretty_text(page);
}

std::string table_of(const std::vector<Part>& parts) {
  Rows rows = {{"PART", "NAME", "STATE", "DETAIL"}};
  for (const Part& part : parts) {
    for (const Item& item : part.items) {
      std::string detail = item.detail;
      for (const auto& [key, value] : item.more)
        if (key == "path") detail = str(value, ": ", detail);
      rows.push_back({part.name, item.name, item.state, detail});
    }
    if (part.items.empty()) rows.push_back({part.name, "-", "none", ""});
  }
  return table(rows);
}

Result<Outcome> run_info(const Output& output) {
  const Deadline deadline = Deadline::after(kInfoTime);
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  Result<hook::ledger::Ledger> ledger = view_ledger();
  utsname kernel{};
  (void)::uname(&kernel);
  std::vector<Part> parts;
  parts.push_back(toolkit_part(config, ledger, deadline));
  parts.push_back(host_part(kernel));
  parts.push_back(kernel_part(config, kernel));
  parts.push_back(pools_part(config, ledger, deadline));
  parts.push_back(programs_part(deadline));
  parts.push_back(engines_part(deadline));
  return Outcome{output == Output::kJson ? json_of(parts) : table_of(parts)};
}

}  // namespace

void add_info(CLI::App& app, Command& chosen) {
  const auto output = std::make_shared<Output>(Output::kTable);
  add_command(app,
              {"info", "Print versions, engines, pools and kernel features, for a report of a bug",
               "ipuctl info\nipuctl info -o json"},
              chosen, [output] { return run_info(*output); })
      .output(*output);
}

}  // namespace ipuctl
