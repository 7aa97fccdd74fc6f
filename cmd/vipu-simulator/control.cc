// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/control.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace simulator {

using namespace base::names;
using base::Json;
using std::chrono::milliseconds;
using vipu::simulator::FaultPlan;
using vipu::simulator::Model;
using vipu::simulator::Record;

namespace {

constexpr milliseconds kMaxDown(60'000);

// The objects that commands act on.
struct Rig {
  SharedModel& store;
  CallLog& log;
  Faults& faults;
  Server& server;
};

Error wrong_argument(std::string_view expected) {
  return {Code::kInvalid, str("the argument must be ", expected)};
}

Result<Json> faults(Rig& rig, const Json& argument) {
  FaultPlan plan = TRY(FaultPlan::parse(base::to_text(argument)));
  const size_t count = plan.size();
  rig.faults.replace(std::move(plan));
  return Json{{"faults", count}};
}

Result<Json> clear(Rig& rig, const Json&) {
  rig.faults.replace(FaultPlan());
  return Json::object();
}

Result<Json> agent_down(Rig& rig, const Json& argument) {
  if (!argument.is_string()) return wrong_argument("an agent, such as \"ag3\"");
  TRY(rig.store.change(
      [&](Model& model) { return model.take_agent_down(argument.get<std::string>()); }));
  return Json::object();
}

Result<Json> agent_up(Rig& rig, const Json& argument) {
  if (!argument.is_string()) return wrong_argument("an agent, such as \"ag3\"");
  TRY(rig.store.change(
      [&](Model& model) { return model.bring_agent_up(argument.get<std::string>()); }));
  return Json::object();
}

Result<uint32_t> ipu_in(const Json& argument) {
  const bool fits = argument.is_number_unsigned() && argument.get<uint64_t>() <= UINT32_MAX;
  if (!fits) return wrong_argument("the number of an IPU in the POD");
  return argument.get<uint32_t>();
}

Result<Json> taint(Rig& rig, const Json& argument) {
  const uint32_t ipu = TRY(ipu_in(argument));
  TRY(rig.store.change([&](Model& model) { return model.taint(ipu, "tainted by hand"); }));
  return Json::object();
}

Result<Json> untaint(Rig& rig, const Json& argument) {
  const uint32_t ipu = TRY(ipu_in(argument));
  TRY(rig.store.change([&](Model& model) { return model.untaint(ipu); }));
  return Json::object();
}

Result<Json> set_error(Rig& rig, const Json& argument) {
  const Error wrong = wrong_argument(R"(like {"partition":"p0","errors":["link 3 is down"]})");
  if (!argument.is_object() || argument.size() != 2 || !argument.contains("errors")) return wrong;
  const Result<std::string> partition = base::get_string(argument, "partition", "argument");
  const Json& texts = argument["errors"];
  if (!partition.ok() || !texts.is_array() || texts.empty()) return wrong;
  std::vector<std::string> errors;
  for (const Json& text : texts) {
    if (!text.is_string()) return wrong;
    errors.push_back(text.get<std::string>());
  }
  TRY(rig.store.change([&](Model& model) { return model.set_error(partition.value(), errors); }));
  return Json::object();
}

Result<Json> restart(Rig& rig, const Json& argument) {
  milliseconds down(0);
  if (!argument.is_null()) {
    const Error wrong = wrong_argument(R"(like {"down":"500ms"}, at most 60s)");
    if (!argument.is_object() || argument.size() != 1) return wrong;
    const Result<std::string> text = base::get_string(argument, "down", "argument");
    if (!text.ok()) return wrong;
    const Result<milliseconds> time = base::parse_duration(text.value());
    if (!time.ok() || time.value() > kMaxDown) return wrong;
    down = time.value();
  }
  TRY(rig.server.restart(down));
  return Json::object();
}

Json to_json(const std::string& id, const Record& record, const Model& model) {
  Json ipus = Json::array();
  for (const vipu::ChosenIpu& ipu : record.ipus) {
    ipus.push_back(model.pod().topology().number_of(ipu.place).value_or(0));
  }
  return Json{{"id", id},
              {"allocation", record.wanted.allocation},
              {"ready", vipu::name_of(record.ready)},
              {"operation", vipu::name_of(record.operation)},
              {"errors", record.errors},
              {"auto_resets", record.auto_resets},
              {"ipus", std::move(ipus)}};
}

Result<Json> partitions(Rig& rig, const Json&) {
  return rig.store.read([](const Model& model) {
    Json list = Json::array();
    for (const auto& [id, record] : model.records()) list.push_back(to_json(id, record, model));
    return Json{{"partitions", std::move(list)}};
  });
}

Result<Json> check(Rig& rig, const Json&) {
  return rig.store.read([](const Model& model) -> Result<Json> {
    const std::vector<std::string> violations = model.violations();
    if (!violations.empty()) return Error(Code::kInternal, base::join(violations, "; "));
    const vipu::Occupancy pod = model.occupancy();
    uint32_t held = 0;
    uint32_t tainted = 0;
    for (uint32_t ipu = 0; ipu < model.pod().ipus(); ++ipu) {
      held += pod.holder_of(ipu).empty() ? 0U : 1U;
      tainted += pod.taint_of(ipu).empty() ? 0U : 1U;
    }
    return Json{{"partitions", model.records().size()},
                {"ipus", model.pod().ipus()},
                {"held", held},
                {"tainted", tainted},
                {"free", pod.free_ipus()},
                {"largest_free", vipu::largest_free(pod)}};
  });
}

Result<Json> calls(Rig& rig, const Json&) { return Json{{"calls", rig.log.counts()}}; }

Result<Json> stop(Rig&, const Json&) {
  // The signal that main waits for; the reply goes out before the end.
  if (::kill(::getpid(), SIGTERM) != 0) return Error::from_errno(errno, "signal this process");
  return Json::object();
}

struct Command {
  const char* name;
  Result<Json> (*run)(Rig& rig, const Json& argument);
};

constexpr Command kCommands[] = {
    {"faults", faults},       {"clear", clear},     {"agent-down", agent_down},
    {"agent-up", agent_up},   {"taint", taint},     {"untaint", untaint},
    {"set-error", set_error}, {"restart", restart}, {"partitions", partitions},
    {"check", check},         {"calls", calls},     {"stop", stop},
};

Result<Json> run(Rig& rig, std::string_view line) {
  const Json request = TRY(base::parse_json(line, "request"));
  const std::string name = TRY(base::get_string(request, "command", "request"));
  for (const auto& [key, value] : request.items()) {
    if (key != "command" && key != "argument") {
      return Error(Code::kInvalid, str("request: key ", base::quote(key), " is unknown"));
    }
  }
  const Json argument = request.contains("argument") ? request["argument"] : Json();
  std::vector<std::string> names;
  for (const Command& command : kCommands) {
    if (name == command.name) return TRY_CTX(name, command.run(rig, argument));
    names.emplace_back(command.name);
  }
  return Error(Code::kInvalid, str("unknown command ", base::quote(name), ": use one of ",
                                   base::join(names, ", ")));
}

}  // namespace

std::string Control::answer(std::string_view line) {
  Rig rig{store_, log_, faults_, server_};
  const Result<Json> done = run(rig, base::trim(line));
  if (!done.ok()) {
    const Json reply{{"ok", false}, {"error", base::one_line(done.error().message(), 1000)}};
    return base::to_text(reply) + "\n";
  }
  Json reply{{"ok", true}};
  for (const auto& [key, value] : done.value().items()) reply[key] = value;
  return base::to_text(reply) + "\n";
}

}  // namespace simulator
