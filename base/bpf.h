// SPDX-License-Identifier: Apache-2.0
// The kernel's eBPF: bpf(2). Programs and maps belong to no namespace, and live as long as a
// descriptor or an attachment holds them. All calls need CAP_SYS_ADMIN. An error is kUnsupported if
// the kernel has no such eBPF.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace base::bpf {

// Arguments of BPF_MAP_CREATE. NAME is as that of a program.
struct MapSpec {
  const char* name;
  uint32_t type;  // BPF_MAP_TYPE_HASH, ...
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint32_t entries;
  uint32_t flags;
};
Result<Fd> create_map(const MapSpec& spec);

// Returns one instruction: registers, offset and immediate number as in linux/bpf.h.
bpf_insn instruction(int code, int to, int from, int offset, int32_t immediate);

// Loads a program. NAME has at most 15 letters, digits and '_'. An error holds the verifier's last
// line.
Result<Fd> load_program(bpf_prog_type type, const char* name,
                        std::span<const bpf_insn> instructions);

// Open what the kernel knows by this number. They return kNotFound if it is gone.
Result<Fd> open_program(uint32_t id);
Result<Fd> open_map(uint32_t id);

Result<std::vector<uint32_t>> map_ids_of(const Fd& program);
Result<std::string> name_of(const Fd& program);  // may be empty

// Where programs run on an interface by tcx, from Linux 6.6 on: BPF_TCX_INGRESS, BPF_TCX_EGRESS.
enum class TcxPlace : uint32_t { kIngress = 46, kEgress = 47 };
// Returns the numbers of the programs there, in the order in which they run. INTERFACE is one of
// the thread's network namespace. A kernel without tcx has none. Needs CAP_NET_ADMIN alone.
Result<std::vector<uint32_t>> tcx_programs(uint32_t interface, TcxPlace place);

struct MapInfo {
  uint32_t id;
  std::string name;
};
Result<MapInfo> map_info(const Fd& map);

// Sets KEY to VALUE. Both have the sizes of the map.
Status put(const Fd& map, std::span<const uint8_t> key, std::span<const uint8_t> value);
// Returns false if there is no value.
Result<bool> get(const Fd& map, std::span<const uint8_t> key, std::span<uint8_t> value);
Result<Removed> erase(const Fd& map, std::span<const uint8_t> key);
// Returns the keys of a map that nobody else changes, at most MOST.
Result<std::vector<std::vector<uint8_t>>> keys_of(const Fd& map, uint32_t key_bytes, uint32_t most);

// Lets this process lock memory for maps without a limit until destruction. Before Linux 5.11 maps
// count as locked memory.
class UnlimitedMaps {
 public:
  UnlimitedMaps();
  ~UnlimitedMaps();
  UnlimitedMaps(const UnlimitedMaps&) = delete;
  UnlimitedMaps& operator=(const UnlimitedMaps&) = delete;

 private:
  uint64_t soft_ = 0;
  uint64_t hard_ = 0;
  bool is_raised_ = false;
};

}  // namespace base::bpf
