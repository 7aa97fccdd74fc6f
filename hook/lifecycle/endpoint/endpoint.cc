// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/endpoint/endpoint.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fs.h"
#include "base/names.h"
#include "base/resident.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/client_user.h"
#include "hook/lifecycle/recording.h"
#include "netns/listen.h"

namespace hook::lifecycle::endpoint {
namespace {

using namespace base::names;
using base::Fd;
using base::ProcessId;
using std::chrono::milliseconds;

constexpr milliseconds kStartTime{5000};
constexpr milliseconds kEndTime{2000};
constexpr milliseconds kRecordPause{20};

std::string answers_path(const Env& env, const ledger::Lease& lease) {
  return str(inject::lease_dir(env.run_dir, lease.id), "/", plan::kAnswersFile);
}

// Returns a descriptor that says when PROCESS ends.
Result<Fd> watch_process(const ProcessId& process) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0U)));
  if (!fd.valid()) return Error::from_errno(errno, "watch the container's first process");
  if (base::is_running(process)) return fd;
  return Error(Code::kNotFound, str("process ", process.pid, " of the container has ended"));
}

Result<Fd> listen_in_container(const ledger::Lease& lease, const ProcessId& init) {
  const netns::Namespace target = TRY(netns::Namespace::of_process(init.pid));
  if (target.identity() != lease.netns) {  // another process has the pid by now
    return Error(Code::kNotFound, str("container ", lease.container, " has ended"));
  }
  const netns::Address address = TRY(netns::parse_address(plan::kEndpointAddress));
  Result<Fd> listener = netns::listen_in(target, address, plan::kEndpointPort);
  if (listener.ok() || listener.error().sys_errno() != EADDRINUSE) return listener;
  return Error(Code::kExists,
               str("port ", plan::kEndpointPort, " of ", plan::kEndpointAddress,
                   " is in use in the container's network, so its V-IPU endpoint cannot listen;"
                   " another container of this network may have one: leave out"
                   " IPU_VIPU_ENDPOINT=1"));
}

Status start(Env& env, const ledger::Lease& lease, const ProcessId& init, const Fd& answers,
             const Deadline& deadline) {
  const Fd container = TRY(watch_process(init));
  const Fd listener = TRY(listen_in_container(lease, init));
  const base::Resident program{env.endpoint_program,
                               {"ipu-vipu-endpoint"},
                               answers.get(),
                               {listener.get(), container.get()},
                               endpoint_user().credentials};
  const auto record = [&](const ProcessId& process) {
    return env.ledger.endpoints().record(lease.id, process);
  };
  return base::start_resident(program, record, deadline.capped(kStartTime));
}

}  // namespace

Result<vipu::Answers> ask_answers(vipu::Controller& controller, const ledger::Lease& lease,
                                  const std::vector<vipu::IpuofConfig>& gcds,
                                  const Deadline& deadline) {
  vipu::Answers answers;
  answers.version = TRY(controller.version(deadline));
  const std::vector<vipu::Partition> listed = TRY(controller.list(deadline));
  const auto own = std::find_if(listed.begin(), listed.end(), [&](const vipu::Partition& one) {
    return one.id == lease.partition;
  });
  if (own == listed.end()) {
    return Error(Code::kNotFound, str("the controller does not list partition ",
                                      quote(lease.partition), " for its V-IPU endpoint"));
  }
  if (std::max(1U, own->gcds) != gcds.size()) {
    return Error(Code::kUnsupported,
                 str("partition ", quote(lease.partition), " has ", own->gcds,
                     " GCDs, but the"
                     " container has ",
                     gcds.size(), "; for IPU_VIPU_ENDPOINT=1 give IPU_GCD=all"));
  }
  answers.partition = *own;
  answers.gcds = gcds;
  return answers;
}

Status start_endpoint(Env& env, const ledger::Lease& lease, const ProcessId& init,
                      const Deadline& deadline) {
  Result<Fd> opened = base::open_at(AT_FDCWD, answers_path(env, lease), O_RDONLY | O_NOFOLLOW);
  if (!opened.ok() && opened.error().code() == Code::kNotFound) return {};
  const Fd answers = TRY(std::move(opened));
  return recorded(
      env.ledger, lease.id, ledger::EventKind::kKernel,
      str("V-IPU endpoint on ", plan::kEndpointAddress, ":", plan::kEndpointPort),
      [&] { return start(env, lease, init, answers, deadline); },
      [](const auto&) { return "there"; });
}

Status replace_answers(Env& env, vipu::Controller& controller, const ledger::Lease& lease,
                       const std::vector<vipu::IpuofConfig>& gcds, const Deadline& deadline) {
  if (::access(answers_path(env, lease).c_str(), F_OK) != 0) return {};  // it asked for none
  const vipu::Answers answers = TRY(ask_answers(controller, lease, gcds, deadline));
  TRY(inject::put_lease_file(env.run_dir, lease.id, plan::kAnswersFile, vipu::to_text(answers)));
  // An endpoint that is being revived with the old answers has the port before it is recorded.
  for (const Deadline limit = deadline.capped(kEndTime);; base::sleep_for(kRecordPause, limit)) {
    TRY(end_endpoint(env, lease, deadline));
    Status started = start_endpoint(env, lease, lease.owner, deadline);
    if (started.ok() || started.error().code() != Code::kExists || limit.passed()) return started;
  }
}

Result<netns::Presence> find_endpoint(Env& env, const ledger::Lease& lease, const Deadline&) {
  const std::optional<ProcessId> process = TRY(env.ledger.endpoints().find(lease.id));
  const bool runs = process && base::is_running(*process);
  return runs ? netns::Presence::kThere : netns::Presence::kGone;
}

Status end_endpoint(Env& env, const ledger::Lease& lease, const Deadline& deadline) {
  const std::optional<ProcessId> process = TRY(env.ledger.endpoints().find(lease.id));
  if (!process) return {};
  TRY_CTX("end the V-IPU endpoint", base::end_resident(*process, deadline.capped(kEndTime)));
  return env.ledger.endpoints().forget(lease.id, *process);
}

}  // namespace hook::lifecycle::endpoint
