// SPDX-License-Identifier: Apache-2.0
#include "vipu/process_controller.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/access.h"
#include "vipu/beside.h"
#include "vipu/dial.h"
#include "vipu/wire.h"
#include "vipu/wire_fields.h"

namespace vipu {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

// The client gets less time than there is, so that its own error, which says what it waited for,
// comes before it is killed. The margin is this much, or a quarter of a short time.
constexpr milliseconds kMargin(250);

// A controller may list a new partition a moment later.
constexpr milliseconds kListingTime(2000);
constexpr milliseconds kListingPause(100);
constexpr milliseconds kUndoTime(5000);
constexpr int kMostLooks = 3;  // for IPUs that others do not take meanwhile

constexpr mode_t kReadableByOthers = 044;

milliseconds client_time(const Deadline& deadline) {
  const milliseconds left = deadline.left();
  return left - std::min(kMargin, left / 4);
}

// A failure to run the client says nothing about the partition: only a timeout keeps its code.
Error not_run(const Error& error, milliseconds time) {
  if (error.code() != Code::kTimeout) return {Code::kInternal, error.message()};
  return {Code::kTimeout, str("ipu-vipu-client gave no answer within ", time.count(), " ms")};
}

// Somebody else's doing, which another attempt may escape. If the client asked for a partition, the
// code must not promise that none was made.
Error killed(wire::Call call) {
  const bool makes = call == wire::Call::kCreate || call == wire::Call::kSubmit;
  return {makes ? Code::kTimeout : Code::kUnavailable,
          "ipu-vipu-client was killed (SIGKILL) before it answered; try again, and see with dmesg"
          " whether memory is short"};
}

class ProcessController final : public Controller {
 public:
  explicit ProcessController(ClientOptions options) : options_(std::move(options)) {}

  Result<Grant> create(const PartitionRequest& request, const Deadline& deadline) override {
    Grant grant = TRY(make<Grant>(wire::Call::kCreate, request, deadline));
    TRY_CTX(describe(about(wire::Call::kCreate, request.id)), check(grant, request));
    return grant;
  }
  Status submit(const PartitionRequest& request, const Deadline& deadline) override {
    return done(make<wire::Done>(wire::Call::kSubmit, request, deadline));
  }
  Result<Grant> wait(const std::string& id, const Deadline& deadline) override {
    return ask<Grant>(about(wire::Call::kWait, id), deadline);
  }
  Result<std::vector<Partition>> list(const Deadline& deadline) override {
    return ask<std::vector<Partition>>(about(wire::Call::kList), deadline);
  }
  Result<PartitionStatus> status(const std::string& id, const Deadline& deadline) override {
    return ask<PartitionStatus>(about(wire::Call::kStatus, id), deadline);
  }
  Result<Grant> config(const std::string& id, std::optional<uint32_t> gcd,
                       const Deadline& deadline) override {
    wire::Request asked = about(wire::Call::kConfig, id);
    asked.gcd = gcd;
    const Grant grant = TRY(ask<Grant>(asked, deadline));
    if (!gcd || grant.gcds.size() == 1) return grant;
    return Error(Code::kInternal, str(describe(asked), ": it was given ", grant.gcds.size(),
                                      " GCDs for GCD ", *gcd));
  }
  Status reset(const std::string& id, Relocate relocate, const Deadline& deadline) override {
    wire::Request asked = about(wire::Call::kReset, id);
    asked.relocate = relocate;
    return done(ask<wire::Done>(asked, deadline));
  }
  Result<base::Removed> remove(const std::string& id, Force force,
                               const Deadline& deadline) override {
    wire::Request asked = about(wire::Call::kRemove, id);
    asked.force = force;
    return ask<base::Removed>(asked, deadline);
  }
  Result<Survey> survey(const Deadline& deadline) override {
    return ask<Survey>(about(wire::Call::kSurvey), deadline);
  }
  Result<std::vector<IpuAttributes>> attributes(const std::vector<std::string>& agents,
                                                const Deadline& deadline) override {
    wire::Request asked = about(wire::Call::kAttributes);
    asked.agents = agents;
    return ask<std::vector<IpuAttributes>>(asked, deadline);
  }
  Result<std::vector<std::string>> addresses(const Deadline& deadline) override {
    Result<std::vector<std::string>> all = look_up(deadline);
    if (all.ok()) return all;
    return std::move(all).error().wrap(describe(about(wire::Call::kResolve)));
  }
  Result<std::string> version(const Deadline& deadline) override {
    return ask<std::string>(about(wire::Call::kVersion), deadline);
  }

 private:
  static wire::Request about(wire::Call call, const std::string& id = "") {
    wire::Request asked;
    asked.call = call;
    asked.partition.id = id;
    return asked;
  }

  Result<wire::Request> making(wire::Call call, const PartitionRequest& request) const {
    wire::Request asked = about(call, request.id);
    if (!is_partition_name(request.id)) {
      return Error(Code::kInvalid, str(describe(asked), ": a partition's name is 1 to ",
                                       kMaxPartitionName, " characters of A-Z, a-z, 0-9, - and _"));
    }
    asked.partition = request;
    return asked;
  }

  // Names the IPUs of a request that leaves others to one that waits.
  Result<PartitionRequest> choose(const PartitionRequest& request, const Deadline& deadline) {
    if (!request.pinned) return request;
    const Result<Survey> seen = survey(deadline);
    if (!seen.ok()) {  // nothing is made
      const bool is_final = seen.error().code() == Code::kInvalid;
      return is_final ? seen.error() : Error(Code::kUnavailable, seen.error().message());
    }
    return TRY_CTX(describe(about(wire::Call::kCreate, request.id)),
                   choose_beside(request, seen.value()));
  }

  // A controller that refuses the IPUs that were named has no room for the request now.
  static Error refused(const PartitionRequest& named, const Error& error) {
    if (!named.pinned) return error;
    const Code code = error.code();
    if (code == Code::kInvalid || code == Code::kDenied) return {Code::kBusy, error.message()};
    if (code == Code::kBusy || code == Code::kExists || code == Code::kUnavailable) return error;
    return {Code::kTimeout, error.message()};
  }

  // Makes the partition. Of requests that name their IPUs at the same time, one gets them, and the
  // others look again.
  template <typename T>
  Result<T> make(wire::Call call, const PartitionRequest& request, const Deadline& deadline) {
    for (int looks = 1;; ++looks) {
      const PartitionRequest named = TRY(choose(request, deadline));
      const wire::Request asked = TRY(making(call, named));
      Result<T> made = ask<T>(asked, deadline);
      const bool is_taken = !made.ok() && made.error().code() == Code::kBusy;
      if (is_taken && named.pinned && looks < kMostLooks) continue;
      if (!made.ok()) return refused(named, made.error());
      TRY(check_place(named, deadline));
      return made;
    }
  }

  // Removes the partition again if it has other IPUs than were named. After an error other than
  // kBusy, it may exist.
  Status check_place(const PartitionRequest& named, const Deadline& deadline) {
    if (!named.pinned) return {};
    const auto may_exist = [](const Error& error) {
      return Error(Code::kTimeout, error.message());
    };
    const Deadline listing = deadline.capped(kListingTime);
    Status placed;
    do {
      if (!placed.ok()) base::sleep_for(kListingPause, listing);
      const Result<std::vector<Partition>> listed = list(deadline);
      if (!listed.ok()) return may_exist(listed.error());
      placed = check_chosen(named, listed.value());
      if (placed.ok()) return {};
    } while (placed.error().code() == Code::kNotFound && !listing.passed());
    if (placed.error().code() == Code::kNotFound) return may_exist(placed.error());
    const Result<base::Removed> removed = remove(named.id, Force::kYes, Deadline::after(kUndoTime));
    if (!removed.ok()) return may_exist(removed.error());
    return Error(Code::kBusy, placed.error().message());
  }

  // Checks that no IPU is granted twice.
  static Status check_distinct(const Grant& grant) {
    std::set<std::pair<std::string, uint32_t>> seen;
    for (const IpuofConfig& gcd : grant.gcds) {
      for (const IpuofDevice& device : gcd.devices) {
        if (seen.emplace(device.ip, device.device_id).second) continue;
        return Error(Code::kInternal, str("it was given IPU ", device.device_id, " of ",
                                          base::quote(device.ip), " twice"));
      }
    }
    return {};
  }

  // Checks that the grant matches the request.
  static Status check(const Grant& grant, const PartitionRequest& request) {
    size_t devices = 0;
    for (const IpuofConfig& gcd : grant.gcds) devices += gcd.devices.size();
    if (devices != request.size) {
      return Error(Code::kInternal,
                   str("it was given ", devices, " devices for ", request.size, " IPUs"));
    }
    if (request.gcds != 0 && grant.gcds.size() != request.gcds) {
      return Error(Code::kInternal,
                   str("it was given ", grant.gcds.size(), " GCDs and not ", request.gcds));
    }
    return {};
  }

  static Status done(Result<wire::Done> result) {
    if (!result.ok()) return std::move(result).error();
    return {};
  }

  std::string describe(const wire::Request& asked) const {
    const std::string& id = asked.partition.id;
    return str("V-IPU controller ", options_.endpoint.address, ": ", wire::name_of(asked.call),
               id.empty() ? "" : " ", id.empty() ? "" : base::quote(id));
  }

  // The program without TLS, which is ready sooner, is beside the other one.
  [[nodiscard]] std::string program_for(const Access& access) const {
    return access.tls ? options_.program : options_.program + "-plain";
  }

  // Checks that nobody else comes near the memory of a client that gets secrets.
  Status check_secrets(const Access& access) const {
    if (!has_secrets(access) || !options_.credentials) return {};
    TRY(options_.may_hold_secrets);
    struct stat program {};
    const std::string path = program_for(access);
    if (::stat(path.c_str(), &program) != 0) return {};  // running it reports why
    if (program.st_uid == 0 && (program.st_mode & kReadableByOthers) == 0) return {};
    return Error(Code::kDenied, str("others may trace ", base::quote(path), "; run 'chown root ",
                                    path, " && chmod 0711 ", path, "'"));
  }

  template <typename T>
  Result<T> ask(const wire::Request& request, const Deadline& deadline) {
    const std::string what = describe(request);
    base::log_step(base::LogLevel::kDebug, str(what, ": asks"));
    Result<T> answer = ask_client<T>(request, what, deadline);
    base::log_step(base::LogLevel::kDebug,
                   answer.ok() ? str(what, ": answered") : answer.error().message());
    return answer;
  }

  template <typename T>
  Result<T> ask_client(wire::Request request, const std::string& what, const Deadline& deadline) {
    request.access = TRY_CTX(what, read_access(options_.endpoint));
    TRY_CTX(what, check_secrets(request.access));
    request.timeout = client_time(deadline);
    Dialer dialer(options_.endpoint.address,
                  [this](const Deadline& limit) { return resolve(limit); });
    const base::Serve serve = [&](std::string_view question) {
      return dialer.answer(question, deadline);
    };
    const std::string reply = TRY_CTX(what, run_client(request, serve, deadline));
    Result<T> parsed = wire::parse_reply<T>(reply);
    if (!parsed.ok()) {
      return Error(parsed.error().code(),
                   str(what, ": ", without_secrets(parsed.error().message(), request.access)));
    }
    if constexpr (std::is_same_v<T, Grant>) {
      TRY_CTX(what, check_distinct(parsed.value()));
      parsed.value().controller_address = dialer.ipv4();
      parsed.value().controller_addresses = dialer.addresses();
    }
    return parsed;
  }

  Result<std::vector<std::string>> look_up(const Deadline& deadline) {
    const std::string host = split_host_and_port(options_.endpoint.address).host;
    if (wire::is_ip_address(host)) return std::vector<std::string>{host};
    return resolve(deadline);
  }

  // Returns the addresses of the controller's host, which a client of its own looks up.
  Result<std::vector<std::string>> resolve(const Deadline& deadline) {
    wire::Request asked = about(wire::Call::kResolve);
    asked.access.address = options_.endpoint.address;
    asked.timeout = client_time(deadline);
    const std::string reply = TRY(run_client(asked, {}, deadline));
    return TRY(wire::parse_reply<wire::Addresses>(reply)).all;
  }

  Result<std::string> run_client(const wire::Request& request, const base::Serve& serve,
                                 const Deadline& deadline) {
    const milliseconds time = deadline.left();
    if (time.count() == 0) return Error(Code::kTimeout, "no time left to ask");
    base::Command command;
    command.path = program_for(request.access);
    const bool asks_dns = request.call == wire::Call::kResolve;
    command.args = {"ipu-vipu-client",
                    std::string(asks_dns ? wire::kAskDns : wire::kAskForConnections)};
    command.input = wire::to_text(request);
    command.max_output = wire::kMaxReply;
    command.credentials = options_.credentials;
    command.serve = serve;
    const Result<base::Output> output = base::run(command, deadline);
    if (!output.ok()) return not_run(output.error(), time);
    // -1 means that another process reaped it, so only its reply shows the result.
    const int status = output.value().exit_status;
    if (status == 128 + SIGKILL) return killed(request.call);
    if (status != 0 && status != -1) {
      return Error(Code::kInternal, str(command.path.substr(command.path.rfind('/') + 1),
                                        " failed with ", exit_text(status)));
    }
    return output.value().out;
  }

  static std::string exit_text(int status) {
    if (status == 128 + SIGSYS) return "a forbidden system call (SIGSYS)";
    // It does not know what it is asked: this program waited while another version was installed.
    if (status == 2) return "exit status 2: another version was installed meanwhile; try again";
    return status > 128 ? str("signal ", status - 128) : str("exit status ", status);
  }

  ClientOptions options_;
};

}  // namespace

std::unique_ptr<Controller> make_process_controller(ClientOptions options) {
  return std::make_unique<ProcessController>(std::move(options));
}

}  // namespace vipu
