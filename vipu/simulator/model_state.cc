// SPDX-License-Identifier: Apache-2.0
// The state file of the simulator:
// {"pod":"pod64","partitions":[{"id":"p0","first":0,"size":4,...}]}.
#include "base/json.h"
#include "vipu/simulator/model.h"
#include "vipu/wire_fields.h"

namespace vipu::simulator {

using base::Json;
using base::Status;

std::string Model::to_state() const {
  Json partitions = Json::array();
  for (const auto& [id, entry] : entries_) {
    partitions.push_back(Json{{"id", id},
                              {"first", entry.first},
                              {"size", entry.wanted.size},
                              {"gcds", entry.wanted.gcds},
                              {"replicas", entry.wanted.replicas},
                              {"reconfigurable", entry.wanted.reconfigurable}});
  }
  return base::to_pretty_text(Json{{"pod", pod_.name}, {"partitions", std::move(partitions)}});
}

Status Model::load_state(std::string_view text) {
  constexpr size_t kMaxText = 256;
  const Json json = TRY(base::parse_json(text, "state"));
  const wire::Fields state = TRY(wire::Fields::open(json, "state"));
  const std::string pod = TRY(state.text("pod", kMaxText));
  if (pod != pod_.name) return state.wrong("pod", pod_.name);
  const Json* partitions = TRY(state.array("partitions", pod_.ipus()));
  for (const Json& partition : *partitions) {
    const wire::Fields fields = TRY(wire::Fields::open(partition, "partition"));
    Requirements wanted;
    wanted.id = TRY(fields.text("id", kMaxText));
    wanted.size = TRY(fields.number("size", 1, pod_.ipus()));
    wanted.gcds = TRY(fields.number("gcds", 1, pod_.ipus()));
    wanted.replicas = TRY(fields.number("replicas", 1, UINT32_MAX));
    wanted.reconfigurable = TRY(fields.flag("reconfigurable")) == wire::Flag::kYes;
    const uint32_t first = TRY(fields.number("first", 0, pod_.ipus() - 1));
    TRY(put_back(wanted, first));
  }
  return {};
}

}  // namespace vipu::simulator
