// SPDX-License-Identifier: Apache-2.0
// A directory of the host with the names that the product uses, to which hostile images lead.
#pragma once

#include <map>
#include <string>

namespace hostile {

// Makes DIRECTORY and what is in it. Ends the process if it cannot.
void make_outside(const std::string& directory);

// What lstat says of DIRECTORY and of all below it, and the content of files. Equal: nobody changed
// anything.
using Snapshot = std::map<std::string, std::string>;
Snapshot look_at(const std::string& directory);

// What is in DIRECTORY, and no deeper; when it changed does not count.
Snapshot names_in(const std::string& directory);

// Returns the differences on one line; empty if there are none.
std::string differences(const Snapshot& before, const Snapshot& after);

// Returns whether nothing differs but that there are new links and devices that a low-level runtime
// makes in /dev and, if EMPTY_ONES, new directories and empty files.
bool is_of_runtime(const Snapshot& before, const Snapshot& after, bool empty_ones);

}  // namespace hostile
