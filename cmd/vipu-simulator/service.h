// SPDX-License-Identifier: Apache-2.0
// The gRPC services of a V-IPU controller over the model.
#pragma once

#include <grpcpp/grpcpp.h>

#include "cmd/vipu-simulator/store.h"
#include "vipu/proto/virm.grpc.pb.h"

namespace simulator {

class UserService final : public virmgrpc::UserService::Service {
 public:
  explicit UserService(Store& store) : store_(store) {}

  grpc::Status ListPartitions(grpc::ServerContext*, const virmgrpc::ListPartitionsRequest*,
                              virmgrpc::ListPartitionsReply*) override;
  grpc::Status ListIPUAttributes(grpc::ServerContext*, const virmgrpc::ListIPUAttributesRequest*,
                                 virmgrpc::ListIPUAttributesReply*) override;
  // One IPU-Link segment, IPUs of the model's choice: UNIMPLEMENTED for anything else.
  grpc::Status CreatePartition(grpc::ServerContext*, const virmgrpc::CreatePartitionRequest*,
                               virmgrpc::CreatePartitionReply*) override;
  grpc::Status RemovePartition(grpc::ServerContext*, const virmgrpc::RemovePartitionRequest*,
                               virmgrpc::RemovePartitionReply*) override;
  grpc::Status ResetPartition(grpc::ServerContext*, const virmgrpc::ResetPartitionRequest*,
                              virmgrpc::ResetPartitionReply*) override;
  grpc::Status GetPartitionIpuofConfig(grpc::ServerContext*,
                                       const virmgrpc::GetPartitionIpuofConfigRequest*,
                                       virmgrpc::GetPartitionIpuofConfigReply*) override;
  grpc::Status GetPartitionStatus(grpc::ServerContext*, const virmgrpc::GetPartitionStatusRequest*,
                                  virmgrpc::GetPartitionStatusReply*) override;

 private:
  Store& store_;
};

class VersionService final : public virmgrpc::VersionService::Service {
 public:
  grpc::Status GetVersion(grpc::ServerContext*, const virmgrpc::VersionRequest*,
                          virmgrpc::VersionReply*) override;
};

}  // namespace simulator
