// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulator_client.h"

#include <grpcpp/generic/generic_stub.h>

#include "base/clock.h"

namespace test {

using base::Deadline;
using std::chrono::milliseconds;

namespace {

std::shared_ptr<grpc::Channel> open_channel(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Channels to one address share a connection otherwise, and its backoff.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace

SimulatorClient::SimulatorClient(const std::string& address, Metadata metadata,
                                 const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : metadata_(std::move(metadata)),
      channel_(open_channel(address, credentials)),
      users_(virmgrpc::UserService::NewStub(channel_)),
      versions_(virmgrpc::VersionService::NewStub(channel_)) {}

void SimulatorClient::prepare(grpc::ClientContext& context) const {
  context.set_deadline(std::chrono::system_clock::now() + patience_);
  for (const auto& [key, value] : metadata_) context.AddMetadata(key, value);
}

Said<virmgrpc::CreatePartitionReply> SimulatorClient::create(
    const virmgrpc::CreatePartitionRequest& request) {
  return call(&Users::CreatePartition, request);
}

Said<virmgrpc::CreatePartitionReply> SimulatorClient::create(const std::string& id, uint32_t size) {
  virmgrpc::CreatePartitionRequest request;
  request.mutable_requirements()->set_id(id);
  request.mutable_requirements()->set_size(size);
  return create(request);
}

Said<virmgrpc::RemovePartitionReply> SimulatorClient::remove(const std::string& id, bool force) {
  virmgrpc::RemovePartitionRequest request;
  request.set_partition_id(id);
  request.set_force(force);
  return call(&Users::RemovePartition, request);
}

Said<virmgrpc::ResetPartitionReply> SimulatorClient::reset(const std::string& id,
                                                           bool relocatable) {
  virmgrpc::ResetPartitionRequest request;
  request.set_partition_id(id);
  request.set_relocatable(relocatable);
  return call(&Users::ResetPartition, request);
}

Said<virmgrpc::GetPartitionStatusReply> SimulatorClient::status(const std::string& id) {
  virmgrpc::GetPartitionStatusRequest request;
  request.set_partition_id(id);
  return call(&Users::GetPartitionStatus, request);
}

Said<virmgrpc::GetPartitionIpuofConfigReply> SimulatorClient::config(const std::string& id) {
  virmgrpc::GetPartitionIpuofConfigRequest request;
  request.set_partition_id(id);
  return call(&Users::GetPartitionIpuofConfig, request);
}

Said<virmgrpc::ListPartitionsReply> SimulatorClient::list(const std::string& allocation) {
  virmgrpc::ListPartitionsRequest request;
  request.set_allocation_id(allocation);
  return call(&Users::ListPartitions, request);
}

Said<virmgrpc::VersionReply> SimulatorClient::version() {
  grpc::ClientContext context;
  prepare(context);
  Said<virmgrpc::VersionReply> said;
  said.status = versions_->GetVersion(&context, virmgrpc::VersionRequest(), &said.reply);
  return said;
}

bool SimulatorClient::reaches(const std::string& id, virmgrpc::PartitionReadyState state) {
  const Deadline deadline = Deadline::after(milliseconds(10'000));
  while (!deadline.passed()) {
    if (status(id).reply.status().ready_state() == state) return true;
    base::sleep_for(milliseconds(2), deadline);
  }
  return false;
}

grpc::Status SimulatorClient::raw(const std::string& method, const std::string& request) {
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  prepare(context);
  grpc::CompletionQueue queue;
  const grpc::Slice slice(request);
  const auto rpc = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  rpc->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  rpc->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  (void)queue.Next(&tag, &ok);  // within the deadline of the call
  return status;
}

}  // namespace test
