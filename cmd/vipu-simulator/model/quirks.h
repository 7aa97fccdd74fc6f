// SPDX-License-Identifier: Apache-2.0
// How controllers may differ. Graphcore publishes no error codes, and not how soon a change shows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/vipu-simulator/model/record.h"

namespace vipu::simulator {

// Statuses are numbers of gRPC. Where one is unset, the controller answers as usual.
struct Quirks {
  std::optional<int> unknown = {};      // to a call about no partition; OK: with an empty reply
  std::optional<int> full = {};         // to a create for which there is no room now
  std::optional<int> impossible = {};   // to a create larger than the POD or its allocation
  std::optional<int> one_by_one = {};   // to a create while another operation lasts
  std::optional<int> early_reset = {};  // to a reset of a partition that is CREATING
  std::optional<int> named_ipus = {};   // to a create that names IPUs; OK: it gets any
  Time late_listing{0};                 // until a new partition can be seen
  Time late_config{0};                  // from ACTIVE until the configuration has GCDs
  Time late_address{0};                 // from ACTIVE until its devices have an ip
  Time late_reset{0};                   // from the reply until the status shows the reset
  Time slow_removal{0};                 // REMOVING, before the partition is gone
};

// Parses quirks such as "unknown=INVALID_ARGUMENT" and "late-config=400ms". Returns kInvalid with
// the wrong one.
base::Result<Quirks> parse_quirks(const std::vector<std::string>& texts);

// Returns the names, for help: "unknown=STATUS, full=STATUS, ...".
std::string quirk_names();

}  // namespace vipu::simulator
