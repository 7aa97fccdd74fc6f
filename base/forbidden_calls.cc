// SPDX-License-Identifier: Apache-2.0
#include "base/forbidden_calls.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/crash_record.h"
#include "base/signal_record.h"
#include "base/text.h"

namespace base {
namespace {

// What the handler needs.
struct About {
  const char* program = "";
  const char* phase = "";
  std::span<const char* const> names;
  char file[256] = "";
  RecordPlace place;
};
About about;

void add_call(RecordLine& line, unsigned number) {
  const char* const name = number < about.names.size() ? about.names[number] : nullptr;
  line.add(name != nullptr ? name : "unknown").add(" (").add_number(number).add(")");
}

void add_event(RecordLine& line, unsigned call) {
  line.add(about.program).add(", pid ").add_number(static_cast<uint64_t>(::getpid()));
  line.add(": the system call ");
  add_call(line, call);
  line.add(" is forbidden in phase ").add(about.phase).add(", so the process was ended");
}

// The action is the default one again since the handler began, and SIGSYS is not blocked: a
// forbidden call in here ends the process too.
void on_forbidden_call(int, siginfo_t* info, void*) {
  const auto call = static_cast<unsigned>(info->si_syscall);
  RecordLine event;
  add_event(event, call);
  write_record(about.place, event.text());
  (void)::raise(SIGSYS);
}

}  // namespace

Status record_forbidden_calls(const ForbiddenCalls& calls) {
  if (calls.file.size() >= sizeof about.file)
    return Error(Code::kInvalid, str("the path ", quote(calls.file), " is too long"));
  std::memcpy(about.file, calls.file.c_str(), calls.file.size() + 1);
  about.program = calls.program;
  about.phase = calls.phase;
  about.names = calls.names;
  about.place.file = about.file;
  struct sigaction action {};
  action.sa_sigaction = on_forbidden_call;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  if (::sigaction(SIGSYS, &action, nullptr) == 0) return {};
  return Error::from_errno(errno, "set the handler of SIGSYS");
}

void record_on_stderr_only() {
  about.place.on_stderr_only = true;
  record_crashes_on_stderr_only();
}

}  // namespace base
