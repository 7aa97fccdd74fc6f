// SPDX-License-Identifier: Apache-2.0
// The parts of the `docker run` and `podman run` command line that matter for IPUs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace front {

// One option before the image.
struct DockerOption {
  std::string name;        // long name without dashes: "env"; an unknown short one: "x"
  std::string value;       // empty for a flag
  size_t at = 0;           // index of its first word
  size_t words = 1;        // number of words, value included
  std::string flags = {};  // letters before it in the same word: "it" of -itv
};

struct DockerArguments {
  std::vector<std::string> words;     // as given
  std::vector<DockerOption> options;  // in order
};

// Parses WORDS, which follow `run`, up to the image, by the grammar of docker and podman (Go's
// pflag). The options without a value are known for both; any other option takes the next word, or
// what follows its '='. Parsing cannot fail: the engine refuses what is wrong.
[[nodiscard]] DockerArguments read_docker_arguments(std::vector<std::string> words);

// Returns the words without OPTIONS.
[[nodiscard]] std::vector<std::string> without(const DockerArguments& arguments,
                                               const std::vector<DockerOption>& options);

[[nodiscard]] bool has_option(const DockerArguments& arguments, std::string_view name);
// The same for a flag that also has a LETTER, such as --detach and -d.
[[nodiscard]] bool has_flag(const DockerArguments& arguments, std::string_view name, char letter);

// Variables by name. A variable without a value is named but not set.
using Variables = std::map<std::string, std::optional<std::string>>;

// Returns the variables that the options set in the container: first those of ENV_FILES, which are
// texts, then those of --env. A name alone takes its value from the CALLER's environment.
[[nodiscard]] Variables explicit_variables(const DockerArguments& arguments,
                                           const std::vector<std::string>& env_files,
                                           const Variables& caller);

// A host path that is mounted into the container.
struct DockerMount {
  std::string source;  // empty: not from the host
  std::string target;  // without a final '/'
  DockerOption option;
};
[[nodiscard]] std::vector<DockerMount> mounts_of(const DockerArguments& arguments);

}  // namespace front
