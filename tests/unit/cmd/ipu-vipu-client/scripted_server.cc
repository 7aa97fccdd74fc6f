// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cmd/ipu-vipu-client/scripted_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <algorithm>

#include "base/text.h"

namespace test {
namespace {

using base::str;
using grpc::Status;
using grpc::StatusCode;

// Not UTF-8: what carries it is sent, and cannot be parsed.
constexpr const char* kGarbage = "\xFF\xFE";

Status not_found(const std::string& id) {
  return {StatusCode::NOT_FOUND, str("no partition '", id, "'")};
}

void fill_config(const virmgrpc::Partition& partition, virmgrpc::PartitionConfig* config) {
  config->set_reconfigurable(partition.spec().reconfigurable());
  const uint32_t gcds = std::max(1U, partition.spec().num_gcds());
  const uint32_t size = static_cast<uint32_t>(partition.spec().ipus_size());
  for (uint32_t gcd = 0; gcd < gcds; ++gcd) {
    virmgrpc::PartitionConfig::Gcd* of_gcd = config->add_gcd_configs();
    (*of_gcd->mutable_attributes())["GCD Id"] = std::to_string(gcd);
    for (uint32_t ipu = gcd * size / gcds; ipu < (gcd + 1) * size / gcds; ++ipu) {
      virmgrpc::IpuofDevice* device = of_gcd->add_devices();
      device->set_ip(str("10.5.1.", 1 + ipu / 4));
      device->set_server_port(50052);
      device->set_device_id(ipu % 4);
      device->set_routing_id(ipu);
    }
  }
}

virmgrpc::Partition partition_of(const virmgrpc::PartitionRequirements& wanted) {
  virmgrpc::Partition partition;
  partition.set_id(wanted.id());
  partition.set_ready_state(virmgrpc::PS_ACTIVE);
  virmgrpc::PartitionSpec* spec = partition.mutable_spec();
  spec->set_cluster_id("c0");
  spec->set_allocation_id(wanted.allocation_id());
  spec->set_num_gcds(std::max(1U, wanted.num_gcds()));
  spec->set_reconfigurable(wanted.reconfigurable());
  for (uint32_t i = 0; i < wanted.size(); ++i) spec->add_ipus()->set_topology_id(i);
  return partition;
}

}  // namespace

ScriptedServer::ScriptedServer() : ScriptedServer(Options()) {}

ScriptedServer::ScriptedServer(const Options& options) {
  grpc::ServerBuilder builder;
  // Of garbage and of handshakes that fail on purpose.
  google::protobuf::SetLogHandler(nullptr);
  gpr_set_log_function([](gpr_log_func_args*) {});
  builder.AddListeningPort(str("127.0.0.1:", options.port), options.credentials, &port_);
  builder.RegisterService(static_cast<virmgrpc::UserService::Service*>(this));
  builder.RegisterService(static_cast<virmgrpc::VersionService::Service*>(this));
  server_ = builder.BuildAndStart();
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

std::string ScriptedServer::address() const { return str("127.0.0.1:", port_); }

void ScriptedServer::script(const std::string& rpc, std::vector<Fault> faults) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_[rpc] = {faults.begin(), faults.end()};
}

void ScriptedServer::always(const std::string& rpc, const Fault& fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  always_[rpc] = fault;
}

void ScriptedServer::script_status(std::vector<virmgrpc::PartitionStatus> statuses) {
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_ = {statuses.begin(), statuses.end()};
}

std::vector<std::string> ScriptedServer::partitions() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, partition] : partitions_) names.push_back(name);
  return names;
}

void ScriptedServer::add(const virmgrpc::Partition& partition) {
  const std::lock_guard<std::mutex> lock(mutex_);
  partitions_[partition.id()] = partition;
}

void ScriptedServer::set_create(std::function<void(virmgrpc::Partition&)> change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  change_ = std::move(change);
}

void ScriptedServer::set_config(std::function<void(virmgrpc::PartitionConfig&)> change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  change_config_ = std::move(change);
}

void ScriptedServer::set_created_name(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  created_name_ = name;
}

void ScriptedServer::set_status_name(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  status_name_ = name;
}

void ScriptedServer::hide_from_lists(int count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  hidden_lists_ = count;
}

void ScriptedServer::keep_listed(int count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stale_lists_ = count;
}

void ScriptedServer::list_in_part(int count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  partial_lists_ = count;
}

bool ScriptedServer::wait_for_calls(const std::string& rpc, int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return calls_[rpc] >= count; });
}

bool ScriptedServer::forced() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return forced_;
}

int ScriptedServer::calls(const std::string& rpc) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return calls_[rpc];
}

std::string ScriptedServer::metadata_of(const std::string& rpc, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return metadata_[rpc][name];
}

Fault ScriptedServer::next_fault(const std::string& rpc) {
  ++calls_[rpc];
  changed_.notify_all();
  std::deque<Fault>& faults = faults_[rpc];
  if (faults.empty()) return always_[rpc];
  Fault fault = faults.front();
  faults.pop_front();
  return fault;
}

Status ScriptedServer::run(const char* rpc, Context* context, const std::function<Status()>& effect,
                           const std::function<void()>& spoil) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const auto& [name, value] : context->client_metadata()) {
    metadata_[rpc][std::string(name.data(), name.size())] = std::string(value.data(), value.size());
  }
  const Fault fault = next_fault(rpc);
  const bool fails = fault.hang || fault.code != StatusCode::OK;
  Status status;
  if (!fails || fault.when == Fault::When::kAfter) status = effect();
  while (fault.hang && !ending_ && !context->IsCancelled()) {
    changed_.wait_for(lock, std::chrono::milliseconds(10));
  }
  if (fault.garbage && spoil) spoil();
  return fails ? Status(fault.code, fault.message) : status;
}

Status ScriptedServer::ListPartitions(Context* context, const virmgrpc::ListPartitionsRequest*,
                                      virmgrpc::ListPartitionsReply* reply) {
  return run(
      "ListPartitions", context,
      [&] {
        if (hidden_lists_ > 0 && hidden_lists_-- > 0) return Status::OK;
        const bool in_part = !partitions_.empty() && partial_lists_ > 0 && partial_lists_-- > 0;
        for (const auto& [name, partition] : partitions_) {
          virmgrpc::Partition* const listed = reply->add_partitions();
          *listed = partition;
          if (!in_part) continue;
          listed->set_ready_state(virmgrpc::PS_PENDING);
          listed->clear_spec();
        }
        if (stale_lists_ == 0) return Status::OK;
        --stale_lists_;
        for (const auto& partition : removed_) *reply->add_partitions() = partition;
        return Status::OK;
      },
      [&] { reply->add_partitions()->set_id(kGarbage); });
}

Status ScriptedServer::ListIPUAttributes(Context* context,
                                         const virmgrpc::ListIPUAttributesRequest* request,
                                         virmgrpc::ListIPUAttributesReply* reply) {
  return run(
      "ListIPUAttributes", context,
      [&] {
        for (uint32_t machine = 0; machine < 4; ++machine) {
          const std::string agent = str("ag", machine);
          const auto& wanted = request->agents();
          if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), agent) == wanted.end()) {
            continue;
          }
          auto* entry = reply->add_entries();
          entry->set_agent(agent);
          for (uint32_t ipu = 0; ipu < 4; ++ipu) {
            auto& attributes = *(*entry->mutable_ipu_attributes())[ipu].mutable_attributes();
            attributes["board ipu index"] = std::to_string(ipu);
          }
        }
        return Status::OK;
      },
      [&] { reply->add_entries()->set_agent(kGarbage); });
}

Status ScriptedServer::CreatePartition(Context* context,
                                       const virmgrpc::CreatePartitionRequest* request,
                                       virmgrpc::CreatePartitionReply* reply) {
  return run(
      "CreatePartition", context,
      [&] {
        virmgrpc::Partition partition = partition_of(request->requirements());
        if (change_) change_(partition);
        if (!partitions_.emplace(partition.id(), partition).second) {
          return Status(StatusCode::ALREADY_EXISTS, str("'", partition.id(), "' exists"));
        }
        reply->set_partition_id(created_name_.empty() ? partition.id() : created_name_);
        return Status::OK;
      },
      [&] { reply->set_partition_id(kGarbage); });
}

Status ScriptedServer::RemovePartition(Context* context,
                                       const virmgrpc::RemovePartitionRequest* request,
                                       virmgrpc::RemovePartitionReply*) {
  return run("RemovePartition", context, [&] {
    const std::string& id = request->partition_id();
    forced_ = request->force();
    const auto at = partitions_.find(id);
    if (at == partitions_.end()) return not_found(id);
    removed_ = {at->second};
    partitions_.erase(at);
    return Status::OK;
  });
}

Status ScriptedServer::ResetPartition(Context* context,
                                      const virmgrpc::ResetPartitionRequest* request,
                                      virmgrpc::ResetPartitionReply*) {
  return run("ResetPartition", context, [&] {
    const std::string& id = request->partition_id();
    return partitions_.count(id) == 0 ? not_found(id) : Status::OK;
  });
}

Status ScriptedServer::GetPartitionIpuofConfig(
    Context* context, const virmgrpc::GetPartitionIpuofConfigRequest* request,
    virmgrpc::GetPartitionIpuofConfigReply* reply) {
  return run(
      "GetPartitionIpuofConfig", context,
      [&] {
        const auto at = partitions_.find(request->partition_id());
        if (at == partitions_.end()) return not_found(request->partition_id());
        virmgrpc::PartitionConfig all;
        fill_config(at->second, &all);
        if (change_config_) change_config_(all);
        if (!request->has_gcd_id()) {
          *reply->mutable_ipuof_config() = all;
          return Status::OK;
        }
        const int gcd = static_cast<int>(request->gcd_id().id());
        if (gcd >= all.gcd_configs_size()) return Status(StatusCode::NOT_FOUND, "no such GCD");
        *reply->mutable_ipuof_config()->add_gcd_configs() = all.gcd_configs(gcd);
        return Status::OK;
      },
      [&] { reply->mutable_ipuof_config()->set_ipuof_server_version(kGarbage); });
}

Status ScriptedServer::GetPartitionStatus(Context* context,
                                          const virmgrpc::GetPartitionStatusRequest* request,
                                          virmgrpc::GetPartitionStatusReply* reply) {
  return run(
      "GetPartitionStatus", context,
      [&] {
        const std::string& id = request->partition_id();
        const auto at = partitions_.find(id);
        if (at == partitions_.end()) return not_found(id);
        virmgrpc::PartitionStatus* status = reply->mutable_status();
        status->set_ready_state(at->second.ready_state());
        status->set_operation_state(virmgrpc::POS_IDLE);
        if (!statuses_.empty()) *status = statuses_.front();
        if (statuses_.size() > 1) statuses_.pop_front();
        status->set_partition_id(status_name_.empty() ? id : status_name_);
        return Status::OK;
      },
      [&] { reply->mutable_status()->set_partition_id(kGarbage); });
}

Status ScriptedServer::GetVersion(Context* context, const virmgrpc::VersionRequest*,
                                  virmgrpc::VersionReply* reply) {
  return run(
      "GetVersion", context,
      [&] {
        reply->set_version("1.18.0");
        return Status::OK;
      },
      [&] { reply->set_version(kGarbage); });
}

}  // namespace test
