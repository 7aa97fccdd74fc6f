// SPDX-License-Identifier: Apache-2.0
// ipuctl plan.
#include <algorithm>
#include <map>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "cmd/ipuctl/print_plan.h"
#include "cmd/ipuctl/queue_commands.h"
#include "hook/config/paths.h"
#include "hook/config/wall.h"
#include "hook/fleet/warm.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/open_fleet.h"
#include "vipu/plan/count.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::PoolConfig;
using hook::config::Provider;

struct PlanOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: none is looked at
  std::optional<uint64_t> tensor, pipeline, replicas;
  std::optional<uint64_t> batch, micro;
  std::optional<uint64_t> parameters, layers, hidden, heads;
  std::optional<uint64_t> weight_bytes, optimizer_bytes, memory_percent;
  std::optional<uint64_t> rts, optimizer_rts;
  std::optional<uint64_t> phases;  // 0: auto
  std::string image = "graphcore/pytorch";
  std::vector<std::string> program;
};

Status check_needs(bool is_given, std::string_view option, bool has_other, std::string_view other) {
  if (!is_given || has_other) return {};
  return Error(Code::kInvalid, str(option, " has no effect without ", other, "; give it too"));
}

Status check_options(const PlanOptions& options) {
  if (!options.tensor || !options.pipeline || !options.replicas) {
    return Error(Code::kInvalid,
                 "give --tensor, --pipeline and --replicas; 1 for what is not split");
  }
  const bool has_parameters = options.parameters.has_value();
  constexpr std::string_view kParameters = "--parameters";
  TRY(check_needs(options.micro.has_value(), "--micro", options.batch.has_value(), "--batch"));
  TRY(check_needs(options.weight_bytes.has_value(), "--weight-bytes", has_parameters, kParameters));
  TRY(check_needs(options.optimizer_bytes.has_value(), "--optimizer-bytes", has_parameters,
                  kParameters));
  TRY(check_needs(options.memory_percent.has_value(), "--memory-percent", has_parameters,
                  kParameters));
  const bool has_use = has_parameters || (options.phases != 0U && options.layers);
  TRY(check_needs(options.phases.has_value(), "--phases", has_use, kParameters));
  if (!options.image.empty() && options.image.front() != '-') return {};
  return Error(Code::kInvalid, str("--image: ", quote(options.image), " is not an image"));
}

vipu::plan::Question question_of(const PlanOptions& options) {
  vipu::plan::Question question;
  question.split = {*options.tensor, *options.pipeline, *options.replicas};
  if (options.batch) question.batch = vipu::plan::Batch{*options.batch, options.micro.value_or(1)};
  vipu::plan::Model& model = question.model;
  model.parameters = options.parameters.value_or(0);
  model.layers = options.layers.value_or(0);
  model.hidden = options.hidden.value_or(0);
  model.heads = options.heads.value_or(0);
  model.weight_bytes = options.weight_bytes.value_or(model.weight_bytes);
  model.optimizer_bytes = options.optimizer_bytes.value_or(model.optimizer_bytes);
  question.weight_shards = options.rts.value_or(question.weight_shards);
  question.optimizer_shards = options.optimizer_rts.value_or(question.weight_shards);
  question.phases = options.phases.value_or(question.phases);
  question.percent = options.memory_percent.value_or(question.percent);
  return question;
}

// ---- the pool
// ------------------------------------------------------------------------------------

Result<std::set<std::string>> warm_of(hook::lifecycle::Env& env, const PoolConfig& pool,
                                      std::vector<Error>& obstacles) {
  std::set<std::string> warm;
  for (const hook::ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    const bool is_ready = record.kind == hook::ledger::PartitionKind::kWarm &&
                          record.state == hook::ledger::PartitionState::kReady;
    if (is_ready && record.reservation.empty() && record.pool == pool.name)
      warm.insert(record.name);
  }
  if (!hook::lifecycle::is_shared(pool)) return warm;
  const auto opened = hook::lifecycle::open_fleet(env);
  if (!opened.ok()) obstacles.push_back(opened.error());
  if (!opened.ok() || !opened.value()) return warm;
  const hook::fleet::Fleet fleet = opened.value()->at(query_deadline());
  const auto shared = hook::fleet::list_warm(fleet, pool.name, obstacles);
  if (!shared.ok()) obstacles.push_back(shared.error());
  if (!shared.ok()) return warm;
  for (const hook::fleet::Warm& one : shared.value())
    if (one.phase == hook::fleet::WarmPhase::kIdle) warm.insert(one.name);
  return warm;
}

// Replaces the ids of partitions by the words in which people know who has them.
Status name_holders(hook::ledger::Ledger& ledger, const PoolConfig& pool,
                    const std::set<std::string>& warm, vipu::Survey& survey) {
  std::map<std::string, std::string> words;
  for (const hook::ledger::PartitionRecord& record : TRY(ledger.partitions().all())) {
    if (record.pool == pool.name && !record.reservation.empty())
      words[record.name] = str("reservation ", record.reservation);
  }
  const std::vector<hook::ledger::Lease> leases = TRY(ledger.live());
  const Names names = names_of(leases);
  for (const hook::ledger::Lease& lease : leases) {
    const bool is_own = lease.pool == pool.name && lease.origin == hook::ledger::Origin::kOwn;
    if (!is_own || words.contains(lease.partition)) continue;
    const std::string name = name_in(names, lease.container);
    words[lease.partition] =
        str("container ", name.empty() ? base::short_id(lease.container) : name);
  }
  for (vipu::Partition& partition : survey.partitions) {
    if (warm.contains(partition.id)) continue;
    const auto found = words.find(partition.id);
    partition.id = found == words.end() ? str("partition ", partition.id) : found->second;
  }
  return {};
}

Status see_queue(hook::ledger::Ledger& ledger, const PoolConfig& pool, PoolSeen& seen,
                 std::vector<Error>& obstacles) {
  const WholeQueue queue = TRY(whole_queue(ledger, pool.name, obstacles));
  for (const Place& place : queue.places) {
    if (place.waiter.resource != pool.name) continue;
    if (seen.now.ahead++ > 0) continue;
    seen.first = requester_of(place.waiter);
    if (place.waiter.ipus > 0) seen.first += str(", for ", place.waiter.ipus, " IPUs");
    if (pool.backfill) seen.now.pinned = place.waiter.pinned;
  }
  return {};
}

// Returns the types of the pool's IPUs. What a controller does not tell is no type.
std::vector<std::string> types_of(vipu::Controller& controller) {
  const auto all = controller.attributes({}, query_deadline());
  std::set<std::string> types;
  if (!all.ok()) return {};
  for (const vipu::IpuAttributes& ipu : all.value()) {
    std::vector<std::string> parts;
    for (const char* key : {"board type", "ipu architecture", "ipu arch id"}) {
      const auto found = ipu.attributes.find(key);
      if (found != ipu.attributes.end()) parts.push_back(base::one_line(found->second, 40));
    }
    if (!parts.empty()) types.insert(base::join(parts, " "));
  }
  return {types.begin(), types.end()};
}

// Returns what keeps partitions of POOL to a part of its controller's IPUs; empty if nothing does.
std::string limit_of(const PoolConfig& pool, const hook::config::PolicyConfig& policy) {
  if (pool.provider != Provider::kVipu) return "";
  if (!pool.allocation.empty()) return str("allocation ", quote(pool.allocation));
  if (!pool.cluster.empty()) return str("cluster ", quote(pool.cluster));
  return hook::config::has_walls(policy.tenants) ? "a tenant's allocation" : "";
}

// Looks at the pool: what it holds is in VIEW, what it could hold in QUESTION, and what its
// containers may do in PLACE and POLICY.
Status look_at_pool(const std::string& name, PlanView& view, vipu::plan::Question& question,
                    StartPlace& place, std::optional<hook::config::PolicyConfig>& policy,
                    std::vector<Error>& obstacles) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  const PoolConfig pool = TRY(hook::config::find_pool(config, name));
  // A copy does not know which host it is of.
  hook::ledger::Ledger ledger = TRY(may_be_in_fleet() ? existing_ledger() : read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::unique_ptr<vipu::Controller> controller = env.controller(pool);
  PoolSeen seen;
  seen.name = pool.name;
  seen.now.survey = TRY(controller->survey(query_deadline()));
  for (const vipu::Partition& partition : seen.now.survey.partitions)
    place.taken.insert(partition.id);
  seen.now.warm = TRY(warm_of(env, pool, obstacles));
  TRY(name_holders(ledger, pool, seen.now.warm, seen.now.survey));
  TRY(see_queue(ledger, pool, seen, obstacles));
  const Status drained = ledger.drain(pool.name).check();
  if (!drained.ok()) seen.drained = drained.error().message();
  question.types = types_of(*controller);
  question.largest = vipu::plan::largest_partition(seen.now.survey.domains);
  if (question.largest == 0)
    return Error(Code::kInvalid, str("pool ", quote(pool.name), " has no IPUs"));
  place.pool = pool.name;
  place.has_controller = pool.provider == Provider::kVipu;
  policy = config.policy;
  if (policy->max_wait.count() > 0) place.wait = base::format_duration(policy->max_wait);
  seen.limit = limit_of(pool, *policy);
  view.pool = std::move(seen);
  return {};
}

// Returns the policy of this host; nothing if its configuration is none, or not for this user.
std::optional<hook::config::PolicyConfig> policy_of_host() {
  auto config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return std::nullopt;
  return std::move(config).take().policy;
}

Result<Outcome> run_plan(const PlanOptions& options) {
  TRY(check_options(options));
  vipu::plan::Question question = question_of(options);
  PlanView view;
  StartPlace place;
  place.image = options.image;
  place.program = options.program;
  if (place.program.empty()) place.program = {"python3", "train.py"};
  Outcome outcome;
  std::optional<hook::config::PolicyConfig> policy;
  if (options.pool.empty()) {
    policy = policy_of_host();
  } else {
    TRY(look_at_pool(options.pool, view, question, place, policy, outcome.obstacles));
  }
  if (policy) place.has_endpoint = policy->vipu_endpoint;
  if (policy) place.by_variable = policy->allow_env;
  view.plan = TRY(vipu::plan::make_plan(question));
  for (const vipu::plan::Finding& finding : view.plan.findings) {
    if (finding.level == vipu::plan::Level::kError)
      outcome.obstacles.emplace_back(Code::kInvalid, str(finding.id, ": ", finding.text));
  }
  if (view.pool && view.plan.partitions.count == 1)
    view.outlook =
        vipu::plan::look(view.pool->now, static_cast<uint32_t>(view.plan.partitions.size));
  const std::string obstacle = why_not_now(view);
  place.has_room = obstacle.empty();
  const bool is_sure = view.pool && view.pool->limit.empty();
  if (place.has_room && is_sure) place.wait.clear();
  if (!place.has_room) {
    outcome.obstacles.emplace_back(Code::kBusy,
                                   str("pool ", quote(view.pool->name), ": ", obstacle));
  }
  view.starts = starts_of(view.plan, place);
  const uint64_t size = view.plan.partitions.size;
  if (policy && !view.starts.empty() && size > policy->max_ipus) view.max_ipus = size;
  outcome.text = plan_text(view, options.output);
  return outcome;
}

// ---- the options
// ---------------------------------------------------------------------------------

// Declares an option for a whole number from LEAST to MOST.
void add_number(Options& declared, const Option& option, std::optional<uint64_t>& target,
                uint64_t most = vipu::plan::kMaxDegree, uint64_t least = 1) {
  declared.parsed(option, [&target, least, most](const std::string& text) -> Status {
    target = TRY(base::parse_int<uint64_t>(text, least, most));
    return {};
  });
}

void add_count(Options& declared, const Option& option, std::optional<uint64_t>& target,
               uint64_t most) {
  declared.parsed(option, [&target, most](const std::string& text) -> Status {
    target = TRY(vipu::plan::parse_count(text, most));
    return {};
  });
}

void declare_split(Options& declared, PlanOptions& options) {
  add_number(declared, {"--tensor", "T", "IPUs over which each layer is split"}, options.tensor);
  add_number(declared, {"--pipeline", "P", "Stages over which the layers are split"},
             options.pipeline);
  add_number(declared, {"--replicas", "R", "Copies that train side by side"}, options.replicas);
  add_count(declared, {"--batch", "G", "Global batch: samples of all replicas in a step"},
            options.batch, vipu::plan::kMaxBatch);
  add_count(declared, {"--micro", "M", "Samples that a replica takes at a time (default: 1)"},
            options.micro, vipu::plan::kMaxBatch);
}

void declare_model(Options& declared, PlanOptions& options) {
  add_count(declared, {"--parameters", "N", "Parameters of the model, such as 336M or 175e9"},
            options.parameters, vipu::plan::kMaxParameters);
  add_number(declared, {"--layers", "N", "Its layers"}, options.layers);
  add_number(declared, {"--hidden", "N", "Its hidden size"}, options.hidden);
  add_number(declared, {"--heads", "N", "Its attention heads"}, options.heads);
  add_number(declared, {"--weight-bytes", "N", "Bytes of a parameter's weight (default: 2)"},
             options.weight_bytes, vipu::plan::kMaxBytes);
  add_number(declared,
             {"--optimizer-bytes", "N",
              "Bytes of its optimizer state (default: 8; 12 with weights in fp32 beside)"},
             options.optimizer_bytes, vipu::plan::kMaxBytes, 0);
  add_number(declared,
             {"--rts", "N", "Replicas over which stored weights are sharded (default: 1)"},
             options.rts);
  add_number(
      declared,
      {"--optimizer-rts", "N", "Replicas over which optimizer state is sharded (default: --rts)"},
      options.optimizer_rts);
  declared.parsed({"--phases", "N|auto", "Phases of execution (default: auto, as few as fit)"},
                  [&options](const std::string& text) -> Status {
                    options.phases = 0;
                    if (text == "auto") return {};
                    options.phases =
                        TRY(base::parse_int<uint64_t>(text, 1, vipu::plan::kMaxDegree));
                    return {};
                  });
  add_number(
      declared,
      {"--memory-percent", "N", "Percent of an IPU's memory that weights may have (default: 50)"},
      options.memory_percent, 100);
}

}  // namespace

void add_plan(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<PlanOptions>();
  Options declared =
      add_command(app,
                  {"plan", "Say which IPUs, hosts and memory a model needs, and how to start it",
                   "ipuctl plan --tensor 1 --pipeline 4 --replicas 4 --parameters 336M\n"
                   "ipuctl plan --tensor 8 --pipeline 8 --replicas 4 --parameters 175e9 --rts 4\n"
                   "ipuctl plan --tensor 1 --pipeline 2 --replicas 2 --image busybox -- env"},
                  chosen, [options] { return run_plan(*options); });
  declare_split(declared, *options);
  declare_model(declared, *options);
  declared.text({"--pool", "NAME", "Also say whether this pool has room now (default: none)"},
                options->pool);
  declared.text({"--image", "IMAGE", "Image of the printed commands (default: graphcore/pytorch)"},
                options->image);
  declared.arguments("COMMAND", options->program,
                     "Program of the printed commands (default: python3 train.py)");
  declared.output(options->output);
}

}  // namespace ipuctl
