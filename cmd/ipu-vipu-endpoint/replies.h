// SPDX-License-Identifier: Apache-2.0
// What the endpoint answers to each call, from the facts of its partition alone. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include "vipu/answers.h"
#include "vipu/proto/virm.pb.h"

namespace endpoint {

// Fills REPLY, or returns NOT_FOUND for any partition but that of ANSWERS, and for a GCD that it
// does not have.
grpc::Status reply_to(const virmgrpc::ListPartitionsRequest& request, const vipu::Answers& answers,
                      virmgrpc::ListPartitionsReply& reply);
grpc::Status reply_to(const virmgrpc::GetPartitionStatusRequest& request,
                      const vipu::Answers& answers, virmgrpc::GetPartitionStatusReply& reply);
grpc::Status reply_to(const virmgrpc::GetPartitionIpuofConfigRequest& request,
                      const vipu::Answers& answers, virmgrpc::GetPartitionIpuofConfigReply& reply);

// The answer to a call that would change a partition. CALL: "reset a partition".
grpc::Status refusal(const char* call);

}  // namespace endpoint
