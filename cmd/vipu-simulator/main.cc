// SPDX-License-Identifier: Apache-2.0
// vipu-simulator: a V-IPU controller that speaks Graphcore's gRPC API over a model of an IPU-POD.
#include <grpc/support/log.h>
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

#include "base/text.h"
#include "cmd/vipu-simulator/endpoints.h"
#include "cmd/vipu-simulator/options.h"
#include "cmd/vipu-simulator/service.h"
#include "cmd/vipu-simulator/store.h"

namespace simulator {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;
using vipu::simulator::Model;

// How long open RPCs may go on after a signal.
constexpr std::chrono::milliseconds kShutdownTime(200);

std::string holder_of(const Store& store, uint32_t ipu) {
  const auto holder = store.read([&](const Model& model) { return model.holder_of(ipu); });
  return holder.value_or("none");
}

// Before any thread is made, so that all inherit it.
sigset_t block_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Serves until a signal of END comes.
Status serve(const Options& options, Store& store, const sigset_t& end) {
  UserService users(store);
  VersionService version;
  int port = 0;
  grpc::ServerBuilder builder;
  // A second simulator on the same port must fail, not take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(str(options.host, ":", options.port), grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&users);
  builder.RegisterService(&version);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return Error(Code::kBusy, str("cannot listen on ", options.host, ":", options.port));
  }
  std::printf("vipu-simulator: listening on %s:%d, %s, %u IPUs\n", options.host.c_str(), port,
              options.pod.name.c_str(), options.pod.ipus());
  (void)std::fflush(stdout);
  int signal = 0;
  (void)::sigwait(&end, &signal);
  server->Shutdown(std::chrono::system_clock::now() + kShutdownTime);
  return {};
}

Status run(const Options& options) {
  const sigset_t end = block_end_signals();
  const std::unique_ptr<Store> store = TRY(Store::open(
      Model(options.pod, options.create_delay, options.create_error), options.state_file));
  std::optional<EndpointServer> endpoints;
  if (options.endpoints == Endpoints::kYes) {
    endpoints.emplace(TRY(EndpointServer::open(options.pod, options.netns)));
    endpoints->start([&](uint32_t ipu) { return holder_of(*store, ipu); });
  }
  return serve(options, *store, end);
}

int fail(const Error& error, int exit_status) {
  std::fprintf(stderr, "vipu-simulator: %s\n", base::one_line(error.message(), 1000).c_str());
  return exit_status;
}

}  // namespace

int run_program(int argc, char** argv) {
  gpr_set_log_function([](gpr_log_func_args*) {});  // failures are reported here, in one line
  const Result<std::optional<Options>> options = parse_options(argc, argv);
  if (!options.ok()) return fail(options.error(), 2);
  if (!options.value().has_value()) return 0;
  const Status status = run(*options.value());
  return status.ok() ? 0 : fail(status.error(), 1);
}

}  // namespace simulator

int main(int argc, char** argv) { return simulator::run_program(argc, argv); }
