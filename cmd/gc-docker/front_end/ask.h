// SPDX-License-Identifier: Apache-2.0
// The request that gc-docker makes: the IPU_* variables of ipu-container-toolkit(7).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/arguments.h"
#include "cmd/gc-docker/front_end/caller.h"

namespace front {

struct Asked {
  // The variables to add, in this order.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::string> notes = {};  // for the user, a line each
};

// Returns the request for ARGUMENTS. A request in DOCKER or its EXPLICIT_ONES stays as it is,
// without additions. Returns kInvalid or kNotFound, with what to do, if nothing selects IPUs, or if
// the selection cannot be requested from the product.
base::Result<Asked> ask(const Caller& caller, const FrontEndArguments& arguments,
                        const DockerArguments& docker, const Variables& explicit_ones);

// The partition and GCD of an IPUoF file, from its name (without directories) in the style of `vipu
// create partition` and `vipu get partition`: p0.conf, p0_gcd1_ipuof.conf. Absent if the name could
// not be a partition's, or is one that scripts give to the file of any partition, such as ipu.conf.
struct FileOf {
  std::string partition;
  std::string gcd;  // digits; empty: unknown
};
[[nodiscard]] std::optional<FileOf> partition_of_file(std::string_view name);

// Returns the cards for Graphcore's IDS; all of this host if IDS is empty. Returns kNotFound if the
// host has none.
base::Result<std::vector<uint32_t>> choose_cards(const Caller& caller,
                                                 const std::vector<uint32_t>& ids);

// Returns the error for a call that selects no IPUs.
[[nodiscard]] base::Error no_source();

}  // namespace front
