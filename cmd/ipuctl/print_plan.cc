// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print_plan.h"

#include <array>
#include <cstdio>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using vipu::plan::Level;
using vipu::plan::Memory;
using vipu::plan::Plan;
using vipu::plan::Split;
using vipu::plan::Verdict;

std::string count_text(uint64_t count, std::string_view noun) {
  return str(count, ' ', noun, count == 1 ? "" : "s");
}

std::string gb_text(uint64_t bytes) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f GB", static_cast<double>(bytes) / 1e9);
  return text.data();
}

// Returns "0/16-31": the domain of a block, and its IPUs there.
std::string place_text(const vipu::Topology& topology, const vipu::Block& block) {
  const vipu::IpuPlace first = topology.place_of(block.first);
  const std::string last = block.size == 1 ? "" : str('-', first.ipu + block.size - 1);
  return str(first.domain, '/', first.ipu, last);
}

std::vector<std::string> block_texts(const PlanView& view) {
  std::vector<std::string> texts;
  const vipu::Topology topology(view.pool->now.survey.domains);
  for (const vipu::Block& block : view.outlook->blocks)
    texts.push_back(place_text(topology, block));
  return texts;
}

std::string partitions_text(const Plan& plan) {
  const vipu::plan::Partitions& partitions = plan.partitions;
  if (partitions.count == 0) return "none that a replica fits";
  std::string text =
      partitions.count == 1 ? std::string("one") : str("a gang of ", partitions.count, ", each");
  text += str(" of ", count_text(partitions.size, "IPU"), ", as a ",
              vipu::plan::pod_for(partitions.size), " has");
  if (partitions.domains > 1) text += str(", in ", partitions.domains, " IPU-Link domains");
  return text + (partitions.idle == 0 ? "; none idle" : str("; ", partitions.idle, " idle"));
}

std::string launch_text(const Plan& plan) {
  const vipu::plan::Launch& launch = plan.launch;
  std::string text = str(count_text(launch.hosts, "host"), " with ",
                         count_text(launch.instances, "instance"), " in all");
  if (plan.partitions.count > 1) text += " for each partition";
  if (launch.usual_hosts == launch.hosts) return text;
  return str(text, "; ", launch.usual_hosts, " are usual for ", plan.partitions.size,
             " IPUs, but each instance has equally many whole replicas");
}

std::string batch_text(const Plan& plan) {
  const auto waits = static_cast<uint64_t>(plan.bubble.value_or(0) * 100);
  return str(*plan.accumulation, *plan.accumulation == 1 ? " micro-batch" : " micro-batches",
             " of each replica in a step; a stage waits for ", waits, "% of the time");
}

std::string verdict_text(const Memory& memory) {
  std::string text = name_of(memory.verdict);
  if (memory.verdict == Verdict::kNeedsPhases)
    text += str(": at least ", count_text(memory.least_phases, "phase"));
  if (memory.verdict == Verdict::kFits) {
    text += memory.fits_with_optimizer()
                ? ": weights and optimizer state"
                : ": weights; the optimizer state stays in exchange memory";
  }
  return text + " (an estimate)";
}

void add_memory(const Memory& memory, Rows& rows) {
  std::string weights = str("about ", gb_text(memory.weights), " of weights, ", gb_text(memory.all),
                            " with optimizer state");
  if (memory.phases > 1)
    weights += str("; ", gb_text(memory.resident), " in each of ", memory.phases, " phases");
  rows.push_back({"an IPU", str(weights, "; ", gb_text(memory.budget), " may be used")});
  rows.push_back({"exchange", str("about ", gb_text(memory.streamed), " of ",
                                  gb_text(vipu::plan::kExchangeMemory), " for each IPU")});
  rows.push_back({"verdict", verdict_text(memory)});
}

std::string pool_text(const PlanView& view) {
  const vipu::Occupancy occupancy = vipu::Occupancy::of(view.pool->now.survey);
  std::string text = str(view.pool->name, ": ", occupancy.free_ipus(), " of ",
                         occupancy.topology().ipus(), " IPUs");
  const std::string& limit = view.pool->limit;
  text += limit.empty() ? " free" : str(" of the controller free; ", limit, " may have less");
  if (!view.outlook) return text;
  const std::string why = why_not_now(view);
  if (!why.empty()) return str(text, "; could not start now: ", why);
  if (!limit.empty()) return text;
  text += str("; could start now on ", base::join(block_texts(view), ", "));
  if (!view.outlook->warm.empty()) text += ", which is warm";
  return text;
}

std::string table_text(const PlanView& view) {
  const Plan& plan = view.plan;
  Rows rows = {{"IPUs", str(plan.split.ipus(), ": ", count_text(plan.split.replicas, "replica"),
                            " of ", plan.split.of_replica())}};
  rows.push_back({"partition", partitions_text(plan)});
  if (plan.partitions.count > 0) rows.push_back({"poprun", launch_text(plan)});
  if (plan.accumulation) rows.push_back({"batch", batch_text(plan)});
  if (plan.memory) add_memory(*plan.memory, rows);
  if (view.pool) rows.push_back({"pool", pool_text(view)});
  for (const vipu::plan::Finding& finding : plan.findings)
    if (finding.level == Level::kWarning)
      rows.push_back({str("warning ", finding.id), finding.text});
  if (view.max_ipus > 0) {
    rows.push_back(
        {"policy", str("containers may not have so many IPUs: the commands need max_ipus = ",
                       view.max_ipus, " in [policy] of config.toml")});
  }
  std::string text = table(rows);
  for (const Start& start : view.starts) {
    text += start.how == "poprun" ? "\nwith poprun:\n" : "\nin one process:\n";
    for (const std::string& command : start.commands) text += str("  ", command, '\n');
  }
  return text;
}

Json split_json(const Split& split) {
  return {{"tensor", split.tensor},
          {"pipeline", split.pipeline},
          {"replicas", split.replicas},
          {"ipus_per_replica", split.of_replica()},
          {"ipus", split.ipus()}};
}

Json memory_json(const Memory& memory) {
  return {{"estimate", true},
          {"verdict", name_of(memory.verdict)},
          {"weights_bytes", memory.weights},
          {"with_optimizer_bytes", memory.all},
          {"resident_bytes", memory.resident},
          {"budget_bytes", memory.budget},
          {"exchange_bytes", memory.streamed},
          {"exchange_memory_bytes", vipu::plan::kExchangeMemory},
          {"phases", memory.phases},
          {"least_phases", memory.least_phases},
          {"fits_with_optimizer", memory.fits_with_optimizer()}};
}

Json pool_json(const PlanView& view) {
  Json json = {{"pool", view.pool->name},
               {"free", vipu::Occupancy::of(view.pool->now.survey).free_ipus()},
               {"limit", nullptr},
               {"ahead", view.pool->now.ahead},
               {"now", false},
               {"why_not", nullptr},
               {"blocks", Json::array()},
               {"warm", nullptr},
               {"blockers", Json::array()}};
  const bool is_limited = !view.pool->limit.empty();
  if (is_limited) json["limit"] = view.pool->limit;
  if (!view.outlook) return json;
  const std::string why = why_not_now(view);
  json["now"] = why.empty();
  if (!why.empty()) json["why_not"] = why;
  // Whether the limit has room, nobody knows.
  if (why.empty() && is_limited) json["now"] = nullptr;
  if (why.empty() && !is_limited) json["blocks"] = block_texts(view);
  if (!view.outlook->warm.empty()) json["warm"] = view.outlook->warm;
  json["blockers"] = view.outlook->blockers;
  return json;
}

Json to_json(const PlanView& view) {
  const Plan& plan = view.plan;
  Json json = {{"split", split_json(plan.split)}};
  json["partitions"] = {{"count", plan.partitions.count},
                        {"size", plan.partitions.size},
                        {"replicas_each", plan.partitions.replicas_each},
                        {"domains", plan.partitions.domains},
                        {"idle", plan.partitions.idle}};
  json["poprun"] = {{"usual_hosts", plan.launch.usual_hosts},
                    {"hosts", plan.launch.hosts},
                    {"instances", plan.launch.instances}};
  json["batch"] = nullptr;
  if (plan.accumulation)
    json["batch"] = {{"accumulation", *plan.accumulation}, {"bubble", plan.bubble.value_or(0)}};
  json["memory"] = plan.memory ? memory_json(*plan.memory) : Json(nullptr);
  json["checks"] = Json::array();
  for (const vipu::plan::Finding& finding : plan.findings) {
    json["checks"].push_back({{"id", finding.id},
                              {"level", finding.level == Level::kError ? "error" : "warning"},
                              {"text", finding.text}});
  }
  json["nearest"] = Json::array();
  for (const Split& split : plan.nearest) {
    json["nearest"].push_back(split_json(split));
    json["nearest"].back()["idle"] = plan.partitions.size - split.ipus();
  }
  json["pool"] = view.pool ? pool_json(view) : Json(nullptr);
  json["max_ipus"] = view.max_ipus > 0 ? Json(view.max_ipus) : Json(nullptr);
  json["starts"] = Json::array();
  for (const Start& start : view.starts)
    json["starts"].push_back({{"how", start.how}, {"commands", start.commands}});
  return json;
}

}  // namespace

std::string why_not_now(const PlanView& view) {
  if (!view.pool || !view.outlook) return "";
  if (!view.pool->drained.empty()) return view.pool->drained;
  if (view.outlook->now) return "";
  std::string queue;
  if (view.pool->now.ahead > 0) {
    queue =
        str(count_text(view.pool->now.ahead, "request"), view.pool->now.ahead == 1 ? " is" : " are",
            " ahead, the first of ", view.pool->first);
  }
  if (view.outlook->shortage.empty()) return queue;
  return queue.empty() ? view.outlook->shortage : str(view.outlook->shortage, "; ", queue);
}

std::string plan_text(const PlanView& view, Output output) {
  return output == Output::kJson ? base::to_pretty_text(to_json(view)) : table_text(view);
}

}  // namespace ipuctl
