// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/server.h"

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace simulator {

using namespace base::names;
using std::chrono::milliseconds;

namespace {

constexpr int kMaxMessage = 1 << 20;
constexpr milliseconds kShutdownTime(200);  // for open calls when the program ends

Result<std::shared_ptr<grpc::ServerCredentials>> open_credentials(const Tls& tls) {
  constexpr size_t kMaxFile = size_t{1} << 20;
  if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      tls.client_ca.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                            : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  grpc::SslServerCredentialsOptions::PemKeyCertPair pair;
  pair.cert_chain = TRY(base::read_file(tls.certificate, kMaxFile));
  pair.private_key = TRY(base::read_file(tls.key, kMaxFile));
  options.pem_key_cert_pairs.push_back(std::move(pair));
  if (!tls.client_ca.empty())
    options.pem_root_certs = TRY(base::read_file(tls.client_ca, kMaxFile));
  return grpc::SslServerCredentials(options);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::open(const Options& options, Shared& shared) {
  std::shared_ptr<grpc::ServerCredentials> credentials = TRY(open_credentials(options.tls));
  std::unique_ptr<Server> server(new Server(options, shared, std::move(credentials)));
  TRY(server->start());
  return server;
}

Status Server::start() {
  int port = 0;
  grpc::ServerBuilder builder;
  // A second simulator on the same port must fail, not take half of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.AddListeningPort(str(host_, ":", port_), credentials_, &port);
  service_ = std::make_unique<Service>(shared_);
  builder.RegisterCallbackGenericService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    server_.reset();
    // gRPC does not report the reason.
    return Error(Code::kBusy,
                 str("listen on ", host_, ":", port_, ": the port is in use, or the address is not",
                     " of this host", is_tls_ ? ", or certificate and key do not match" : "",
                     "; give another with --listen"));
  }
  port_ = port;
  return {};
}

void Server::shut_down(milliseconds patience) {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_.reset();
  service_.reset();
}

Status Server::restart(milliseconds down) {
  std::unique_lock lock(mutex_);
  shut_down(milliseconds(0));
  if (stopped_.wait_for(lock, down, [&] { return is_stopping_; })) return {};
  return start();
}

void Server::stop() {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  stopped_.notify_all();
  shut_down(kShutdownTime);
}

}  // namespace simulator
