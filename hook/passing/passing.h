// SPDX-License-Identifier: Apache-2.0
// Which commands of an OCI runtime are none of our business, as quickly as that can be told.
#pragma once

#include <sys/stat.h>

#include <string_view>

#include "hook/passing/command_line.h"
#include "hook/passing/text.h"

namespace hook::passing {

// Where the toolkit's files are, and its version. Each path ends with a zero byte.
struct Site {
  std::string_view run_dir;
  std::string_view config_file;
  std::string_view version;
};

// Links of the run directory whose targets are records: the low-level runtime that the last create
// chose, and what chose it (see plain/low_level.h).
inline constexpr char kRuntimeLink[] = "/runtime";
inline constexpr char kChoiceLink[] = "/choice";
// Between the parts of the second: the runtime, the state of the configuration, the version, and
// the paths at which no runtime was.
inline constexpr char kSeparator = ':';

// Returns whether the command LINE goes as it is to the low-level runtime RUNTIME, which says
// nothing otherwise. In every doubt it does not: ipu-container-start decides then. A container
// passes by if its config.json has no name of ours, and if it joins no network namespace while any
// has a mark.
[[nodiscard]] bool passes_to(const CommandLine& line, const Site& site, Text& runtime);

// Returns whether, by the second record, the configuration would choose RUNTIME again.
[[nodiscard]] bool is_settled(const Site& site, std::string_view runtime);

// Adds to TEXT the state of the file PATH: it changes with every change of the file, of its owner
// and of its mode. "absent" if there is none, and nothing if it is no plain file.
void add_state(Text& text, const char* path);
// Returns whether this is a regular file that only its owner can write.
[[nodiscard]] bool is_owners_alone(const struct stat& file);
// Adds which file this is, as "DEVICE:INODE".
void add_identity(Text& text, const struct stat& file);
// The variable in which ipu-container-start gets the identity of the program that called it.
inline constexpr char kCallerVariable[] = "IPU_CONTAINER_RUNTIME_FILE";

// The directory of the marks of network namespaces, below the run directory.
inline constexpr char kMarksDir[] = "/namespaces";
// Returns whether any namespace has a mark. Costs one system call.
[[nodiscard]] bool has_marks(std::string_view run_dir);

// Returns whether SPEC, a config.json, may ask for IPUs, by its text alone.
[[nodiscard]] bool may_ask(std::string_view spec);
// Returns whether SPEC may name a namespace to join, by its text alone. Low-level runtimes read
// keys in any case, and crun reads comments. What only a parser could tell, such as an escaped
// letter, counts as yes.
[[nodiscard]] bool may_join(std::string_view spec);

}  // namespace hook::passing
