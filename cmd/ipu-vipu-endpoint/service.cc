// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-endpoint/service.h"

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include "base/names.h"
#include "cmd/ipu-vipu-endpoint/replies.h"
#include "vipu/proto/virm.grpc.pb.h"

namespace endpoint {
namespace {

using namespace base::names;
using grpc::ServerContext;

constexpr int kMaxThreads = 4;                   // that carry out calls
constexpr size_t kMaxMemory = size_t{32} << 20;  // of gRPC's buffers, in bytes
constexpr int kMaxMessage = 16 << 10;            // far above any request, in bytes
constexpr int kMaxCalls = 8;                     // of one connection at a time
constexpr int kIdleMs = 60'000;
constexpr int kOldestMs = 3'600'000;  // of a connection
constexpr int kGraceMs = 5'000;

class Version final : public virmgrpc::VersionService::Service {
 public:
  explicit Version(const vipu::Answers& answers) : answers_(answers) {}
  grpc::Status GetVersion(ServerContext*, const virmgrpc::VersionRequest*,
                          virmgrpc::VersionReply* reply) override {
    reply->set_version(answers_.version);
    return grpc::Status::OK;
  }

 private:
  const vipu::Answers& answers_;
};

class User final : public virmgrpc::UserService::Service {
 public:
  explicit User(const vipu::Answers& answers) : answers_(answers) {}

  grpc::Status ListPartitions(ServerContext*, const virmgrpc::ListPartitionsRequest* request,
                              virmgrpc::ListPartitionsReply* reply) override {
    return reply_to(*request, answers_, *reply);
  }
  grpc::Status GetPartitionStatus(ServerContext*,
                                  const virmgrpc::GetPartitionStatusRequest* request,
                                  virmgrpc::GetPartitionStatusReply* reply) override {
    return reply_to(*request, answers_, *reply);
  }
  grpc::Status GetPartitionIpuofConfig(ServerContext*,
                                       const virmgrpc::GetPartitionIpuofConfigRequest* request,
                                       virmgrpc::GetPartitionIpuofConfigReply* reply) override {
    return reply_to(*request, answers_, *reply);
  }
  grpc::Status CreatePartition(ServerContext*, const virmgrpc::CreatePartitionRequest*,
                               virmgrpc::CreatePartitionReply*) override {
    return refusal("create a partition");
  }
  grpc::Status RemovePartition(ServerContext*, const virmgrpc::RemovePartitionRequest*,
                               virmgrpc::RemovePartitionReply*) override {
    return refusal("remove a partition");
  }
  grpc::Status ResetPartition(ServerContext*, const virmgrpc::ResetPartitionRequest*,
                              virmgrpc::ResetPartitionReply*) override {
    return refusal("reset a partition");
  }

 private:
  const vipu::Answers& answers_;
};

void set_limits(grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota;
  quota.Resize(kMaxMemory).SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(kMaxMessage);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCalls);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kOldestMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kGraceMs);
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, 1);
  builder.SetSyncServerOption(Option::MAX_POLLERS, 1);
}

}  // namespace

struct Server::State {
  explicit State(vipu::Answers facts) : answers(std::move(facts)) {}
  const vipu::Answers answers;
  const std::unique_ptr<grpc::Service> version = std::make_unique<Version>(answers);
  const std::unique_ptr<grpc::Service> user = std::make_unique<User>(answers);
  std::unique_ptr<grpc::Server> server = nullptr;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;
Server::~Server() = default;

Result<Server> Server::start(vipu::Answers answers) {
  auto state = std::make_unique<State>(std::move(answers));
  grpc::ServerBuilder builder;
  set_limits(builder);
  builder.RegisterService(state->version.get());
  builder.RegisterService(state->user.get());
  state->server = builder.BuildAndStart();
  if (state->server == nullptr) return Error(Code::kInternal, "gRPC did not start its server");
  return Server(std::move(state));
}

void Server::serve(int fd) { grpc::AddInsecureChannelFromFd(state_->server.get(), fd); }

}  // namespace endpoint
