// SPDX-License-Identifier: Apache-2.0
#include "base/bpf.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace base::bpf {

namespace {

constexpr uint32_t kMostMaps = 64;         // of one program; the kernel's own limit
constexpr uint32_t kMostTcxPrograms = 64;  // the kernel's own limit (BPF_MPROG_MAX)
constexpr size_t kLogBytes = 64 << 10;
constexpr int kLoadAttempts = 5;  // the verifier gives up with EAGAIN if a signal arrives

long call(bpf_cmd command, bpf_attr& attributes) {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

// All bytes are zero, also those of the other members of the union.
bpf_attr no_attributes() {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  return attributes;
}

uint64_t address_of(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

void copy_name(char (&to)[BPF_OBJ_NAME_LEN], const char* name) {
  std::strncpy(to, name, sizeof to - 1);
}

Error explain(int err, const std::string& what) {
  if (err == EPERM)
    return Error::from_errno(err, str(what, " (needs CAP_SYS_ADMIN and no kernel lockdown)"));
  return Error::from_errno(err, what);
}

// The kernel answers so to what it does not know.
Error explain_new(int err, const std::string& what) {
  if (err == ENOSYS || err == EINVAL || err == E2BIG)
    return {Code::kUnsupported, Error::from_errno(err, what).message()};
  return explain(err, what);
}

template <typename Info>
Status get_info(const Fd& object, Info& info) {
  bpf_attr attributes = no_attributes();
  attributes.info.bpf_fd = static_cast<uint32_t>(object.get());
  attributes.info.info_len = sizeof info;
  attributes.info.info = address_of(&info);
  if (call(BPF_OBJ_GET_INFO_BY_FD, attributes) == 0) return {};
  return explain(errno, "read about an eBPF object");
}

Result<Fd> open_by_id(bpf_cmd command, uint32_t id) {
  bpf_attr attributes = no_attributes();
  attributes.prog_id = id;  // the same place as map_id
  const long fd = call(command, attributes);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return explain(errno, "open an eBPF object by its number");
}

// Returns the last line of the verifier before its statistics.
std::string last_line(const std::vector<char>& log) {
  std::string text(log.begin(), std::find(log.begin(), log.end(), '\0'));
  const size_t statistics = text.rfind("\nprocessed ");
  if (statistics != std::string::npos) text.resize(statistics);
  return one_line(text.substr(text.find_last_of('\n') + 1), 200);
}

}  // namespace

Result<Fd> create_map(const MapSpec& spec) {
  bpf_attr attributes = no_attributes();
  attributes.map_type = spec.type;
  attributes.key_size = spec.key_bytes;
  attributes.value_size = spec.value_bytes;
  attributes.max_entries = spec.entries;
  attributes.map_flags = spec.flags;
  copy_name(attributes.map_name, spec.name);
  const long fd = call(BPF_MAP_CREATE, attributes);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return explain_new(errno, str("make the eBPF map ", spec.name));
}

bpf_insn instruction(int code, int to, int from, int offset, int32_t immediate) {
  bpf_insn one{};
  one.code = static_cast<uint8_t>(code);
  one.dst_reg = static_cast<uint8_t>(to) & 0xf;
  one.src_reg = static_cast<uint8_t>(from) & 0xf;
  one.off = static_cast<int16_t>(offset);
  one.imm = immediate;
  return one;
}

Result<Fd> load_program(bpf_prog_type type, const char* name,
                        std::span<const bpf_insn> instructions) {
  bpf_attr attributes = no_attributes();
  attributes.prog_type = type;
  attributes.insns = address_of(instructions.data());
  attributes.insn_cnt = static_cast<uint32_t>(instructions.size());
  attributes.license = address_of("Apache-2.0");
  copy_name(attributes.prog_name, name);
  for (int attempt = 1; attempt <= kLoadAttempts; ++attempt) {
    const long fd = call(BPF_PROG_LOAD, attributes);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if (errno != EAGAIN) break;
  }
  const int err = errno;
  std::vector<char> log(kLogBytes);
  attributes.log_level = 1;
  attributes.log_size = kLogBytes;
  attributes.log_buf = address_of(log.data());
  const long fd = call(BPF_PROG_LOAD, attributes);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  return explain_new(err, str("load the eBPF program ", name, ": ", last_line(log)));
}

Result<Fd> open_program(uint32_t id) { return open_by_id(BPF_PROG_GET_FD_BY_ID, id); }
Result<Fd> open_map(uint32_t id) { return open_by_id(BPF_MAP_GET_FD_BY_ID, id); }

Result<std::vector<uint32_t>> map_ids_of(const Fd& program) {
  std::vector<uint32_t> ids(kMostMaps);
  bpf_prog_info info{};
  info.nr_map_ids = kMostMaps;
  info.map_ids = address_of(ids.data());
  TRY(get_info(program, info));
  ids.resize(std::min(info.nr_map_ids, kMostMaps));
  return ids;
}

Result<std::string> name_of(const Fd& program) {
  bpf_prog_info info{};
  TRY(get_info(program, info));
  return std::string(info.name, strnlen(info.name, sizeof info.name));
}

Result<std::vector<uint32_t>> tcx_programs(uint32_t interface, TcxPlace place) {
  std::vector<uint32_t> ids(kMostTcxPrograms);
  bpf_attr attributes = no_attributes();
  attributes.query.target_fd = interface;  // the same place as target_ifindex of newer headers
  attributes.query.attach_type = static_cast<uint32_t>(place);
  attributes.query.prog_ids = address_of(ids.data());
  attributes.query.prog_cnt = kMostTcxPrograms;
  if (call(BPF_PROG_QUERY, attributes) != 0) {
    const bool has_none = errno == ENOENT || errno == EINVAL || errno == ENOSYS;
    if (has_none) return std::vector<uint32_t>();
    return Error::from_errno(errno, "list the tcx programs of an interface");
  }
  ids.resize(std::min(attributes.query.prog_cnt, kMostTcxPrograms));
  return ids;
}

Result<MapInfo> map_info(const Fd& map) {
  bpf_map_info info{};
  TRY(get_info(map, info));
  return MapInfo{info.id, {info.name, strnlen(info.name, sizeof info.name)}};
}

Status put(const Fd& map, std::span<const uint8_t> key, std::span<const uint8_t> value) {
  bpf_attr attributes = no_attributes();
  attributes.map_fd = static_cast<uint32_t>(map.get());
  attributes.key = address_of(key.data());
  attributes.value = address_of(value.data());
  attributes.flags = BPF_ANY;
  if (call(BPF_MAP_UPDATE_ELEM, attributes) == 0) return {};
  return explain(errno, "add to an eBPF map");
}

Result<bool> get(const Fd& map, std::span<const uint8_t> key, std::span<uint8_t> value) {
  bpf_attr attributes = no_attributes();
  attributes.map_fd = static_cast<uint32_t>(map.get());
  attributes.key = address_of(key.data());
  attributes.value = address_of(value.data());
  if (call(BPF_MAP_LOOKUP_ELEM, attributes) == 0) return true;
  if (errno == ENOENT) return false;
  return explain(errno, "look into an eBPF map");
}

Result<Removed> erase(const Fd& map, std::span<const uint8_t> key) {
  bpf_attr attributes = no_attributes();
  attributes.map_fd = static_cast<uint32_t>(map.get());
  attributes.key = address_of(key.data());
  if (call(BPF_MAP_DELETE_ELEM, attributes) == 0) return Removed::kNow;
  if (errno == ENOENT) return Removed::kWasAbsent;
  return explain(errno, "remove from an eBPF map");
}

Result<std::vector<std::vector<uint8_t>>> keys_of(const Fd& map, uint32_t key_bytes,
                                                  uint32_t most) {
  std::vector<std::vector<uint8_t>> keys;
  std::vector<uint8_t> next(key_bytes);
  while (keys.size() < most) {
    bpf_attr attributes = no_attributes();
    attributes.map_fd = static_cast<uint32_t>(map.get());
    attributes.key = keys.empty() ? 0 : address_of(keys.back().data());
    attributes.next_key = address_of(next.data());
    if (call(BPF_MAP_GET_NEXT_KEY, attributes) != 0) {
      if (errno == ENOENT) break;
      return explain(errno, "list an eBPF map");
    }
    keys.push_back(next);
  }
  return keys;
}

UnlimitedMaps::UnlimitedMaps() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  soft_ = limit.rlim_cur;
  hard_ = limit.rlim_max;
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  is_raised_ = setrlimit(RLIMIT_MEMLOCK, &none) == 0;  // if not, a map may be refused
}

UnlimitedMaps::~UnlimitedMaps() {
  const rlimit limit{soft_, hard_};
  if (is_raised_) setrlimit(RLIMIT_MEMLOCK, &limit);
}

}  // namespace base::bpf
