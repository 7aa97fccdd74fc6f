// SPDX-License-Identifier: Apache-2.0
#include "vipu/process_controller.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "vipu/wire.h"

namespace vipu {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using base::str;
using std::chrono::milliseconds;

// The client gets less time than there is, so that its own error, which says what it waited for,
// comes before it is ended: this much less, or a quarter of a short time.
constexpr milliseconds kMargin(250);

milliseconds client_time(const Deadline& deadline) {
  const milliseconds left = deadline.left();
  return left - std::min(kMargin, left / 4);
}

// A failure to run the client says nothing about the partition: only a timeout keeps its code.
Error not_run(const Error& error) {
  const Code code = error.code() == Code::kTimeout ? Code::kTimeout : Code::kInternal;
  return {code, error.message()};
}

class ProcessController final : public Controller {
 public:
  explicit ProcessController(ClientOptions options) : options_(std::move(options)) {}

  Result<Grant> create(const PartitionRequest& request, const Deadline& deadline) override {
    const Grant grant = TRY(ask<Grant>(wire::Call::kCreate, request, deadline));
    size_t devices = 0;
    for (const IpuofConfig& gcd : grant.gcds) devices += gcd.devices.size();
    if (devices == request.size) return grant;
    return Error(Code::kInternal, str(describe(wire::Call::kCreate, request.id), ": it was given ",
                                      devices, " devices for ", request.size, " IPUs"));
  }
  Result<std::vector<Partition>> list(const Deadline& deadline) override {
    return ask<std::vector<Partition>>(wire::Call::kList, {}, deadline);
  }
  Result<PartitionStatus> status(const std::string& id, const Deadline& deadline) override {
    return ask<PartitionStatus>(wire::Call::kStatus, named(id), deadline);
  }
  Result<std::vector<IpuofConfig>> config(const std::string& id,
                                          const Deadline& deadline) override {
    return ask<std::vector<IpuofConfig>>(wire::Call::kConfig, named(id), deadline);
  }
  Result<base::Removed> remove(const std::string& id, const Deadline& deadline) override {
    return ask<base::Removed>(wire::Call::kRemove, named(id), deadline);
  }
  Result<Capacity> capacity(const Deadline& deadline) override {
    return ask<Capacity>(wire::Call::kCapacity, {}, deadline);
  }
  Result<std::string> version(const Deadline& deadline) override {
    return ask<std::string>(wire::Call::kVersion, {}, deadline);
  }

 private:
  static PartitionRequest named(const std::string& id) {
    PartitionRequest request;
    request.id = id;
    return request;
  }

  std::string describe(wire::Call call, const std::string& id) const {
    const std::string of = id.empty() ? "" : " " + base::quote(id);
    return str("V-IPU controller ", options_.controller, ": ", wire::name_of(call), of);
  }

  template <typename T>
  Result<T> ask(wire::Call call, const PartitionRequest& partition, const Deadline& deadline) {
    const wire::Request request{options_.controller, client_time(deadline), call, partition};
    const std::string what = describe(call, partition.id);
    const std::string reply = TRY_CTX(what, run_client(wire::to_text(request), deadline));
    return TRY_CTX(what, wire::parse_reply<T>(reply));
  }

  Result<std::string> run_client(std::string input, const Deadline& deadline) {
    const milliseconds time = deadline.left();
    if (time.count() == 0) return Error(Code::kTimeout, "no time left to ask");
    base::Command command;
    command.path = options_.program;
    command.args = {"ipu-vipu-client"};
    command.input = std::move(input);
    command.max_output = wire::kMaxReply;
    command.credentials = options_.credentials;
    const Result<base::Output> output = base::run(command, deadline);
    if (!output.ok()) return not_run(output.error());
    // -1: it was reaped by another party, so only its reply can tell.
    const int status = output.value().exit_status;
    if (status != 0 && status != -1) {
      return Error(Code::kInternal, str("ipu-vipu-client failed with ", exit_text(status)));
    }
    return output.value().out;
  }

  static std::string exit_text(int status) {
    return status > 128 ? str("signal ", status - 128) : str("exit status ", status);
  }

  ClientOptions options_;
};

}  // namespace

std::unique_ptr<Controller> make_process_controller(ClientOptions options) {
  return std::make_unique<ProcessController>(std::move(options));
}

}  // namespace vipu
