// SPDX-License-Identifier: Apache-2.0
#include "hook/container/device/device_filter.h"

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/bpf.h"
#include "base/fd.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::device {
namespace {

using namespace base::names;
namespace bpf = base::bpf;
using base::Fd;
using bpf::instruction;

using Program = std::vector<bpf_insn>;

constexpr uint32_t kMaxPrograms = 64;           // BPF_CGROUP_MAX_PROGS
constexpr uint32_t kMaxInstructions = 1 << 16;  // many times an engine's filter

Result<int> call(bpf_cmd command, bpf_attr& attr, const char* what) {
  const long done = ::syscall(SYS_bpf, command, &attr, sizeof attr);
  if (done < 0) return Error::from_errno(errno, what);
  return static_cast<int>(done);
}

bpf_attr no_attr() {
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  return attr;
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The programs that are attached to one cgroup, and the flags of their attachment.
struct Attached {
  std::vector<uint32_t> ids;
  uint32_t flags = 0;
};

// The program is blinded (net.core.bpf_jit_harden = 2), has maps or helpers, or is attached by a
// link.
Error cannot_add(std::string_view why) {
  return {Code::kUnsupported, str("the device program of the container's cgroup cannot be extended",
                                  why, "; use the runtime wrapper instead of the hook alone")};
}

Result<Attached> query(int cgroup) {
  Attached attached;
  attached.ids.resize(kMaxPrograms);
  bpf_attr attr = no_attr();
  attr.query.target_fd = static_cast<uint32_t>(cgroup);
  attr.query.attach_type = BPF_CGROUP_DEVICE;
  attr.query.prog_ids = address_of(attached.ids.data());
  attr.query.prog_cnt = kMaxPrograms;
  TRY(call(BPF_PROG_QUERY, attr, "list the device programs of the container's cgroup"));
  attached.ids.resize(attr.query.prog_cnt);
  attached.flags = attr.query.attach_flags;
  return attached;
}

// Device programs use no maps and no kernel addresses, so their instructions can be loaded again.
Result<Program> read_program(int program) {
  bpf_prog_info info;
  std::memset(&info, 0, sizeof info);
  Program instructions(kMaxInstructions);
  info.xlated_prog_len = kMaxInstructions * sizeof(bpf_insn);
  info.xlated_prog_insns = address_of(instructions.data());
  bpf_attr attr = no_attr();
  attr.info.bpf_fd = static_cast<uint32_t>(program);
  attr.info.info_len = sizeof info;
  attr.info.info = address_of(&info);
  TRY(call(BPF_OBJ_GET_INFO_BY_FD, attr, "read a device program"));
  const size_t count = info.xlated_prog_len / sizeof(bpf_insn);
  if (count == 0 || count > kMaxInstructions || info.nr_map_ids != 0) return cannot_add("");
  instructions.resize(count);
  return instructions;
}

// Registers: 1 is the context, struct bpf_cgroup_dev_ctx; 0 is the return value.
constexpr int kType = 2;
constexpr int kAccess = 3;
constexpr int kMajor = 4;
constexpr int kMinor = 5;

constexpr int32_t kReadWrite = BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE;
constexpr size_t kRuleLength = 4;  // instructions per device

void load_context(Program& program, int to, size_t offset) {
  program.push_back(
      instruction(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, static_cast<int>(offset), 0));
}

// Within a rule, skips OVER instructions unless VALUE is WANTED.
void skip_unless_equal(Program& program, int16_t over, int value, uint32_t wanted) {
  program.push_back(
      instruction(BPF_JMP32 | BPF_JNE | BPF_K, value, 0, over, static_cast<int32_t>(wanted)));
}

// Allows reading and writing DEVICES; the code after it decides everything else.
Program prelude(const std::vector<oci::DeviceNode>& devices) {
  Program program;
  load_context(program, kType, offsetof(bpf_cgroup_dev_ctx, access_type));
  program.push_back(instruction(BPF_ALU | BPF_MOV | BPF_X, kAccess, kType, 0, 0));
  program.push_back(instruction(BPF_ALU | BPF_AND | BPF_K, kType, 0, 0, 0xffff));
  program.push_back(instruction(BPF_ALU | BPF_RSH | BPF_K, kAccess, 0, 0, 16));
  program.push_back(instruction(BPF_ALU | BPF_AND | BPF_K, kAccess, 0, 0, ~kReadWrite));
  load_context(program, kMajor, offsetof(bpf_cgroup_dev_ctx, major));
  load_context(program, kMinor, offsetof(bpf_cgroup_dev_ctx, minor));
  // Skips all rules unless it is a character device and the access is only reading and writing.
  const auto rules = static_cast<int16_t>(devices.size() * kRuleLength);
  skip_unless_equal(program, static_cast<int16_t>(rules + 1), kType, BPF_DEVCG_DEV_CHAR);
  skip_unless_equal(program, rules, kAccess, 0);
  for (const oci::DeviceNode& device : devices) {
    skip_unless_equal(program, 3, kMajor, device.major);
    skip_unless_equal(program, 2, kMinor, device.minor);
    program.push_back(instruction(BPF_ALU | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  }
  return program;
}

Result<Fd> load(const Program& program) {
  Result<Fd> loaded = bpf::load_program(BPF_PROG_TYPE_CGROUP_DEVICE, "ipu_devices", program);
  if (!loaded.ok()) return cannot_add(str(" (", loaded.error().message(), ')'));
  return loaded;
}

// Names the old program if several may be attached; otherwise there is only one.
Status replace(int cgroup, uint32_t flags, int old_program, int new_program) {
  bpf_attr attr = no_attr();
  attr.target_fd = static_cast<uint32_t>(cgroup);
  attr.attach_bpf_fd = static_cast<uint32_t>(new_program);
  attr.attach_type = BPF_CGROUP_DEVICE;
  attr.attach_flags = flags;
  if ((flags & BPF_F_ALLOW_MULTI) != 0) {
    attr.attach_flags |= BPF_F_REPLACE;
    attr.replace_bpf_fd = static_cast<uint32_t>(old_program);
  }
  const Result<int> done = call(BPF_PROG_ATTACH, attr, " (replace the old program)");
  if (!done.ok()) return cannot_add(done.error().message());
  return {};
}

}  // namespace

Status allow_by_programs(int cgroup, const std::vector<oci::DeviceNode>& devices) {
  if (devices.empty()) return {};
  const Attached attached = TRY(query(cgroup));
  for (const uint32_t id : attached.ids) {
    const Fd old_program = TRY(bpf::open_program(id));
    Program program = prelude(devices);
    const Program decides = TRY(read_program(old_program.get()));
    program.insert(program.end(), decides.begin(), decides.end());
    const Fd new_program = TRY(load(program));
    TRY(replace(cgroup, attached.flags, old_program.get(), new_program.get()));
  }
  return {};
}

}  // namespace hook::device
