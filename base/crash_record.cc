// SPDX-License-Identifier: Apache-2.0
#include "base/crash_record.h"

#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/signal_record.h"
#include "base/text.h"
#include "base/version.h"

// Where the linker puts the first byte of the program's file.
extern "C" const char __executable_start;

namespace base {
namespace {

struct CrashAbout {
  const char* program = "";
  char version[32] = "";
  char file[256] = "";
  RecordPlace place;
};
CrashAbout crash_about;
// The stack may be what is exhausted.
alignas(16) char stack_of_handler[16 << 10];

// Returns the instruction at which the signal came; 0 if this machine's context is not known.
uint64_t place_of(const void* context) {
#if defined(__x86_64__)
  return static_cast<uint64_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

// The action is the default one again since the handler began: the instruction that crashed does so
// again, and ends the process. A signal that was sent, as by abort(), does not come again, and the
// phases of a confined program allow nobody to send one.
void on_crash(int signal, siginfo_t* info, void* context) {
  const auto start = reinterpret_cast<uint64_t>(&__executable_start);
  RecordLine event;
  event.add(crash_about.program).add(" ").add(crash_about.version).add(", pid ");
  event.add_number(static_cast<uint64_t>(::getpid())).add(": crashed by signal ");
  event.add_number(static_cast<uint64_t>(signal)).add(" at offset 0x");
  event.add_number(place_of(context) - start, 16).add(", address 0x");
  event.add_number(reinterpret_cast<uint64_t>(info->si_addr), 16);
  write_record(crash_about.place, event.text());
  if (info->si_code <= 0) ::_exit(128 + signal);
}

}  // namespace

Status record_crashes(const char* program, const std::string& file) {
  if (file.size() >= sizeof crash_about.file)
    return Error(Code::kInvalid, str("the path ", quote(file), " is too long"));
  std::memcpy(crash_about.file, file.c_str(), file.size() + 1);
  const std::string version = product_version();
  std::memcpy(crash_about.version, version.c_str(),
              std::min(version.size(), sizeof crash_about.version - 1));
  crash_about.program = program;
  crash_about.place.file = crash_about.file;
  const stack_t stack{stack_of_handler, 0, sizeof stack_of_handler};
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND) | SA_NODEFER | SA_ONSTACK;
  bool is_set = ::sigaltstack(&stack, nullptr) == 0;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    is_set = ::sigaction(signal, &action, nullptr) == 0 && is_set;
  if (is_set) return {};
  return Error::from_errno(errno, "set the handlers of crashes");
}

void record_crashes_on_stderr_only() { crash_about.place.on_stderr_only = true; }

}  // namespace base
