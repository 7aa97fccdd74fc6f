// SPDX-License-Identifier: Apache-2.0
#include "vipu/answers.h"

#include "base/json.h"
#include "base/names.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_values.h"

namespace vipu {

using namespace base::names;
using base::Json;

std::string to_text(const Answers& answers) {
  Grant grant;  // without the address of the controller, which the program must not need
  grant.gcds = answers.gcds;
  const std::vector<Partition> partitions{answers.partition};
  return base::to_text(Json{{"version", answers.version},
                            {"partitions", wire::to_json(partitions)},
                            {"grant", wire::to_json(grant)}});
}

Result<Answers> parse_answers(std::string_view text) {
  constexpr size_t kMaxVersion = 256;
  const Json json = TRY(base::parse_json(text, "answers"));
  const wire::Fields fields = TRY(wire::Fields::open(json, "answers"));
  Answers answers;
  answers.version = TRY(fields.text("version", kMaxVersion));
  const Json* partitions = TRY(fields.array("partitions", 1));
  if (partitions->empty()) return fields.wrong("partitions", "a list with one partition");
  answers.partition = TRY(wire::from_json<std::vector<Partition>>(*partitions)).front();
  if (!json.contains("grant")) return fields.wrong("grant", "an object");
  answers.gcds = TRY(wire::from_json<Grant>(json["grant"])).gcds;
  return answers;
}

}  // namespace vipu
