// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/methods.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/vipu-simulator/messages.h"
#include "vipu/proto/virm.pb.h"

namespace simulator {
namespace {

using namespace base::names;
using vipu::simulator::Access;
using vipu::simulator::Model;
using vipu::simulator::Quirks;
using vipu::simulator::Record;

grpc::StatusCode to_grpc(Code code) {
  switch (code) {
    case Code::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case Code::kDenied:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Code::kBusy:
      return grpc::StatusCode::FAILED_PRECONDITION;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

grpc::Status to_grpc(const Error& error) { return {to_grpc(error.code()), error.message()}; }

grpc::Status to_grpc(const Status& status) {
  return status.ok() ? grpc::Status::OK : to_grpc(status.error());
}

// Returns the status that a quirk has in place of STATUS; kUnavailable comes from quirks alone.
grpc::Status to_grpc(const Status& status, Code replaced, const std::optional<int>& quirk) {
  if (status.ok() || status.error().code() != replaced || !quirk) return to_grpc(status);
  return {static_cast<grpc::StatusCode>(*quirk), status.error().message()};
}

Error not_yours(std::string_view what, const std::string& name) {
  return {Code::kDenied, str(what, " ", base::quote(name), " is not yours")};
}

base::Result<const Record*> find(const Model& model, const Access& access, const std::string& id) {
  const Record* record = TRY(model.find(id));
  if (!model.can_be_seen(*record)) {
    return Error(Code::kNotFound, str("no partition ", base::quote(id)));
  }
  if (!access.covers(record->wanted.allocation)) return not_yours("partition", id);
  return record;
}

Quirks quirks_of(const Caller& caller) {
  return caller.store.read([](const Model& model) { return model.settings().quirks; });
}

// Returns the answer to a call about a partition that is unknown, if a quirk has one.
std::optional<grpc::Status> answer_to_unknown(const Caller& caller, const std::string& id) {
  return caller.store.read([&](const Model& model) -> std::optional<grpc::Status> {
    const std::optional<int>& quirk = model.settings().quirks.unknown;
    const base::Result<const Record*> found = find(model, caller.access, id);
    if (!quirk || found.ok() || found.error().code() != Code::kNotFound) return std::nullopt;
    return grpc::Status(static_cast<grpc::StatusCode>(*quirk), *quirk == 0 ? "" : "no such thing");
  });
}

grpc::Status run(const Caller& caller, const virmgrpc::ListPartitionsRequest& request,
                 virmgrpc::ListPartitionsReply& reply) {
  const std::string& allocation = request.allocation_id();
  if (!allocation.empty() && !caller.access.covers(allocation)) {
    return to_grpc(not_yours("allocation", allocation));
  }
  return caller.store.read([&](const Model& model) {
    for (const auto& [id, record] : model.records()) {
      if (!caller.access.covers(record.wanted.allocation) || !model.can_be_seen(record)) continue;
      if (!allocation.empty() && record.wanted.allocation != allocation) continue;
      fill(*reply.add_partitions(), record);
    }
    return grpc::Status::OK;
  });
}

bool covers_machine(const Access& access, const vipu::simulator::Pod& pod, uint32_t machine) {
  return std::any_of(pod.allocations.begin(), pod.allocations.end(), [&](const auto& allocation) {
    return access.covers(allocation.name) && allocation.machines[machine - 1];
  });
}

grpc::Status run(const Caller& caller, const virmgrpc::ListIPUAttributesRequest& request,
                 virmgrpc::ListIPUAttributesReply& reply) {
  const auto& agents = request.agents();
  return caller.store.read([&](const Model& model) {
    for (const std::string& agent : agents) {
      const auto machine = vipu::simulator::machine_of_agent(model.pod(), agent);
      if (!machine.ok()) return to_grpc(machine.error());
    }
    for (uint32_t machine = 1; machine <= model.pod().machines; ++machine) {
      const std::string agent = vipu::simulator::agent_of(machine);
      const bool is_wanted =
          agents.empty() || std::find(agents.begin(), agents.end(), agent) != agents.end();
      if (!is_wanted || !covers_machine(caller.access, model.pod(), machine)) continue;
      fill(*reply.add_entries(), machine, model);
    }
    return grpc::Status::OK;
  });
}

grpc::Status run(const Caller& caller, const virmgrpc::CreatePartitionRequest& request,
                 virmgrpc::CreatePartitionReply& reply) {
  base::Result<vipu::PartitionRequest> wanted = to_value(request);
  if (!wanted.ok()) return to_grpc(wanted.error());
  const Quirks quirks = quirks_of(caller);
  if (quirks.named_ipus && !wanted.value().ipus.empty()) {
    if (*quirks.named_ipus != 0)
      return {static_cast<grpc::StatusCode>(*quirks.named_ipus), "IPUs cannot be named"};
    wanted.value().ipus.clear();
  }
  const Status done = caller.store.change(
      [&](Model& model) { return model.create(wanted.value(), caller.access, caller.outcome); });
  if (done.ok()) {
    reply.set_partition_id(wanted.value().id);
    return grpc::Status::OK;
  }
  // Here kBusy means that there is no room, not that a partition is busy.
  if (done.error().code() == Code::kBusy) {
    return to_grpc(done, Code::kBusy, quirks.full.value_or(grpc::StatusCode::RESOURCE_EXHAUSTED));
  }
  const bool is_larger = caller.store.read([&](const Model& model) {
    return wanted.value().size > model.pod().ipus_of(wanted.value().allocation);
  });
  if (is_larger && done.error().code() == Code::kInvalid) {
    return to_grpc(done, Code::kInvalid, quirks.impossible);
  }
  return to_grpc(done, Code::kUnavailable, quirks.one_by_one);
}

grpc::Status run(const Caller& caller, const virmgrpc::RemovePartitionRequest& request,
                 virmgrpc::RemovePartitionReply&) {
  if (const auto quirk = answer_to_unknown(caller, request.partition_id())) return *quirk;
  const auto force = request.force() ? vipu::Force::kYes : vipu::Force::kNo;
  return to_grpc(caller.store.change([&](Model& model) -> Status {
    TRY(find(model, caller.access, request.partition_id()));
    return model.remove(request.partition_id(), force);
  }));
}

grpc::Status run(const Caller& caller, const virmgrpc::ResetPartitionRequest& request,
                 virmgrpc::ResetPartitionReply&) {
  if (const auto quirk = answer_to_unknown(caller, request.partition_id())) return *quirk;
  const auto relocate = request.relocatable() ? vipu::Relocate::kYes : vipu::Relocate::kNo;
  const Status done = caller.store.change([&](Model& model) -> Status {
    TRY(find(model, caller.access, request.partition_id()));
    return model.reset(request.partition_id(), relocate, caller.outcome);
  });
  return to_grpc(done, Code::kUnavailable, quirks_of(caller).early_reset);
}

Status add_gcds(const virmgrpc::GetPartitionIpuofConfigRequest& request,
                const std::vector<vipu::IpuofConfig>& gcds, virmgrpc::PartitionConfig& message) {
  if (request.has_gcd_id() && !gcds.empty() && request.gcd_id().id() >= gcds.size()) {
    return Error(Code::kNotFound,
                 str("partition ", base::quote(request.partition_id()), " has no GCD ",
                     request.gcd_id().id(), ": it has ", gcds.size()));
  }
  for (size_t gcd = 0; gcd < gcds.size(); ++gcd) {
    const bool is_wanted = !request.has_gcd_id() || request.gcd_id().id() == gcd;
    if (is_wanted) fill(*message.add_gcd_configs(), gcds[gcd]);
  }
  return {};
}

grpc::Status run(const Caller& caller, const virmgrpc::GetPartitionIpuofConfigRequest& request,
                 virmgrpc::GetPartitionIpuofConfigReply& reply) {
  const std::string& id = request.partition_id();
  if (const auto quirk = answer_to_unknown(caller, id)) return *quirk;
  return to_grpc(caller.store.read([&](const Model& model) -> Status {
    const Record* record = TRY(find(model, caller.access, id));
    const std::vector<vipu::IpuofConfig> gcds = TRY(model.config(id));
    fill(*reply.mutable_ipuof_config(), *record);
    return add_gcds(request, gcds, *reply.mutable_ipuof_config());
  }));
}

grpc::Status run(const Caller& caller, const virmgrpc::GetPartitionStatusRequest& request,
                 virmgrpc::GetPartitionStatusReply& reply) {
  if (const auto quirk = answer_to_unknown(caller, request.partition_id())) return *quirk;
  return to_grpc(caller.store.read([&](const Model& model) -> Status {
    const Record* record = TRY(find(model, caller.access, request.partition_id()));
    fill(*reply.mutable_status(), *record, model.settings());
    return {};
  }));
}

grpc::Status run(const Caller&, const virmgrpc::VersionRequest&, virmgrpc::VersionReply& reply) {
  // The API is that of V-IPU 1.18.
  reply.set_version("1.18.0-simulator");
  return grpc::Status::OK;
}

// Returns the partition that REQUEST names; empty if its type has no such field.
template <typename Request>
std::string name_in(const Request& request) {
  if constexpr (requires { request.partition_id(); }) {
    return request.partition_id();
  } else if constexpr (requires { request.requirements(); }) {
    return request.requirements().id();
  } else {
    return "";
  }
}

template <typename Request>
std::optional<std::string> partition_of(const std::string& bytes) {
  Request request;
  if (!request.ParseFromString(bytes)) return std::nullopt;
  return name_in(request);
}

template <typename Request, typename Reply>
Answer answer(const Caller& caller, const std::string& bytes) {
  Request request;
  if (!request.ParseFromString(bytes)) return {{grpc::StatusCode::INTERNAL, "malformed request"}};
  Reply reply;
  const grpc::Status status = run(caller, request, reply);
  return {status, status.ok() ? reply.SerializeAsString() : ""};
}

template <typename Request, typename Reply>
constexpr Method method(const char* path) {
  return {path, partition_of<Request>, answer<Request, Reply>};
}

constexpr Method kMethods[] = {
    method<virmgrpc::ListPartitionsRequest, virmgrpc::ListPartitionsReply>(
        "/virmgrpc.UserService/ListPartitions"),
    method<virmgrpc::ListIPUAttributesRequest, virmgrpc::ListIPUAttributesReply>(
        "/virmgrpc.UserService/ListIPUAttributes"),
    method<virmgrpc::CreatePartitionRequest, virmgrpc::CreatePartitionReply>(
        "/virmgrpc.UserService/CreatePartition"),
    method<virmgrpc::RemovePartitionRequest, virmgrpc::RemovePartitionReply>(
        "/virmgrpc.UserService/RemovePartition"),
    method<virmgrpc::ResetPartitionRequest, virmgrpc::ResetPartitionReply>(
        "/virmgrpc.UserService/ResetPartition"),
    method<virmgrpc::GetPartitionIpuofConfigRequest, virmgrpc::GetPartitionIpuofConfigReply>(
        "/virmgrpc.UserService/GetPartitionIpuofConfig"),
    method<virmgrpc::GetPartitionStatusRequest, virmgrpc::GetPartitionStatusReply>(
        "/virmgrpc.UserService/GetPartitionStatus"),
    method<virmgrpc::VersionRequest, virmgrpc::VersionReply>("/virmgrpc.VersionService/GetVersion"),
};

}  // namespace

const Method* find_method(std::string_view path) {
  const Method* const at = std::find_if(std::begin(kMethods), std::end(kMethods),
                                        [&](const Method& known) { return path == known.path; });
  return at == std::end(kMethods) ? nullptr : at;
}

}  // namespace simulator
