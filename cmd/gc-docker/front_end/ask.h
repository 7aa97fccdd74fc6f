// SPDX-License-Identifier: Apache-2.0
// What of the product gc-docker asks for: the IPU_* variables of ipu-container-toolkit(7).
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
  // To be added, in this order.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::string> notes = {};  // what the user should know, a line each
};

// The request for ARGUMENTS. What DOCKER and its EXPLICIT_ONES ask for themselves stays as it is
// and nothing is added to it. kInvalid or kNotFound, with what to do, where nothing says which IPUs
// are meant, or what says it cannot be asked of the product.
base::Result<Asked> ask(const Caller& caller, const FrontEndArguments& arguments,
                        const DockerArguments& docker, const Variables& explicit_ones);

// The partition, and its GCD, that an IPUoF file of this name (without directories) is of, as
// `vipu create partition` and `vipu get partition` call them: p0.conf, p0_gcd1_ipuof.conf.
// Absent: its name could not be that of a partition.
struct FileOf {
  std::string partition;
  std::string gcd;  // digits; empty: not told
};
[[nodiscard]] std::optional<FileOf> partition_of_file(std::string_view name);

// The cards that IDS, Graphcore's, stand for; all of this host where IDS is empty. kNotFound if the
// host has none.
base::Result<std::vector<uint32_t>> choose_cards(const Caller& caller,
                                                 const std::vector<uint32_t>& ids);

// What is said where nothing tells which IPUs are meant.
[[nodiscard]] base::Error no_source();

}  // namespace front
