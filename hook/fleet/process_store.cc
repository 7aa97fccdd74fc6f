// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>

#include "base/names.h"
#include "hook/fleet/store.h"
#include "hook/fleet/wire/wire.h"
#include "vipu/access.h"
#include "vipu/dial.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using wire::Call;

// The client gets less time than there is, so that its own error comes before it is killed.
constexpr milliseconds kMargin(250);
constexpr mode_t kReadByOthers = 044;

milliseconds time_for_client(const Deadline& deadline) {
  const milliseconds left = deadline.left();
  return left - std::min(kMargin, left / 4);
}

std::string why_it_ended(int status) {
  if (status == 128 + SIGSYS) return "a forbidden system call (SIGSYS)";
  return status > 128 ? str("signal ", status - 128) : str("exit status ", status);
}

// The endpoint that served the last call of this process. It is asked first, so that a silent
// member costs one call its part of the time, and not each.
class ServedLast {
 public:
  static ServedLast& of_process() {
    static ServedLast last;
    return last;
  }
  void note(const std::string& endpoint) {
    const std::lock_guard<std::mutex> lock(mutex_);
    endpoint_ = endpoint;
  }
  // Lets ENDPOINTS begin with it, and go on in their order.
  void put_first(std::vector<std::string>& endpoints) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto last = std::find(endpoints.begin(), endpoints.end(), endpoint_);
    if (last != endpoints.end()) std::rotate(endpoints.begin(), last, endpoints.end());
  }

 private:
  std::mutex mutex_;
  std::string endpoint_;
};

class ProcessStore final : public Store {
 public:
  explicit ProcessStore(ProcessStoreOptions options) : options_(std::move(options)) {}

  Result<TxnResult> commit(const Txn& txn, const Deadline& deadline) override {
    if (txn.compares.size() + txn.puts.size() + txn.deletes.size() > kMaxOperations) {
      return Error(Code::kInvalid,
                   str("a transaction of the fleet has more than ", kMaxOperations, " parts"));
    }
    wire::Request asked = about(Call::kTxn);
    asked.txn = txn;
    return ask<TxnResult>(asked, deadline);
  }
  Result<Listing> list(const std::string& prefix, const Deadline& deadline) override {
    wire::Request asked = about(Call::kRange);
    asked.prefix = prefix;
    return ask<Listing>(asked, deadline);
  }
  Result<Changes> wait(const std::string& prefix, int64_t revision,
                       const Deadline& deadline) override {
    wire::Request asked = about(Call::kWatch);
    asked.prefix = prefix;
    asked.revision = revision;
    return ask<Changes>(asked, deadline);
  }
  Result<Lease> grant(uint32_t ttl_s, const Deadline& deadline) override {
    wire::Request asked = about(Call::kGrant);
    asked.ttl_s = ttl_s;
    return ask<Lease>(asked, deadline);
  }
  Result<Lease> keep(int64_t lease, const Deadline& deadline) override {
    wire::Request asked = about(Call::kKeepAlive);
    asked.lease = lease;
    return ask<Lease>(asked, deadline);
  }
  Status revoke(int64_t lease, const Deadline& deadline) override {
    wire::Request asked = about(Call::kRevoke);
    asked.lease = lease;
    TRY(ask<wire::Done>(asked, deadline));
    return {};
  }
  Result<std::vector<Member>> members(const Deadline& deadline) override {
    return ask<std::vector<Member>>(about(Call::kMembers), deadline);
  }

 private:
  static wire::Request about(Call call) {
    wire::Request asked;
    asked.call = call;
    return asked;
  }

  // Reads the files of the configuration.
  Result<wire::Access> read_secrets() const {
    const config::FleetConfig& fleet = options_.fleet;
    wire::Access access{fleet.endpoints};
    vipu::Endpoint files;
    if (!fleet.ca.empty()) {
      files.tls = vipu::TlsFiles{fleet.ca, fleet.certificate, fleet.key, fleet.server_name};
    }
    access.tls = TRY(vipu::read_access(files)).tls;
    if (fleet.user.empty()) return access;
    access.user = fleet.user;
    const std::string text = TRY(vipu::read_secret(fleet.password_file, wire::kMaxSecret));
    access.password = base::trim(text);
    if (access.password.empty()) {
      return Error(Code::kInvalid, str(quote(fleet.password_file), " has no password"));
    }
    return access;
  }

  // Checks that nobody else comes near the memory of a client that gets secrets.
  Status check_secrets(const wire::Access& access) const {
    const bool secret = !access.password.empty() || (access.tls && !access.tls->key.empty());
    if (!secret || !options_.credentials) return {};
    TRY(options_.may_hold_secrets);
    struct stat program {};
    if (::stat(options_.program.c_str(), &program) != 0) return {};  // running it reports why
    if (program.st_uid == 0 && (program.st_mode & kReadByOthers) == 0) return {};
    const std::string& path = options_.program;
    return Error(Code::kDenied, str("others may trace ", quote(path), "; run 'chown root ", path,
                                    " && chmod 0711 ", path, "'"));
  }

  template <typename T>
  Result<T> ask(wire::Request request, const Deadline& deadline) {
    const std::string what = str("fleet: ", wire::name_of(request.call));
    request.access = TRY_CTX(what, read_secrets());
    TRY_CTX(what, check_secrets(request.access));
    request.timeout = time_for_client(deadline);
    // How the members are is told in the order of the configuration.
    const bool is_for_one = request.call != Call::kMembers;
    if (is_for_one) ServedLast::of_process().put_first(request.access.endpoints);
    size_t asked = 0;
    const std::string reply = TRY_CTX(what, run(request, asked, deadline));
    Result<T> parsed = wire::parse_reply<T>(reply);
    if (parsed.ok() && is_for_one) ServedLast::of_process().note(request.access.endpoints[asked]);
    if (parsed.ok()) return parsed;
    // The member may have repeated what it was sent.
    vipu::Access secrets{"", request.access.tls, {}};
    if (!request.access.password.empty()) secrets.credentials["p"] = request.access.password;
    const std::string why = vipu::without_secrets(parsed.error().message(), secrets);
    return Error(parsed.error().code(), str(what, ": ", with_path_of_ca(why)));
  }

  // The client gets what is in a file and not its path, so it cannot say which file is wrong.
  std::string with_path_of_ca(std::string message) const {
    constexpr std::string_view kCa = "the configured CA";
    const size_t at = message.find(kCa);
    if (at == std::string::npos || options_.fleet.ca.empty()) return message;
    return message.replace(at, kCa.size(), str("the CA in ", quote(options_.fleet.ca)));
  }

  // Has the number of the endpoint that was asked last in ASKED.
  Result<std::string> run(const wire::Request& request, size_t& asked, const Deadline& deadline) {
    const milliseconds time = deadline.left();
    if (time.count() == 0) return Error(Code::kTimeout, "no time left to ask");
    base::Command command;
    command.path = options_.program;
    command.args = {"ipu-fleet-client"};
    command.input = wire::to_text(request);
    command.max_output = wire::kMaxReply;
    command.credentials = options_.credentials;
    command.serve = [&](std::string_view question) {
      return serve(question, request.access.endpoints, asked, deadline);
    };
    const Result<base::Output> output = base::run(command, deadline);
    if (!output.ok()) {
      if (output.error().code() != Code::kTimeout) {
        return Error(Code::kInternal, output.error().message());
      }
      return Error(Code::kTimeout,
                   str("ipu-fleet-client gave no answer within ", time.count(), " ms"));
    }
    // -1 means that another process reaped it, so only its reply shows the result.
    const int status = output.value().exit_status;
    if (status == 0 || status == -1) return output.value().out;
    // A transaction may have been carried out.
    const bool lost = request.call == Call::kTxn;
    return Error(lost ? Code::kTimeout : Code::kInternal,
                 str("ipu-fleet-client failed with ", why_it_ended(status)));
  }

  // Connects the client to one of the endpoints, and to nothing else.
  static base::Answer serve(std::string_view text, const std::vector<std::string>& endpoints,
                            size_t& asked, const Deadline& deadline) {
    const Result<wire::Question> question = wire::parse_question(text, endpoints.size());
    if (!question.ok()) return {{}, question.error().message()};
    asked = question.value().endpoint;
    const std::string& endpoint = endpoints[asked];
    const auto no_names = [&](const Deadline&) -> Result<std::vector<std::string>> {
      return Error(Code::kInvalid, str(quote(endpoint), " is not an address"));
    };
    vipu::Dialer dialer(endpoint, no_names);
    return dialer.answer(str(question.value().time.count()), deadline);
  }

  ProcessStoreOptions options_;
};

}  // namespace

std::unique_ptr<Store> make_process_store(ProcessStoreOptions options) {
  return std::make_unique<ProcessStore>(std::move(options));
}

}  // namespace hook::fleet
