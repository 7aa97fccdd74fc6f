// SPDX-License-Identifier: Apache-2.0
// SimulatorClient: the gRPC API of a running vipu-simulator, for tests.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "vipu/proto/virm.grpc.pb.h"

namespace test {

template <typename Reply>
struct Said {
  grpc::Status status;
  Reply reply = {};
  [[nodiscard]] grpc::StatusCode code() const { return status.error_code(); }
};

class SimulatorClient {
 public:
  using Users = virmgrpc::UserService::Stub;
  using Metadata = std::map<std::string, std::string>;

  // At ADDRESS, "127.0.0.1:PORT"; METADATA goes with every call.
  explicit SimulatorClient(const std::string& address, Metadata metadata = {},
                           const std::shared_ptr<grpc::ChannelCredentials>& credentials =
                               grpc::InsecureChannelCredentials());

  // Every call ends in so much time; 10 s at first.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  template <typename Request, typename Reply>
  Said<Reply> call(grpc::Status (Users::*method)(grpc::ClientContext*, const Request&, Reply*),
                   const Request& request) {
    grpc::ClientContext context;
    prepare(context);
    Said<Reply> said;
    said.status = (users_.get()->*method)(&context, request, &said.reply);
    return said;
  }

  Said<virmgrpc::CreatePartitionReply> create(const virmgrpc::CreatePartitionRequest& request);
  Said<virmgrpc::CreatePartitionReply> create(const std::string& id, uint32_t size);
  Said<virmgrpc::RemovePartitionReply> remove(const std::string& id, bool force = false);
  Said<virmgrpc::ResetPartitionReply> reset(const std::string& id, bool relocatable = false);
  Said<virmgrpc::GetPartitionStatusReply> status(const std::string& id);
  Said<virmgrpc::GetPartitionIpuofConfigReply> config(const std::string& id);
  Said<virmgrpc::ListPartitionsReply> list(const std::string& allocation = "");
  Said<virmgrpc::VersionReply> version();
  // Whether the partition gets into STATE within 10 s.
  bool reaches(const std::string& id, virmgrpc::PartitionReadyState state);
  // What METHOD, "/service/name", answers to REQUEST, whatever these are.
  grpc::Status raw(const std::string& method, const std::string& request);

 private:
  void prepare(grpc::ClientContext& context) const;

  std::chrono::milliseconds patience_{10'000};
  Metadata metadata_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Users> users_;
  std::unique_ptr<virmgrpc::VersionService::Stub> versions_;
};

}  // namespace test
