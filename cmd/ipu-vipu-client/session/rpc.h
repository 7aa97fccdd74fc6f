// SPDX-License-Identifier: Apache-2.0
// The RPCs of the V-IPU protocol.
#pragma once

#include "cmd/common/rpc/transport/rpc_status.h"
#include "vipu/proto/virm.pb.h"

namespace client {

using transport::RpcStatus;
using transport::StatusCode;

// An RPC by its path.
template <typename Request, typename Reply>
struct Rpc {
  const char* path;
};

namespace rpc {

inline constexpr Rpc<virmgrpc::ListPartitionsRequest, virmgrpc::ListPartitionsReply>
    kListPartitions{"/virmgrpc.UserService/ListPartitions"};
inline constexpr Rpc<virmgrpc::ListIPUAttributesRequest, virmgrpc::ListIPUAttributesReply>
    kListIPUAttributes{"/virmgrpc.UserService/ListIPUAttributes"};
inline constexpr Rpc<virmgrpc::CreatePartitionRequest, virmgrpc::CreatePartitionReply>
    kCreatePartition{"/virmgrpc.UserService/CreatePartition"};
inline constexpr Rpc<virmgrpc::RemovePartitionRequest, virmgrpc::RemovePartitionReply>
    kRemovePartition{"/virmgrpc.UserService/RemovePartition"};
inline constexpr Rpc<virmgrpc::ResetPartitionRequest, virmgrpc::ResetPartitionReply>
    kResetPartition{"/virmgrpc.UserService/ResetPartition"};
inline constexpr Rpc<virmgrpc::GetPartitionIpuofConfigRequest,
                     virmgrpc::GetPartitionIpuofConfigReply>
    kGetPartitionIpuofConfig{"/virmgrpc.UserService/GetPartitionIpuofConfig"};
inline constexpr Rpc<virmgrpc::GetPartitionStatusRequest, virmgrpc::GetPartitionStatusReply>
    kGetPartitionStatus{"/virmgrpc.UserService/GetPartitionStatus"};
inline constexpr Rpc<virmgrpc::VersionRequest, virmgrpc::VersionReply> kGetVersion{
    "/virmgrpc.VersionService/GetVersion"};

}  // namespace rpc
}  // namespace client
