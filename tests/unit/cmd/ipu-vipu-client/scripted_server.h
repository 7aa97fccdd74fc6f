// SPDX-License-Identifier: Apache-2.0
// ScriptedServer: a V-IPU controller in this process, over a real gRPC port, that fails as it is
// told. It places nothing: it keeps what it is asked for.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vipu/proto/virm.grpc.pb.h"

namespace test {

// What the next call of an RPC does instead of simply working.
struct Fault {
  enum class When { kBefore, kAfter };  // its effect
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message = {};
  When when = When::kBefore;
  bool hang = false;     // gives no answer
  bool garbage = false;  // its answer cannot be parsed
};

class ScriptedServer final : private virmgrpc::UserService::Service,
                             private virmgrpc::VersionService::Service {
 public:
  struct Options {
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    int port = 0;  // 0: one that is free
  };

  ScriptedServer();
  explicit ScriptedServer(const Options& options);
  ~ScriptedServer() override;

  [[nodiscard]] std::string address() const;  // "127.0.0.1:PORT"
  [[nodiscard]] int port() const { return port_; }

  // The next calls of RPC, e.g. "CreatePartition", in this order; the call after them works.
  void script(const std::string& rpc, std::vector<Fault> faults);
  // All calls of RPC from now on.
  void always(const std::string& rpc, const Fault& fault);
  // The next statuses that are told of any partition; the last one stays.
  void script_status(std::vector<virmgrpc::PartitionStatus> statuses);

  // The partitions there are, and what a test may do to one behind the client's back.
  [[nodiscard]] std::vector<std::string> partitions();
  void add(const virmgrpc::Partition& partition);
  // Every new partition is listed, and read back, as CHANGE makes it.
  void set_create(std::function<void(virmgrpc::Partition&)> change);
  // Every configuration is told as CHANGE makes it.
  void set_config(std::function<void(virmgrpc::PartitionConfig&)> change);
  // CreatePartition tells that it made a partition of this name.
  void set_created_name(const std::string& name);
  // GetPartitionStatus tells the status of a partition of this name.
  void set_status_name(const std::string& name);
  // The next COUNT lists are empty; have every partition that was removed as well.
  void hide_from_lists(int count);
  void keep_listed(int count);
  // The next COUNT lists show each partition PENDING, and without its IPUs.
  void list_in_part(int count);

  // How often RPC was called.
  [[nodiscard]] int calls(const std::string& rpc);
  // Waits until it was called COUNT times; false after 10 s.
  [[nodiscard]] bool wait_for_calls(const std::string& rpc, int count);
  // Whether the last RemovePartition was by force.
  [[nodiscard]] bool forced();
  // What came as NAME with the last call of RPC; empty: nothing.
  [[nodiscard]] std::string metadata_of(const std::string& rpc, const std::string& name);

 private:
  using Context = grpc::ServerContext;
  grpc::Status ListPartitions(Context*, const virmgrpc::ListPartitionsRequest*,
                              virmgrpc::ListPartitionsReply*) override;
  grpc::Status ListIPUAttributes(Context*, const virmgrpc::ListIPUAttributesRequest*,
                                 virmgrpc::ListIPUAttributesReply*) override;
  grpc::Status CreatePartition(Context*, const virmgrpc::CreatePartitionRequest*,
                               virmgrpc::CreatePartitionReply*) override;
  grpc::Status RemovePartition(Context*, const virmgrpc::RemovePartitionRequest*,
                               virmgrpc::RemovePartitionReply*) override;
  grpc::Status ResetPartition(Context*, const virmgrpc::ResetPartitionRequest*,
                              virmgrpc::ResetPartitionReply*) override;
  grpc::Status GetPartitionIpuofConfig(Context*, const virmgrpc::GetPartitionIpuofConfigRequest*,
                                       virmgrpc::GetPartitionIpuofConfigReply*) override;
  grpc::Status GetPartitionStatus(Context*, const virmgrpc::GetPartitionStatusRequest*,
                                  virmgrpc::GetPartitionStatusReply*) override;
  grpc::Status GetVersion(Context*, const virmgrpc::VersionRequest*,
                          virmgrpc::VersionReply*) override;

  // Runs EFFECT as the script says for this call of RPC.
  grpc::Status run(const char* rpc, Context* context, const std::function<grpc::Status()>& effect,
                   const std::function<void()>& spoil = {});
  Fault next_fault(const std::string& rpc);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::map<std::string, std::deque<Fault>> faults_;
  std::map<std::string, Fault> always_;
  std::map<std::string, int> calls_;
  std::deque<virmgrpc::PartitionStatus> statuses_;
  std::map<std::string, virmgrpc::Partition> partitions_;
  std::function<void(virmgrpc::Partition&)> change_;
  std::function<void(virmgrpc::PartitionConfig&)> change_config_;
  std::string created_name_;
  std::string status_name_;
  int hidden_lists_ = 0;
  int stale_lists_ = 0;
  int partial_lists_ = 0;
  std::vector<virmgrpc::Partition> removed_;
  bool forced_ = false;
  std::map<std::string, std::map<std::string, std::string>> metadata_;  // by call
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace test
