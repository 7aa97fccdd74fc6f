// SPDX-License-Identifier: Apache-2.0
// The command line of `docker run` and `podman run`, as far as it matters for IPUs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace front {

// One option before the image.
struct DockerOption {
  std::string name;   // the long one, without dashes: "env"; a short one that is not known: "x"
  std::string value;  // empty for a flag
  size_t at = 0;      // the word that it begins in
  size_t words = 1;   // that it takes, with its value's
  std::string flags = {};  // letters of the same word before it: "it" of -itv
};

struct DockerArguments {
  std::vector<std::string> words;     // as they were given
  std::vector<DockerOption> options;  // in their order
};

// Reads WORDS, which follow `run`, by the grammar of docker and podman (Go's pflag) up to the
// image. Which options have no value is known of both; any other one takes the next word, or what
// follows its '='. Cannot fail: what it does not understand is the engine's to refuse.
[[nodiscard]] DockerArguments read_docker_arguments(std::vector<std::string> words);

// The words without these OPTIONS of theirs.
[[nodiscard]] std::vector<std::string> without(const DockerArguments& arguments,
                                               const std::vector<DockerOption>& options);

[[nodiscard]] bool has_option(const DockerArguments& arguments, std::string_view name);

// Variables by name; without a value: named, and not set.
using Variables = std::map<std::string, std::optional<std::string>>;

// What the options set in the container: those of ENV_FILES, which are texts, before those of
// --env. A name alone takes its value from the environment of the CALLER.
[[nodiscard]] Variables explicit_variables(const DockerArguments& arguments,
                                           const std::vector<std::string>& env_files,
                                           const Variables& caller);

// A path of the host that is mounted into the container.
struct DockerMount {
  std::string source;  // empty: nothing of the host
  std::string target;  // without '/' at its end
  DockerOption option;
};
[[nodiscard]] std::vector<DockerMount> mounts_of(const DockerArguments& arguments);

}  // namespace front
