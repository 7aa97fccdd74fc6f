// SPDX-License-Identifier: Apache-2.0
// What gc-docker sees of the host and of who calls it, and which IPUs that means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/gc-docker/front_end/docker_arguments.h"
#include "hook/config/config.h"
#include "vipu/types.h"

namespace front {

// Where Poplar looks for IPUoF files when nothing names one, below the home directory and in /.
inline constexpr std::string_view kIpuofDirectory = "/etc/ipuof.conf.d";

struct IpuofFile {
  std::string path;   // absolute, without links
  uint32_t ipus = 0;  // 0: it is no IPUoF file that can be read
};

// A file of the host, or a directory with such.
struct IpuofPlace {
  std::string path;  // absolute
  bool is_directory = false;
  std::vector<IpuofFile> files = {};  // itself, or all *.conf in it
};

// Who calls, and what there is.
struct Caller {
  std::string engine = "docker";  // or "podman"
  std::string runtime = "ipu";    // by what name or path the engine knows the product
  Variables environment = {};
  std::vector<std::string> env_files = {};  // texts of the --env-file that could be read
  std::vector<vipu::Card> cards = {};
  bool infiniband = false;                           // /dev/infiniband is there
  std::vector<hook::config::PoolConfig> pools = {};  // none: the configuration cannot be read
  bool allows_variables = true;                      // to ask for IPUs: policy.sources
  std::map<std::string, IpuofPlace> places = {};     // those of ipuof_sources() that exist
  uint64_t shared_memory = 0;                        // bytes that /dev/shm holds; 0: unknown
};

// Something that says which IPUs are meant, as Graphcore's tools read it.
struct IpuofSource {
  enum class Kind { kPartition, kPlace };
  enum class From {
    kArguments,    // the options for docker
    kEnvironment,  // a variable of the caller
    kDirectory,    // a directory that is looked at anyway
  };
  Kind kind = Kind::kPartition;
  From from = From::kEnvironment;
  std::string name;   // what says it, for messages: "IPUOF_CONFIG_PATH"
  std::string value;  // the partition, or the path
};

// The sources that there may be, the one that counts first: what ARGUMENTS say (EXPLICIT are their
// variables), then the caller's IPUOF_CONFIG_PATH and IPUOF_VIPU_API_PARTITION_ID, then
// ~/.ipuof.conf.d and /etc/ipuof.conf.d.
[[nodiscard]] std::vector<IpuofSource> ipuof_sources(const DockerArguments& arguments,
                                                     const Variables& explicit_ones,
                                                     const Variables& caller);

// The first of SOURCES that there is; a directory that is looked at anyway counts if it has a file.
// kNotFound, with its name, if one that was given names no IPUoF file.
base::Result<std::optional<IpuofSource>> choose_source(const std::vector<IpuofSource>& sources,
                                                       const Caller& caller);

enum class HostKind {
  kNone,   // no IPUs that could be seen
  kCards,  // in PCIe slots of this host
  kPod,    // over the fabric
};
// What a container gets IPUs of. A SOURCE that somebody gave counts before the first configured
// pool, this before cards, these before files that are there anyway.
[[nodiscard]] HostKind host_kind(const Caller& caller, const std::optional<IpuofSource>& source);

// The mounts of ARGUMENTS in the place of the container's IPUoF file.
[[nodiscard]] std::vector<DockerMount> ipuof_mounts(const DockerArguments& arguments);

}  // namespace front
