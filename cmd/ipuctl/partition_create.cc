// SPDX-License-Identifier: Apache-2.0
// ipuctl partition create.
#include <chrono>
#include <memory>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/dry_run.h"
#include "cmd/ipuctl/print_partition.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace ipuctl {
namespace {

using namespace base::names;

struct CreateOptions {
  Output output = Output::kTable;
  std::string pool;
  vipu::PartitionRequest request;
  std::optional<std::chrono::milliseconds> timeout;
  bool shared = false;
  bool no_wait = false;
  bool dry_run = false;
};

template <typename Value>
Result<Value> get_named(const std::optional<Value>& value, const std::string& text,
                        std::string_view accepted) {
  if (value) return *value;
  return Error(Code::kInvalid, str(base::quote(text), " is not one of ", accepted));
}

Result<vipu::SyncType> parse_sync_type(const std::string& text) {
  // The name that Graphcore's vipu uses.
  if (text == "c2-compatible") return vipu::SyncType::kGs2Default;
  return get_named(vipu::parse_sync_type(text), text,
                   "c2-compatible, ST_GS2_DEFAULT, ST_GS2_INDEPENDENT_RAILS, ST_POD_NATIVE_DEFAULT"
                   " and ST_POD_NATIVE_REPLICATED_PIPELINE");
}

Result<vipu::IpuPlace> parse_place(std::string_view text) {
  const std::vector<std::string_view> parts = base::split(text, '/');
  if (parts.size() != 2) {
    return Error(Code::kInvalid,
                 str(base::quote(text), " is not DOMAIN/IPU, such as 0/3: IPU 3 of domain 0"));
  }
  vipu::IpuPlace place;
  place.domain = TRY(base::parse_int<uint32_t>(parts[0], 0, UINT32_MAX));
  place.ipu = TRY(base::parse_int<uint32_t>(parts[1], 0, UINT32_MAX));
  return place;
}

// Keeps the order of TEXT, because the partition counts its IPUs in that order.
Result<std::vector<vipu::ChosenIpu>> parse_ipus(const std::string& text) {
  std::vector<vipu::ChosenIpu> ipus;
  std::vector<uint32_t> domains;
  for (const std::string_view part : base::split(text, ',')) {
    vipu::ChosenIpu ipu;
    ipu.place = TRY(parse_place(part));
    ipu.routing_id = static_cast<uint32_t>(ipus.size());
    auto domain = std::find(domains.begin(), domains.end(), ipu.place.domain);
    ipu.domain_routing_id = static_cast<uint32_t>(domain - domains.begin());
    if (domain == domains.end()) domains.push_back(ipu.place.domain);
    ipus.push_back(ipu);
  }
  return ipus;
}

hook::lifecycle::partitions::NewPartition wanted_of(const CreateOptions& options,
                                                    const hook::config::PoolConfig& pool) {
  hook::lifecycle::partitions::NewPartition wanted;
  wanted.pool = pool;
  wanted.request = options.request;
  wanted.shared = options.shared;
  wanted.wait = !options.no_wait;
  if (wanted.request.allocation.empty()) wanted.request.allocation = pool.allocation;
  if (wanted.request.cluster.empty()) wanted.request.cluster = pool.cluster;
  if (wanted.request.size == 0) {
    wanted.request.size = static_cast<uint32_t>(wanted.request.ipus.size());
  }
  return wanted;
}

Result<Outcome> run_create(const CreateOptions& options) {
  TRY(hook::lifecycle::partitions::check_partition(wanted_of(options, {})));
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  const hook::lifecycle::partitions::NewPartition wanted = wanted_of(options, pool);
  if (options.dry_run) return dry_run(wanted, options.output);
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Deadline deadline = Deadline::after(options.timeout.value_or(pool.timeout));
  TRY(hook::lifecycle::partitions::create_partition(env, wanted, deadline));
  refresh_cdi_after_change(env);
  const std::string& name = wanted.request.id;
  if (options.output == Output::kTable) return Outcome{success_text("create", name)};
  Outcome outcome;
  const PartitionView view =
      TRY_CTX(str("partition ", base::quote(name), " was created, but cannot be shown"),
              get_partition(env, pool, name, query_deadline(), outcome.obstacles));
  outcome.text = partition_json(view);
  return outcome;
}

// Declares an option that sets TARGET to what PARSE makes of its text.
template <typename Value, typename Parse>
void add_parsed(Options& declared, const Option& option, Value& target, Parse parse) {
  declared.parsed(option, [&target, parse](const std::string& text) -> Status {
    target = TRY(parse(text));
    return {};
  });
}

void declare_size(Options& declared, vipu::PartitionRequest& request) {
  declared.number({"--size", "N", "Number of IPUs, a power of two"}, request.size);
  declared.text(
      {"--allocation", "NAME", "Take the IPUs from this V-IPU allocation (default: the pool's)"},
      request.allocation);
  declared.text(
      {"--cluster", "NAME", "Take the IPUs from this V-IPU cluster (default: the pool's)"},
      request.cluster);
  declared.flag("--reconfigurable", request.reconfigurable,
                "Allow Poplar to form devices of fewer IPUs");
  declared.number({"--gcds,--num-gcds", "N", "Number of GCDs, one for each container (default: 1)"},
                  request.gcds);
  declared.number({"--replicas,--gcd-sync-replicas", "N", "Total number of replicas in all GCDs"},
                  request.replicas);
}

void declare_links(Options& declared, vipu::PartitionRequest& request) {
  declared.number(
      {"--segments,--num-ilds", "N", "Number of IPU-Link segments, each in its own domain"},
      request.segments);
  add_parsed(declared, {"--routing", "TYPE", "Routing over IPU-Links: DNC, SWNC, BTNC or RINGSWNC"},
             request.link_routing, [](const std::string& text) {
               return get_named(vipu::parse_link_routing(text), text,
                                "DNC, SWNC, BTNC and RINGSWNC");
             });
  add_parsed(declared, {"--gateway-routing", "TYPE", "Routing over gateways: RING or SWRING"},
             request.gateway_routing, [](const std::string& text) {
               return get_named(vipu::parse_gateway_routing(text), text, "RING and SWRING");
             });
  add_parsed(declared,
             {"--sync-type", "TYPE", "Sync type, such as c2-compatible or ST_POD_NATIVE_DEFAULT"},
             request.sync, parse_sync_type);
  add_parsed(declared, {"--ipus", "DOMAIN/IPU,...", "Use exactly these IPUs, in this order"},
             request.ipus, parse_ipus);
  declared.flag("--disable-auto-reset", request.disable_auto_reset,
                "Tell the controller not to reset it after errors");
  declared.flag("--relocatable", request.relocatable,
                "Allow the controller to move it to other IPUs after errors");
}

}  // namespace

void add_partition_create(CLI::App& partition, Command& chosen) {
  const auto options = std::make_shared<CreateOptions>();
  Options declared =
      add_command(partition,
                  {"create", "Create a partition that containers use with IPU_PARTITION=NAME",
                   "ipuctl partition create p1 --size 8 --gcds 2\n"
                   "ipuctl partition create p2 --size 16 --dry-run"},
                  chosen, [options] { return run_create(*options); });
  declared.argument("NAME", options->request.id,
                    "1 to 36 characters of A-Z, a-z, 0-9, '-' and '_'");
  declare_size(declared, options->request);
  declare_links(declared, options->request);
  declared.flag("--shared", options->shared, "Allow several containers to use the same GCD");
  declared.flag("--no-wait", options->no_wait, "Return before it is ACTIVE");
  declared.duration({"--timeout", "TIME",
                     "Fail if it is not ACTIVE after this time, such as 90s (default: the pool's)"},
                    options->timeout);
  declared.flag("--dry-run", options->dry_run,
                "Print the request and whether there is room; change nothing");
  declared.output(options->output);
  declared.pool(options->pool);
}

}  // namespace ipuctl
