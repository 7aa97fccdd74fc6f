// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/model/quirks.h"

#include <algorithm>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/faults.h"

namespace vipu::simulator {

using namespace base::names;

namespace {

struct Named {
  const char* name;
  std::optional<int> Quirks::*status;  // one of the two
  Time Quirks::*time;
};
constexpr Named kNamed[] = {
    {"unknown", &Quirks::unknown, nullptr},
    {"full", &Quirks::full, nullptr},
    {"impossible", &Quirks::impossible, nullptr},
    {"one-by-one", &Quirks::one_by_one, nullptr},
    {"early-reset", &Quirks::early_reset, nullptr},
    {"named-ipus", &Quirks::named_ipus, nullptr},
    {"late-listing", nullptr, &Quirks::late_listing},
    {"late-config", nullptr, &Quirks::late_config},
    {"late-address", nullptr, &Quirks::late_address},
    {"late-reset", nullptr, &Quirks::late_reset},
    {"slow-removal", nullptr, &Quirks::slow_removal},
};

Status add(Quirks& quirks, const std::string& text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals);
  const std::string value = text.substr(std::min(equals + 1, text.size()));
  const auto* const at = std::find_if(std::begin(kNamed), std::end(kNamed),
                                      [&](const Named& each) { return name == each.name; });
  if (at == std::end(kNamed)) {
    return Error(Code::kInvalid, str("no quirk ", base::quote(name), ": there is ", quirk_names()));
  }
  if (at->time != nullptr) {
    quirks.*(at->time) = TRY_CTX(name, base::parse_duration(value));
    return {};
  }
  const std::optional<int> status = status_number(value);
  if (!status || (*status == 0 && name != "unknown" && name != "named-ipus")) {
    return Error(Code::kInvalid, str(name, ": ", base::quote(value),
                                     " is not a gRPC status, such as FAILED_PRECONDITION"));
  }
  quirks.*(at->status) = *status;
  return {};
}

}  // namespace

std::string quirk_names() {
  std::vector<std::string> names;
  for (const Named& each : kNamed) {
    names.push_back(str(each.name, each.time != nullptr ? "=TIME" : "=STATUS"));
  }
  return base::join(names, ", ");
}

Result<Quirks> parse_quirks(const std::vector<std::string>& texts) {
  Quirks quirks;
  for (const std::string& text : texts) TRY(add(quirks, text));
  return quirks;
}

}  // namespace vipu::simulator
