// SPDX-License-Identifier: Apache-2.0
// The host and the caller as gc-docker sees them, and the IPUs that they select.
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

// Where Poplar looks for IPUoF files by default, below the home directory and in /.
inline constexpr std::string_view kIpuofDirectory = "/etc/ipuof.conf.d";

struct IpuofFile {
  std::string path;   // absolute, without links
  uint32_t ipus = 0;  // 0: not a readable IPUoF file
};

// A host file, or a directory of files.
struct IpuofPlace {
  std::string path;  // absolute
  bool is_directory = false;
  std::vector<IpuofFile> files = {};  // the file itself, or all *.conf in the directory
};

// The caller and its host.
struct Caller {
  std::string engine = "docker";  // or "podman"
  std::string runtime = "ipu";    // name or path of the product in the engine
  Variables environment = {};
  std::vector<std::string> env_files = {};  // texts of readable --env-file files
  std::vector<vipu::Card> cards = {};
  bool infiniband = false;                           // /dev/infiniband is there
  std::vector<hook::config::PoolConfig> pools = {};  // none: the configuration cannot be read
  bool allows_variables = true;    // whether variables may ask for IPUs: policy.sources
  bool allows_annotations = true;  // likewise
  std::string tenant = {};         // that has the calling user in its list; empty: none is known
  bool allows_tenant_variable = false;            // policy.tenant_variable
  std::string default_tenant = {};                // policy.default_tenant
  std::map<std::string, IpuofPlace> places = {};  // the existing ones of ipuof_sources()
  uint64_t shared_memory = 0;                     // size of /dev/shm in bytes; 0: unknown
};

// A setting that selects IPUs, as Graphcore's tools read it.
struct IpuofSource {
  enum class Kind { kPartition, kPlace };
  enum class From {
    kArguments,    // the options for docker
    kEnvironment,  // a variable of the caller
    kDirectory,    // a directory that is always searched
  };
  Kind kind = Kind::kPartition;
  From from = From::kEnvironment;
  std::string name;         // name of the setting, for messages: "IPUOF_CONFIG_PATH"
  std::string value;        // the partition, or the path
  std::string volume = {};  // of the engine, in which the path is; empty: none
};

// Returns the possible sources in order of precedence: those of ARGUMENTS (with their variables
// EXPLICIT_ONES), then IPUOF_CONFIG_PATH and IPUOF_VIPU_API_PARTITION_ID of the ENVIRONMENT, then
// ~/.ipuof.conf.d and /etc/ipuof.conf.d. ENGINE says where volumes are.
[[nodiscard]] std::vector<IpuofSource> ipuof_sources(const DockerArguments& arguments,
                                                     const Variables& explicit_ones,
                                                     const Variables& environment,
                                                     const std::string& engine);

// Returns the first existing one of SOURCES; a directory that is always searched counts if it has a
// file. Returns kNotFound, with its name, if an explicit source names no IPUoF file.
base::Result<std::optional<IpuofSource>> choose_source(const std::vector<IpuofSource>& sources,
                                                       const Caller& caller);

enum class HostKind {
  kNone,   // no IPUs that could be seen
  kCards,  // in PCIe slots of this host
  kPod,    // over the fabric
};
// Returns where a container's IPUs come from. The order is: an explicit SOURCE, the first
// configured pool, cards, files in the directories that are always searched.
[[nodiscard]] HostKind host_kind(const Caller& caller, const std::optional<IpuofSource>& source);

// Returns the mounts of ARGUMENTS over the container's IPUoF file.
[[nodiscard]] std::vector<DockerMount> ipuof_mounts(const DockerArguments& arguments);

}  // namespace front
