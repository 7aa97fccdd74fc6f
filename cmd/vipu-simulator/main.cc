// SPDX-License-Identifier: Apache-2.0
// vipu-simulator: a V-IPU controller that speaks Graphcore's gRPC API over a model of an IPU-POD.
#include <grpc/support/log.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/fs.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/text.h"
#include "cmd/vipu-simulator/control.h"
#include "cmd/vipu-simulator/endpoints.h"
#include "cmd/vipu-simulator/listen.h"
#include "cmd/vipu-simulator/metrics.h"
#include "cmd/vipu-simulator/options.h"
#include "cmd/vipu-simulator/request_server.h"
#include "cmd/vipu-simulator/server.h"
#include "cmd/vipu-simulator/service.h"
#include "cmd/vipu-simulator/shared_model.h"

namespace simulator {
namespace {

using namespace base::names;
using base::Fd;
using vipu::simulator::FaultPlan;
using vipu::simulator::Model;
using vipu::simulator::Users;

constexpr size_t kMaxFile = size_t{1} << 20;

// Blocks the signals that end the program. Called before any thread starts, so that all threads
// inherit the mask.
sigset_t block_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Each of the 512 endpoints of a POD256 needs a descriptor, as does each client.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<FaultPlan> open_faults(const std::string& path) {
  if (path.empty()) return FaultPlan();
  const std::string text = TRY(base::read_file(path, kMaxFile));
  return TRY_CTX(str("--faults ", base::quote(path)), FaultPlan::parse(text));
}

Result<std::optional<Users>> open_users(const Options& options) {
  if (options.users_file.empty()) return std::optional<Users>();
  const std::string text = TRY(base::read_file(options.users_file, kMaxFile));
  return std::optional<Users>(
      TRY_CTX(str("--secure ", base::quote(options.users_file)), Users::parse(text, options.pod)));
}

Result<std::optional<EndpointServer>> open_endpoints(const Options& options) {
  if (options.endpoints == Endpoints::kNo) return std::optional<EndpointServer>();
  return std::optional<EndpointServer>(TRY(EndpointServer::open(options.pod, options.netns)));
}

// The sockets besides gRPC's. A socket that is not wanted is not valid.
struct Listeners {
  Fd control;
  Fd metrics;
};

Result<Listeners> open_listeners(const Options& options) {
  Listeners listeners;
  if (options.metrics.has_value()) {
    listeners.metrics =
        TRY_CTX("--metrics", listen_tcp(options.metrics->host, options.metrics->port));
  }
  if (!options.control_path.empty()) {
    listeners.control = TRY_CTX("--control", listen_unix(options.control_path));
  }
  return listeners;
}

Status say_ready(const Options& options, const Server& server, const Listeners& listeners) {
  std::string line = str("vipu-simulator: listening on ", options.listen.host, ":", server.port(),
                         ", ", options.pod.name, ", ", options.pod.ipus(), " IPUs");
  if (listeners.metrics.valid()) {
    const uint16_t port = TRY(port_of(listeners.metrics));
    line += str(", metrics on ", options.metrics->host, ":", port);
  }
  std::printf("%s\n", line.c_str());
  (void)std::fflush(stdout);
  return {};
}

// Serves until a signal of END comes.
Status serve(const Options& options, Shared& shared, Listeners listeners, const sigset_t& end) {
  const std::unique_ptr<Server> server = TRY(Server::open(options, shared));
  TRY(say_ready(options, *server, listeners));
  Control control(shared.store, shared.log, shared.faults, *server);
  std::optional<RequestServer> commands;
  if (listeners.control.valid()) {
    commands.emplace(std::move(listeners.control), RequestServer::Limits{"\n", Control::kMaxLine},
                     [&](std::string_view line) { return control.answer(line); });
  }
  std::optional<RequestServer> metrics;
  if (listeners.metrics.valid()) {
    constexpr size_t kMaxRequest = 8192;
    metrics.emplace(std::move(listeners.metrics), RequestServer::Limits{"\r\n\r\n", kMaxRequest},
                    [&](std::string_view request) {
                      return metrics_response(request, shared.store, shared.log);
                    });
  }
  int signal = 0;
  (void)::sigwait(&end, &signal);
  server->stop();
  return {};
}

Status run(const Options& options) {
  const sigset_t end = block_end_signals();
  raise_descriptor_limit();
  Faults faults;
  faults.replace(TRY(open_faults(options.faults_file)));
  std::optional<Users> users = TRY(open_users(options));
  const std::unique_ptr<CallLog> log = TRY(CallLog::open(options.log_file));
  const std::unique_ptr<SharedModel> store =
      TRY(SharedModel::open(Model(options.pod, options.settings), options.state_file,
                            [&](const vipu::simulator::Event& event) { log->add(event); }));
  std::optional<EndpointServer> endpoints = TRY(open_endpoints(options));
  Listeners listeners = TRY(open_listeners(options));
  const base::ScopeExit remove_socket([&] {
    if (!options.control_path.empty()) (void)base::remove_file(options.control_path);
  });
  if (endpoints.has_value()) {
    endpoints->start([&](uint32_t ipu) {
      return store->read([&](const Model& model) { return model.holder_of(ipu); });
    });
  }
  Shared shared{
      *store, *log, faults, std::move(users), {options.user_metadata, options.key_metadata}};
  return serve(options, shared, std::move(listeners), end);
}

int fail(const Error& error, int exit_status) {
  std::fprintf(stderr, "vipu-simulator: %s\n", base::one_line(error.message(), 1000).c_str());
  return exit_status;
}

}  // namespace

int run_program(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "control") return run_control(argc - 1, argv + 1);
  gpr_set_log_function([](gpr_log_func_args*) {});  // failures are reported here, in one line
  const Result<std::optional<Options>> options = parse_options(argc, argv);
  if (!options.ok()) return fail(options.error(), 2);
  if (!options.value().has_value()) return 0;
  const Status status = run(*options.value());
  return status.ok() ? 0 : fail(status.error(), 1);
}

}  // namespace simulator

int main(int argc, char** argv) { return simulator::run_program(argc, argv); }
