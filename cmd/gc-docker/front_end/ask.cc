// SPDX-License-Identifier: Apache-2.0
#include "cmd/gc-docker/front_end/ask.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "cmd/gc-docker/front_end/logical_ids.h"
#include "vipu/types.h"

namespace front {
namespace {

using namespace base::names;

constexpr std::string_view kSelectors[] = {"IPU_COUNT", "IPU_PARTITION", "IPU_RESERVATION",
                                           "IPU_VISIBLE_DEVICES"};
constexpr std::string_view kAnnotations[] = {"graphcore.ai/ipu.count", "graphcore.ai/ipu.partition",
                                             "graphcore.ai/ipu.reservation",
                                             "graphcore.ai/ipu.devices"};
// Names that scripts give to the file of any partition.
constexpr std::string_view kAnyPartition[] = {"ipu", "ipuof"};
constexpr std::string_view kDefaultPort = "8090";  // of a V-IPU controller

// Returns the variable or annotation by which the options for docker ask for IPUs; empty if none
// do.
std::string own_request(const DockerArguments& docker, const Variables& explicit_ones) {
  for (const std::string_view name : kSelectors) {
    const auto given = explicit_ones.find(std::string(name));
    // docker ignores "-e NAME" if the variable is not set.
    if (given != explicit_ones.end() && given->second) return given->first;
  }
  for (const DockerOption& option : docker.options) {
    if (option.name != "annotation") continue;
    const std::string name = option.value.substr(0, option.value.find('='));
    for (const std::string_view known : kAnnotations) {
      if (name == known) return name;
    }
  }
  return "";
}

// Returns the value that the container would get: the one in docker's options, else the caller's.
std::string variable(const Caller& caller, const Variables& explicit_ones, const char* name) {
  const auto given = explicit_ones.find(name);
  if (given != explicit_ones.end()) return given->second.value_or("");
  const auto set = caller.environment.find(name);
  return set == caller.environment.end() ? "" : set->second.value_or("");
}

// Returns the first pool of PROVIDER for which FITS is true.
template <typename Fits>
const hook::config::PoolConfig* find_pool_of(const Caller& caller, hook::config::Provider provider,
                                             const Fits& fits) {
  for (const hook::config::PoolConfig& pool : caller.pools) {
    if (pool.provider == provider && fits(pool)) return &pool;
  }
  return nullptr;
}

// Asks for POOL by name, unless it is the default, or the command line names a pool.
void ask_pool(const Caller& caller, const hook::config::PoolConfig* pool,
              const Variables& explicit_ones, Asked& asked) {
  if (pool == nullptr || pool == &caller.pools.front() || explicit_ones.contains("IPU_POOL")) {
    return;
  }
  asked.variables.emplace_back("IPU_POOL", pool->name);
}

void ask_controller(const Caller& caller, const Variables& explicit_ones, Asked& asked) {
  const std::string host = variable(caller, explicit_ones, "IPUOF_VIPU_API_HOST");
  if (host.empty() || caller.pools.empty()) return;
  const std::string port = variable(caller, explicit_ones, "IPUOF_VIPU_API_PORT");
  const std::string controller = str(host, ":", port.empty() ? std::string(kDefaultPort) : port);
  const hook::config::PoolConfig* pool =
      find_pool_of(caller, hook::config::Provider::kVipu,
                   [&](const hook::config::PoolConfig& it) { return it.controller == controller; });
  if (pool != nullptr) return ask_pool(caller, pool, explicit_ones, asked);
  asked.notes.push_back(str("IPUOF_VIPU_API_HOST: no pool has the controller ",
                            base::quote(controller), "; the first pool, \"",
                            caller.pools.front().name,
                            "\", is used instead; see ipu-container-toolkit(5)"));
}

Result<Asked> ask_partition(const Caller& caller, const Variables& explicit_ones,
                            const IpuofSource& source) {
  if (!vipu::is_partition_name(source.value)) {
    return Error(Code::kInvalid, str(source.name, "=", base::quote(source.value),
                                     " is not the name of a partition: give 1 to 36 letters,"
                                     " digits, '-' and '_'"));
  }
  Asked asked;
  asked.variables.emplace_back("IPU_PARTITION", source.value);
  const std::string gcd = variable(caller, explicit_ones, "IPUOF_VIPU_API_GCD_ID");
  if (!gcd.empty() && !explicit_ones.contains("IPU_GCD")) {
    asked.variables.emplace_back("IPU_GCD", gcd);
  }
  ask_controller(caller, explicit_ones, asked);
  return asked;
}

// Asks for all IPUs of FILE, which POOL shares out.
Result<Asked> ask_slices(const Caller& caller, const Variables& explicit_ones,
                         const IpuofFile& file, const hook::config::PoolConfig& pool) {
  if (file.ipus == 0) {
    return Error(Code::kInvalid,
                 str(base::quote(file.path), " cannot be read as an IPUoF file; check it"));
  }
  Asked asked;
  asked.variables.emplace_back("IPU_COUNT", std::to_string(file.ipus));
  ask_pool(caller, &pool, explicit_ones, asked);
  return asked;
}

// Returns the partition whose GCDs, from 0 on, FILES are by their names; empty if they are not.
std::string whole_partition(const std::vector<IpuofFile>& files) {
  std::string name;
  std::set<std::string> gcds;
  for (const IpuofFile& file : files) {
    const std::optional<FileOf> of = partition_of_file(file.path.substr(file.path.rfind('/') + 1));
    if (!of || (!name.empty() && of->partition != name)) return "";
    name = of->partition;
    gcds.insert(of->gcd);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (!gcds.contains(std::to_string(i))) return "";
  }
  return files.size() > 1 ? name : "";
}

Asked ask_whole(const Variables& explicit_ones, const IpuofSource& source,
                const std::string& partition) {
  Asked asked;
  asked.variables.emplace_back("IPU_PARTITION", partition);
  if (!explicit_ones.contains("IPU_GCD")) asked.variables.emplace_back("IPU_GCD", "all");
  asked.notes.push_back(str("all GCDs of partition ", base::quote(partition),
                            " are meant, by the names of the files in ",
                            base::quote(source.value)));
  return asked;
}

Result<Asked> ask_file(const Caller& caller, const Variables& explicit_ones,
                       const IpuofSource& source) {
  const std::vector<IpuofFile>& files = caller.places.at(source.value).files;
  if (const std::string all = whole_partition(files); !all.empty()) {
    return ask_whole(explicit_ones, source, all);
  }
  if (files.size() > 1) {
    return Error(Code::kInvalid,
                 str(base::quote(source.value), " has ", files.size(),
                     " IPUoF files; choose one with IPUOF_CONFIG_PATH, or, in a mounted"
                     " directory, with -e IPUOF_CONFIG_PATH=/etc/ipuof.conf.d/NAME"));
  }
  const IpuofFile& file = files.front();
  const hook::config::PoolConfig* pool =
      find_pool_of(caller, hook::config::Provider::kIpuof,
                   [&](const hook::config::PoolConfig& it) { return it.file == file.path; });
  if (pool != nullptr) return ask_slices(caller, explicit_ones, file, *pool);
  const std::optional<FileOf> of = partition_of_file(file.path.substr(file.path.rfind('/') + 1));
  if (!of) {
    return Error(
        Code::kInvalid,
        str(base::quote(file.path),
            " belongs to no pool, and its name is not that of a partition; give --count ",
            file.ipus == 0 ? "N" : std::to_string(file.ipus),
            " for a new partition, -e IPU_PARTITION=NAME for one that exists, or --host-network to"
            " use the file as Graphcore's gc-docker does"));
  }
  Asked asked;
  asked.variables.emplace_back("IPU_PARTITION", of->partition);
  if (!of->gcd.empty() && !explicit_ones.contains("IPU_GCD")) {
    asked.variables.emplace_back("IPU_GCD", of->gcd);
  }
  asked.notes.push_back(str("partition ", base::quote(of->partition), " is meant, by the name of ",
                            base::quote(file.path),
                            "; give -e IPU_PARTITION=NAME if you mean another, or --count N for a"
                            " new one"));
  return asked;
}

Result<Asked> ask_cards(const Caller& caller, const std::vector<uint32_t>& ids,
                        const Variables& explicit_ones) {
  Asked asked;
  const std::vector<uint32_t> cards = TRY(choose_cards(caller, ids));
  std::vector<std::string> numbers;
  for (const uint32_t card : cards) numbers.push_back(std::to_string(card));
  asked.variables.emplace_back("IPU_VISIBLE_DEVICES",
                               ids.empty() ? "all" : base::join(numbers, ","));
  ask_pool(caller,
           find_pool_of(caller, hook::config::Provider::kPcie,
                        [](const hook::config::PoolConfig&) { return true; }),
           explicit_ones, asked);
  return asked;
}

Asked leave(const FrontEndArguments& arguments, const std::string& request) {
  Asked asked;
  if (arguments.count || !arguments.device_ids.empty()) {
    asked.notes.push_back(str(arguments.count ? "--count" : "--device-id",
                              " is ignored, because the options for docker contain ", request));
  }
  return asked;
}

}  // namespace

std::optional<FileOf> partition_of_file(std::string_view name) {
  FileOf of;
  for (const std::string_view end : {".conf", "_ipuof"}) {
    if (name.ends_with(end)) name.remove_suffix(end.size());
  }
  constexpr std::string_view kGcd = "_gcd";
  const size_t gcd = name.rfind(kGcd);
  if (gcd != std::string_view::npos) {
    const std::string_view number = name.substr(gcd + kGcd.size());
    if (base::parse_int<uint32_t>(number, 0, 255).ok()) {
      of.gcd = number;
      name = name.substr(0, gcd);
    }
  }
  of.partition = name;
  const bool is_any =
      of.gcd.empty() && std::find(std::begin(kAnyPartition), std::end(kAnyPartition), name) !=
                            std::end(kAnyPartition);
  if (is_any || !vipu::is_partition_name(of.partition)) return std::nullopt;
  return of;
}

Result<std::vector<uint32_t>> choose_cards(const Caller& caller, const std::vector<uint32_t>& ids) {
  const hook::config::PoolConfig* pool = find_pool_of(
      caller, hook::config::Provider::kPcie, [](const hook::config::PoolConfig&) { return true; });
  std::vector<std::vector<uint32_t>> groups;
  if (pool != nullptr) groups = pool->groups;
  std::vector<uint32_t> cards;
  for (const std::vector<uint32_t>& group : groups) {
    cards.insert(cards.end(), group.begin(), group.end());
  }
  if (groups.empty()) {
    for (const vipu::Card& card : caller.cards) cards.push_back(card.number);
  }
  if (cards.empty()) {
    return Error(Code::kNotFound,
                 ids.empty() ? "find cards: this host has no /dev/ipuN"
                             : "--device-id selects cards, but this host has no /dev/ipuN; give"
                               " --count N instead");
  }
  if (ids.empty()) return cards;
  return cards_of_ids(logical_devices(std::move(cards), std::move(groups)), ids);
}

Error no_source() {
  return Error(Code::kNotFound,
               "no IPUs are selected: give --count N for a new partition, or set"
               " IPUOF_VIPU_API_PARTITION_ID to a partition of 'ipuctl partition create' or"
               " 'ipuctl partition adopt'");
}

Result<Asked> ask(const Caller& caller, const FrontEndArguments& arguments,
                  const DockerArguments& docker, const Variables& explicit_ones) {
  const std::string request = own_request(docker, explicit_ones);
  if (!request.empty()) return leave(arguments, request);
  if (arguments.count) {
    Asked asked;
    asked.variables.emplace_back("IPU_COUNT", std::to_string(*arguments.count));
    ask_controller(caller, explicit_ones, asked);
    return asked;
  }
  if (!arguments.device_ids.empty()) return ask_cards(caller, arguments.device_ids, explicit_ones);
  const std::optional<IpuofSource> source = TRY(choose_source(
      ipuof_sources(docker, explicit_ones, caller.environment, caller.engine), caller));
  if (host_kind(caller, source) == HostKind::kCards) return ask_cards(caller, {}, explicit_ones);
  if (!source) return no_source();
  return source->kind == IpuofSource::Kind::kPartition
             ? ask_partition(caller, explicit_ones, *source)
             : ask_file(caller, explicit_ones, *source);
}

}  // namespace front
