// SPDX-License-Identifier: Apache-2.0
// Stands in for poprun in a container: it asks a V-IPU controller what poprun asks, and starts a
// rank for each GCD with the variables that poprun gives it.
//   launcher run HOST:PORT PARTITION INSTANCES    runs so many ranks; fails if one fails
//   launcher call HOST:PORT METHOD PARTITION      prints the status of one call
// A rank does what Poplar does: it asks for the configuration of its GCD, and connects to its IPUs.
#include <arpa/inet.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "vipu/proto/virm.grpc.pb.h"

namespace {

using virmgrpc::UserService;

std::shared_ptr<grpc::Channel> channel_to(const std::string& server) {
  return grpc::CreateChannel(server, grpc::InsecureChannelCredentials());
}

// Every call has the patience of poprun's ranks.
struct Context : grpc::ClientContext {
  Context() { set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10)); }
};

int fail(const std::string& what, const grpc::Status& status) {
  std::printf("%s: %d %s\n", what.c_str(), status.error_code(), status.error_message().c_str());
  return 1;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the line with which a simulated IPU greets.
std::string greeting(const virmgrpc::IpuofDevice& device) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(device.server_port()));
  (void)::inet_pton(AF_INET, device.ip().c_str(), &address.sin_addr);
  std::array<char, 256> text{};
  const bool connected =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const ssize_t got = connected ? ::recv(fd, text.data(), text.size() - 1, 0) : -1;
  (void)::close(fd);
  return got > 0 ? std::string(text.data()) : "";
}

// What one process of the application does, by its variables alone.
int run_rank() {
  const std::string server =
      variable("IPUOF_VIPU_API_HOST") + ":" + variable("IPUOF_VIPU_API_PORT");
  const std::string partition = variable("IPUOF_VIPU_API_PARTITION_ID");
  const std::string gcd = variable("IPUOF_VIPU_API_GCD_ID");
  const auto users = UserService::NewStub(channel_to(server));
  virmgrpc::GetPartitionIpuofConfigRequest request;
  request.set_partition_id(partition);
  request.mutable_gcd_id()->set_id(static_cast<uint32_t>(std::atoi(gcd.c_str())));
  virmgrpc::GetPartitionIpuofConfigReply reply;
  Context context;
  const grpc::Status status = users->GetPartitionIpuofConfig(&context, request, &reply);
  if (!status.ok()) return fail("rank of GCD " + gcd, status);
  if (reply.ipuof_config().gcd_configs_size() != 1) return 1;
  const auto& config = reply.ipuof_config().gcd_configs(0);
  int reached = 0;
  for (const virmgrpc::IpuofDevice& device : config.devices()) {
    if (greeting(device).find("partition " + partition) != std::string::npos) ++reached;
  }
  std::printf("rank of GCD %s: GCD Id %s, %d of %d IPUs\n", gcd.c_str(),
              config.attributes().at("GCD Id").c_str(), reached, config.devices_size());
  return reached == config.devices_size() ? 0 : 1;
}

int start_rank(const std::string& host, const std::string& port, const std::string& partition,
               int rank) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::setenv("IPUOF_VIPU_API_HOST", host.c_str(), 1);
    (void)::setenv("IPUOF_VIPU_API_PORT", port.c_str(), 1);
    (void)::setenv("IPUOF_VIPU_API_PARTITION_ID", partition.c_str(), 1);
    (void)::setenv("IPUOF_VIPU_API_GCD_ID", std::to_string(rank).c_str(), 1);
    (void)::setenv("IPUOF_VIPU_API_TIMEOUT", "120", 1);
    (void)::setenv("POPDIST_LOCAL_INSTANCE_INDEX", std::to_string(rank).c_str(), 1);
    (void)::execl("/proc/self/exe", "launcher", "rank", nullptr);
    ::_exit(127);
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// Checks that the controller has the partition, ACTIVE and with so many GCDs.
int check_partition(const std::string& server, const std::string& partition, int instances) {
  const auto channel = channel_to(server);
  const auto users = UserService::NewStub(channel);
  virmgrpc::VersionReply version;
  Context asked;
  grpc::Status status =
      virmgrpc::VersionService::NewStub(channel)->GetVersion(&asked, {}, &version);
  if (!status.ok()) return fail("version", status);
  std::printf("server version %s\n", version.version().c_str());
  virmgrpc::ListPartitionsReply listed;
  Context listing;
  status = users->ListPartitions(&listing, {}, &listed);
  if (!status.ok()) return fail("list", status);
  bool found = false;
  for (const virmgrpc::Partition& one : listed.partitions()) {
    std::printf("partition %s: %d IPUs in %u GCDs\n", one.id().c_str(), one.spec().ipus_size(),
                one.spec().num_gcds());
    found = found ||
            (one.id() == partition && one.spec().num_gcds() == static_cast<uint32_t>(instances));
  }
  if (!found) return 1;
  virmgrpc::GetPartitionStatusRequest request;
  request.set_partition_id(partition);
  virmgrpc::GetPartitionStatusReply state;
  Context context;
  status = users->GetPartitionStatus(&context, request, &state);
  if (!status.ok()) return fail("status", status);
  return state.status().ready_state() == virmgrpc::PS_ACTIVE ? 0 : 1;
}

int run(const std::string& server, const std::string& partition, int instances) {
  if (check_partition(server, partition, instances) != 0) return 1;
  const size_t colon = server.rfind(':');
  int failed = 0;
  for (int rank = 0; rank < instances; ++rank) {
    failed |= start_rank(server.substr(0, colon), server.substr(colon + 1), partition, rank);
  }
  return failed;
}

template <typename Request, typename Reply>
grpc::Status ask(const std::string& server, Request request,
                 grpc::Status (UserService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Reply*),
                 std::string& answer) {
  const auto users = UserService::NewStub(channel_to(server));
  Context context;
  Reply reply;
  const grpc::Status status = (users.get()->*method)(&context, request, &reply);
  answer = reply.ShortDebugString();
  return status;
}

template <typename Request>
Request about(const std::string& partition) {
  Request request;
  request.set_partition_id(partition);
  return request;
}

int call(const std::string& server, const std::string& method, const std::string& partition) {
  using Users = UserService::Stub;
  grpc::Status status(grpc::StatusCode::UNIMPLEMENTED, "no such method");
  std::string answer;
  if (method == "list") {
    status = ask(server, virmgrpc::ListPartitionsRequest(), &Users::ListPartitions, answer);
  } else if (method == "status") {
    status = ask(server, about<virmgrpc::GetPartitionStatusRequest>(partition),
                 &Users::GetPartitionStatus, answer);
  } else if (method == "config") {
    status = ask(server, about<virmgrpc::GetPartitionIpuofConfigRequest>(partition),
                 &Users::GetPartitionIpuofConfig, answer);
  } else if (method == "reset") {
    status = ask(server, about<virmgrpc::ResetPartitionRequest>(partition), &Users::ResetPartition,
                 answer);
  } else if (method == "remove") {
    status = ask(server, about<virmgrpc::RemovePartitionRequest>(partition),
                 &Users::RemovePartition, answer);
  } else if (method == "create") {
    virmgrpc::CreatePartitionRequest request;
    request.mutable_requirements()->set_id(partition);
    request.mutable_requirements()->set_size(1);
    status = ask(server, request, &Users::CreatePartition, answer);
  } else if (method == "attributes") {
    status = ask(server, virmgrpc::ListIPUAttributesRequest(), &Users::ListIPUAttributes, answer);
  }
  std::printf("%d %s %s\n", status.error_code(), status.error_message().c_str(), answer.c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() == 1 && args[0] == "rank") return run_rank();
  if (args.size() == 4 && args[0] == "run")
    return run(args[1], args[2], std::atoi(args[3].c_str()));
  if (args.size() == 4 && args[0] == "call") return call(args[1], args[2], args[3]);
  (void)std::fputs("usage: launcher run|call HOST:PORT ...\n", stderr);
  return 2;
}
