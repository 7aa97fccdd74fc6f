// SPDX-License-Identifier: Apache-2.0
// Prints the source of the system call filters of all phases, and of the names of system calls. It
// runs when the product is built: to make a filter takes libseccomp several times as long as it
// takes the kernel to load one.
#include <linux/filter.h>
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/confinement/lists/phases.h"

namespace {

using namespace base::names;
using namespace hook::confinement;

using Context = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&seccomp_release)>;

constexpr int kUnknown = __NR_SCMP_ERROR;
constexpr int kSkipped = -1;  // see phases.h

Status check(int result, std::string_view what) {
  if (result == 0) return {};
  return Error::from_errno(-result, what);
}

Result<int> number_of(std::string_view call) {
  if (call == "-1") return kSkipped;
  const int number = seccomp_syscall_resolve_name(std::string(call).c_str());
  if (number != kUnknown) return number;
  return Error(Code::kNotFound, str("libseccomp does not know the system call ", call));
}

scmp_arg_cmp comparison(const Argument& argument) {
  if (argument.must == Argument::Must::kDiffer)
    return {argument.index, SCMP_CMP_NE, argument.value, 0};
  if (argument.mask == UINT64_MAX) return {argument.index, SCMP_CMP_EQ, argument.value, 0};
  return {argument.index, SCMP_CMP_MASKED_EQ, argument.mask, argument.value};
}

Status add_rule(const Context& context, const Rule& rule) {
  const int number = TRY(number_of(rule.call));
  std::vector<scmp_arg_cmp> where;
  for (const Argument& argument : rule.where) where.push_back(comparison(argument));
  return check(seccomp_rule_add_array(context.get(), SCMP_ACT_ALLOW, number,
                                      static_cast<unsigned>(where.size()), where.data()),
               str("allow ", rule.call));
}

Status add_absent(const Context& context, const AbsentCall& absent) {
  const int number = absent.number >= 0 ? absent.number : TRY(number_of(absent.call));
  return check(seccomp_rule_add(context.get(), SCMP_ACT_ERRNO(ENOSYS), number, 0),
               str("deny ", absent.call));
}

Status set(const Context& context, scmp_filter_attr attribute, uint32_t value) {
  return check(seccomp_attr_set(context.get(), attribute, value), "set an attribute");
}

// Returns the rest of FD as instructions.
Result<std::vector<sock_filter>> read_back(int fd) {
  const off_t size = ::lseek(fd, 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<size_t>(size) / sizeof(sock_filter));
  if (::pread(fd, program.data(), static_cast<size_t>(size), 0) != size)
    return Error::from_errno(errno, "read the filter back");
  return program;
}

Result<std::vector<sock_filter>> filter_of(Phase phase) {
  const Context context(seccomp_init(SCMP_ACT_TRAP), &seccomp_release);
  if (context == nullptr) return Error(Code::kInternal, "libseccomp makes no filter");
  TRY(set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
  TRY(set(context, SCMP_FLTATR_API_TSKIP, 1));
  constexpr uint32_t kBinaryTree = 2;  // fewer comparisons per call than a list
  TRY(set(context, SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree));
  for (const Rule& rule : allowed_calls(phase)) TRY(add_rule(context, rule));
  for (const AbsentCall& absent : absent_calls(phase)) TRY(add_absent(context, absent));
  const std::unique_ptr<FILE, decltype(&std::fclose)> file(std::tmpfile(), &std::fclose);
  if (file == nullptr) return Error::from_errno(errno, "make a temporary file");
  const int fd = ::fileno(file.get());
  TRY(check(seccomp_export_bpf(context.get(), fd), "export the filter"));
  return read_back(fd);
}

Status print_filter(Phase phase) {
  std::string text;
  for (const sock_filter& one : TRY(filter_of(phase)))
    text += str("    {", one.code, ", ", unsigned{one.jt}, ", ", unsigned{one.jf}, ", ", one.k,
                "U},\n");
  (void)std::printf("constexpr sock_filter k_%s[] = {\n%s};\n", name_of(phase), text.c_str());
  return {};
}

void print_names() {
  constexpr int kMost = 600;
  (void)std::puts("constexpr const char* kNames[] = {");
  for (int number = 0; number < kMost; ++number) {
    const std::unique_ptr<char, decltype(&std::free)> name(
        seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number), &std::free);
    (void)std::printf(name == nullptr ? "    nullptr,\n" : "    \"%s\",\n", name.get());
  }
  (void)std::puts("};");
}

Status print_source() {
  (void)std::puts("#include \"hook/confinement/internal/filters.h\"\n\nnamespace {");
  std::string all;
  for (const Phase phase : kPhases) {
    TRY_CTX(str("phase ", name_of(phase)), print_filter(phase));
    all += str(all.empty() ? "" : ", ", "k_", name_of(phase));
  }
  print_names();
  (void)std::printf(
      "}  // namespace\n\nnamespace hook::confinement::internal {\n"
      "const std::array<std::span<const sock_filter>, kPhases.size()> kFilters = {%s};\n"
      "const std::span<const char* const> kCallNames = kNames;\n}\n",
      all.c_str());
  return {};
}

}  // namespace

int main() {
  const Status printed = print_source();
  if (printed.ok() && std::fflush(stdout) == 0) return 0;
  (void)std::fprintf(stderr, "confinement-filters: %s\n",
                     printed.ok() ? "cannot write" : printed.error().message().c_str());
  return 1;
}
