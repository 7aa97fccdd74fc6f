// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/call_log.h"

#include <fcntl.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/vipu-simulator/model/faults.h"

namespace simulator {

using base::Json;
using base::Result;
using vipu::simulator::Event;

namespace {
constexpr size_t kMaxName = 100;  // for each text from a client
}

Result<std::unique_ptr<CallLog>> CallLog::open(const std::string& path) {
  base::Fd file;
  if (!path.empty()) {
    file = TRY(base::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0640));
  }
  std::unique_ptr<CallLog> log(new CallLog(std::move(file)));
  log->write(base::to_text(Json{{"time", base::unix_millis()}, {"event", "start"}}));
  return log;
}

void CallLog::add(const EndedCall& call) {
  const std::string method = base::one_line(call.method, kMaxName);
  Json line{{"time", base::unix_millis()},
            {"method", method},
            {"partition", base::one_line(call.partition, kMaxName)},
            {"status", call.status},
            {"ms", call.time.count()}};
  if (!call.fault.empty()) line["fault"] = call.fault;
  if (!call.user.empty()) line["user"] = base::one_line(call.user, kMaxName);
  const std::lock_guard lock(mutex_);
  // Clients must not be able to fill the memory with names.
  const std::string counted = vipu::simulator::is_call(method) ? method : "unknown";
  ++counts_[counted][call.status];
  write(base::to_text(line));
}

void CallLog::add(const Event& event) {
  const Json line{{"time", base::unix_millis()},
                  {"event", event.kind == Event::Kind::kHold ? "hold" : "free"},
                  {"partition", event.partition},
                  {"ipus", event.ipus}};
  const std::lock_guard lock(mutex_);
  write(base::to_text(line));
}

void CallLog::write(const std::string& line) {
  if (file_.valid()) (void)base::write_all(file_.get(), line + "\n", "log");
}

CallLog::Counts CallLog::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace simulator
