// SPDX-License-Identifier: Apache-2.0
// What a config.json says of capabilities and namespaces, whatever else it holds and
// however long it is. spec.h has limits, and whoever starts a container can choose to be beyond
// them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hook::oci {

// The limit of an object for `exec`. The kernel starts no program with more than 6 MiB of arguments
// and variables (execve(2)); JSON makes them at most six times as long. All else in the object is
// short.
inline constexpr size_t kMaxProcessBytes = 64 << 20;

// What a text is: a config.json, or the object "process" of one.
enum class Document { kSpec, kProcess };

struct Powers {
  struct Cut {
    size_t begin = 0;
    size_t end = 0;
  };
  // Paths of the namespaces that the container joins, of all types: of two lists of one name, Go
  // puts the second into the items of the first, so that a path may get the type of another.
  std::vector<std::string> namespaces;
  std::vector<Cut> cuts;  // what to cut out of the text to remove the capabilities
};

// Returns the powers in TEXT, where the capabilities NAMES are to be removed from each set. Counts
// keys in each spelling that runc or crun takes, and each of several of one name. The time is
// linear in the length of TEXT. Returns kInvalid if TEXT is not a JSON object, or nests deeper than
// runc reads.
base::Result<Powers> find_powers(std::string_view text, Document document,
                                 const std::vector<std::string>& names);

// Returns TEXT without CUTS, which are in order.
[[nodiscard]] std::string without(std::string_view text, const std::vector<Powers::Cut>& cuts);

}  // namespace hook::oci
