// SPDX-License-Identifier: Apache-2.0
// Creates a partition, even if answers are lost. A name that is given once in the world shows
// whether the partition exists.
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/session/backoff.h"
#include "cmd/ipu-vipu-client/session/calls.h"
#include "cmd/ipu-vipu-client/session/refusal.h"
#include "cmd/ipu-vipu-client/session/values.h"
#include "vipu/made_name.h"

namespace client {
namespace {

using namespace base::names;
using vipu::Partition;
using vipu::PartitionRequest;

// The most attempts at a controller that has room and may be busy, or whose allocation is unused: 3
// s.
constexpr int kMostWhileBusy = 10;

using Names = std::set<std::string>;

// Returns the names of all partitions. Reaches the controller by a call that creates nothing,
// because kUnavailable promises that nothing was created. As nobody has the name ID now, a later
// partition of that name is ours.
Result<Names> check_name_is_free(Connection& connection, const std::string& id) {
  Names names;
  for (const Partition& there : TRY(list(connection))) {
    if (there.id == id)
      return Error(Code::kExists, str("it already exists, and is ", vipu::name_of(there.ready)));
    names.insert(there.id);
  }
  return names;
}

// Returns whether PARTITION is what REQUEST asks for. What REQUEST leaves open may have any value.
bool fits(const Partition& partition, const PartitionRequest& request) {
  return partition.ipus.size() == request.size &&
         partition.reconfigurable == request.reconfigurable &&
         (request.gcds == 0 || partition.gcds == request.gcds) &&
         (request.allocation.empty() || partition.allocation == request.allocation);
}

// Returns whether PARTITION may be that of REQUEST, listed before it had all of its parts.
bool may_grow(const Partition& partition, const PartitionRequest& request) {
  return partition.ready == vipu::ReadyState::kPending &&
         (partition.ipus.size() < request.size || partition.gcds < request.gcds ||
          (partition.allocation.empty() && !request.allocation.empty()));
}

// Looks for the partition of a request whose answer was lost. People may give one name on several
// hosts: what has such a name now may be another host's, and is not taken for ours.
Result<std::optional<Partition>> look_up(Connection& connection, const PartitionRequest& request) {
  std::optional<Partition> found;
  for (Backoff backoff = polling();; backoff.sleep(connection.deadline())) {
    found = TRY_CTX("look for it after its answer was lost", find(connection, request.id));
    if (!found) return found;
    const bool is_it = fits(*found, request);
    if (!is_it && !may_grow(*found, request)) break;
    if (!vipu::is_unique_name(request.id)) {
      return Error(Code::kInternal,
                   "its answer was lost, and the controller has a partition of this name now, which"
                   " may be another host's");
    }
    if (is_it) return found;
    if (connection.deadline().passed()) {
      return Error(Code::kTimeout, str("it is still being made, with ", found->ipus.size(), " of ",
                                       request.size, " IPUs"));
    }
  }
  const bool is_elsewhere = !request.allocation.empty() && found->allocation != request.allocation;
  if (is_elsewhere && vipu::is_unique_name(request.id)) {
    // It is ours, and the caller removes it.
    return Error(Code::kInternal,
                 str("the controller made it in allocation ", base::quote(found->allocation),
                     " instead of ", base::quote(request.allocation)));
  }
  return Error(Code::kExists, str("it already exists, with ", found->ipus.size(), " IPUs in ",
                                  found->gcds, " GCDs, and was created by others"));
}

// Removes a partition that nobody asked for, and returns the error to report. One of BEFORE was
// there before the request: it is somebody else's, whatever the controller answers.
Error give_back(Connection& connection, const std::string& id, const Names& before) {
  if (before.count(id) != 0 || !vipu::is_partition_name(id)) {
    return {Code::kInternal, str("the controller answered for ", base::quote(id), " instead")};
  }
  Result<base::Removed> removed = remove(connection, id, vipu::Force::kNo);
  // A partition that is still being made may not be removed yet.
  for (Backoff backoff = polling();
       !removed.ok() && removed.error().code() == Code::kBusy && !connection.deadline().passed();) {
    backoff.sleep(connection.deadline());
    removed = remove(connection, id, vipu::Force::kNo);
  }
  return {Code::kInternal, str("the controller created ", base::quote(id), " instead",
                               removed.ok() ? ", which was removed" : ", which cannot be removed: ",
                               removed.ok() ? "" : removed.error().message())};
}

// Returns the error to report if the request may have been carried out. Its code must not promise
// that nothing was created, unless somebody else turned out to have the name.
Error in_doubt_about(const Error& error, const base::Deadline& deadline) {
  if (!vipu::made_nothing(error) || error.code() == Code::kExists) return error;
  return {deadline.passed() ? Code::kTimeout : Code::kInternal, error.message()};
}

// Returns whether STATUS does not say what became of the request.
bool is_lost(const RpcStatus& status) {
  return !status.is_whole || status.code == StatusCode::UNAVAILABLE ||
         status.code == StatusCode::DEADLINE_EXCEEDED || status.code == StatusCode::CANCELLED;
}

// The attempts at one partition.
class Attempts {
 public:
  Attempts(Connection& connection, const PartitionRequest& request, Names before)
      : connection_(connection),
        request_(request),
        before_(std::move(before)),
        message_(to_message(request)),
        retry_(connection.deadline()) {}

  // Makes one. Returns nothing if another one may help; has slept then.
  std::optional<Status> make();

 private:
  std::optional<Status> judge_refusal(const RpcStatus& status);
  std::optional<Status> outlast(Refusal refusal, const RpcStatus& status);
  [[nodiscard]] Error error_of(const RpcStatus& status) const {
    const Error error = connection_.to_error(status);
    return in_doubt_ ? in_doubt_about(error, connection_.deadline()) : error;
  }

  Connection& connection_;
  const PartitionRequest& request_;
  const Names before_;
  const virmgrpc::CreatePartitionRequest message_;
  Retry retry_;
  bool in_doubt_ = false;  // an earlier attempt may have succeeded, or may yet succeed
  bool is_lost_ = false;   // an attempt had no answer of the controller: it may yet succeed
  bool asked_again_ = false;
  bool was_asked_ = false;
  int while_busy_ = 0;    // attempts that kBusy or kUnused refused
  int while_unused_ = 0;  // of these, kUnused
  Backoff backoff_{std::chrono::milliseconds(50), std::chrono::milliseconds(400)};
};

std::optional<Status> Attempts::make() {
  virmgrpc::CreatePartitionReply reply;
  const RpcStatus status = connection_.attempt(rpc::kCreatePartition, message_, reply);
  if (status.ok()) {
    const bool is_ours = reply.partition_id().empty() || reply.partition_id() == request_.id;
    return is_ours ? Status() : Status(give_back(connection_, reply.partition_id(), before_));
  }
  const bool exists = status.code == StatusCode::ALREADY_EXISTS;
  // A request that was refused before may have been carried out nevertheless.
  const bool was_asked = std::exchange(was_asked_, true);
  in_doubt_ = in_doubt_ || fate_of(status) == Fate::kUnknown || (exists && was_asked);
  is_lost_ = is_lost_ || is_lost(status);
  if (in_doubt_ && (exists || fate_of(status) == Fate::kUnknown)) {
    const Result<std::optional<Partition>> ours = look_up(connection_, request_);
    if (!ours.ok()) return in_doubt_about(ours.error(), connection_.deadline());
    if (ours.value()) return Status();
    if (exists) {
      return Error(Code::kInternal,
                   "the controller reports that the name is taken, but does not list it");
    }
  }
  if (exists || connection_.reached() == Reached::kNo) {
    if (retry_.again(status, connection_.reached())) return std::nullopt;
    return error_of(status);
  }
  return judge_refusal(status);
}

// What refused may pass: another operation may end, and a new partition may show late.
std::optional<Status> Attempts::outlast(Refusal refusal, const RpcStatus& status) {
  while_unused_ += refusal == Refusal::kUnused ? 1 : 0;
  if (++while_busy_ < kMostWhileBusy) {
    backoff_.sleep(connection_.deadline());
    if (!connection_.deadline().passed()) return std::nullopt;
  }
  if (is_lost_) return Error(Code::kTimeout, error_of(status).message());
  if (while_unused_ < kMostWhileBusy) return Error(Code::kBusy, error_of(status).message());
  return Error(Code::kInvalid, str("no partition of allocation ", base::quote(request_.allocation),
                                   " holds IPUs, so none can become free for ", request_.size,
                                   "; ask for fewer, or correct 'allocation' of the pool or of the"
                                   " tenant: ",
                                   connection_.to_error(status).message()));
}

// The controller was there. It may have refused for any reason, with any code.
std::optional<Status> Attempts::judge_refusal(const RpcStatus& status) {
  const bool is_answer =
      status.code != StatusCode::DEADLINE_EXCEEDED && status.code != StatusCode::UNAUTHENTICATED;
  const Refusal refusal = is_answer ? judge(connection_, request_, status) : Refusal::kOther;
  if (refusal == Refusal::kMade) {
    const Result<std::optional<Partition>> ours = look_up(connection_, request_);
    if (!ours.ok()) return in_doubt_about(ours.error(), connection_.deadline());
    if (ours.value()) return Status();
  }
  const bool is_final = refusal == Refusal::kFull || refusal == Refusal::kNeverFits;
  // What was lost may have taken the room, or may yet do so.
  if (is_final && is_lost_) return Error(Code::kTimeout, connection_.to_error(status).message());
  if (refusal == Refusal::kFull) return Error(Code::kBusy, error_of(status).message());
  if (refusal == Refusal::kNeverFits) {
    return Error(Code::kInvalid, str("the controller does not have ", request_.size,
                                     " IPUs in all: ", connection_.to_error(status).message()));
  }
  if (refusal == Refusal::kBusy || refusal == Refusal::kUnused) return outlast(refusal, status);
  // Room may have come since the refusal.
  const bool may_have_been_full = refusal == Refusal::kOther && is_answer && !asked_again_;
  asked_again_ = asked_again_ || may_have_been_full;
  if (may_have_been_full && fate_of(status) == Fate::kRefused) return std::nullopt;
  if (retry_.again(status, connection_.reached())) return std::nullopt;
  return error_of(status);
}

Status request_partition(Connection& connection, const PartitionRequest& request, Names before) {
  for (Attempts attempts(connection, request, std::move(before));;) {
    std::optional<Status> done = attempts.make();
    if (done) return *std::move(done);
  }
}

}  // namespace

Status submit(Connection& connection, const PartitionRequest& request) {
  Names before = TRY(check_name_is_free(connection, request.id));
  return request_partition(connection, request, std::move(before));
}

Result<vipu::Grant> create(Connection& connection, const PartitionRequest& request) {
  TRY(submit(connection, request));
  Result<vipu::Grant> grant = wait(connection, request.id);
  if (grant.ok()) return grant;
  // The partition was made: the code must not mean that it was not, or that there was no room.
  const Error error = in_doubt_about(grant.error(), connection.deadline());
  return Error(error.code() == Code::kTimeout ? Code::kTimeout : Code::kInternal, error.message());
}

}  // namespace client
