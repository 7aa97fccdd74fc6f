// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/call.h"

#include <grpc/support/time.h>

#include "base/names.h"
#include "base/text.h"

namespace simulator {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using vipu::simulator::Access;
using vipu::simulator::Action;
using vipu::simulator::Fault;

constexpr int kMaxCalls = 4096;  // at one time

std::string to_text(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

grpc::ByteBuffer to_buffer(const std::string& text) {
  const grpc::Slice slice(text);
  return {&slice, 1};
}

// Returns random bytes that are no message: the type of their first field does not exist.
std::string garbage() {
  constexpr size_t kLength = 32;
  const Result<std::string> random = base::random_hex(kLength);
  return "\x07" + (random.ok() ? random.value() : std::string(kLength, '\xff'));
}

std::string metadata(const grpc::GenericCallbackServerContext& context, const std::string& key) {
  const auto& all = context.client_metadata();
  // A key that is given twice counts as absent.
  if (all.count(key) != 1) return "";
  const grpc::string_ref value = all.find(key)->second;
  return {value.data(), value.size()};
}

grpc::Status status_of(const Fault& fault) {
  const std::string message = fault.message.empty() ? "simulated fault" : fault.message;
  return {static_cast<grpc::StatusCode>(fault.status), message};
}

vipu::simulator::Outcome outcome_of(const std::optional<Fault>& fault) {
  if (!fault.has_value()) return {};
  return {fault->errors, false, fault->action == Action::kStuckPending};
}

}  // namespace

Call::Call(Shared& shared, grpc::GenericCallbackServerContext* context)
    : shared_(shared), context_(context) {
  if (++shared_.calls > kMaxCalls) {
    end({grpc::StatusCode::RESOURCE_EXHAUSTED, str("more than ", kMaxCalls, " calls at one time")});
  } else {
    StartRead(&buffer_);
  }
}

Call::~Call() { --shared_.calls; }

void Call::OnReadDone(bool ok) {
  if (!ok) return end({grpc::StatusCode::INTERNAL, "the request is missing"});
  request_ = to_text(buffer_);
  begin();
}

void Call::OnCancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
  if (alarm_.has_value()) alarm_->Cancel();
}

Result<Access> Call::authenticate() {
  if (!shared_.users.has_value()) return Access::to_all();
  user_ = metadata(*context_, shared_.credentials.user_metadata);
  return shared_.users->authenticate(user_, metadata(*context_, shared_.credentials.key_metadata));
}

void Call::begin() {
  method_ = find_method(context_->method());
  if (method_ == nullptr) {
    return end(
        {grpc::StatusCode::UNIMPLEMENTED, str("no method ", base::quote(context_->method()))});
  }
  const Result<Access> access = authenticate();
  if (!access.ok()) {
    return end({grpc::StatusCode::UNAUTHENTICATED, access.error().message()});
  }
  access_ = access.value();
  const std::optional<std::string> partition = method_->partition_of(request_);
  if (!partition.has_value()) {
    return end({grpc::StatusCode::INTERNAL, "the request is malformed"});
  }
  partition_ = *partition;
  fault_ = shared_.faults.hit(method_->name(), partition_);
  const bool is_late = fault_.has_value() && fault_->delay.count() > 0;
  if (is_late) return wait(fault_->delay, &Call::carry_out);
  carry_out();
}

void Call::carry_out() {
  if (fault_.has_value()) {
    if (fault_->action == Action::kStatus) return end(status_of(*fault_));
    if (fault_->action == Action::kHang || fault_->action == Action::kDropBefore) {
      return wait(std::nullopt, nullptr);
    }
  }
  const vipu::simulator::Outcome outcome = outcome_of(fault_);
  answer(method_->answer({shared_.store, access_, outcome}, request_));
}

void Call::answer(const Answer& answer) {
  const Action action = fault_.has_value() ? fault_->action : Action::kDelay;
  if (action == Action::kLoseReply) {
    if (fault_->status != 0) return end(status_of(*fault_));
    wait(std::nullopt, nullptr);
  } else if (action == Action::kDisconnect) {
    end({grpc::StatusCode::UNAVAILABLE, "the connection was closed (simulated fault)"});
  } else if (action == Action::kGarbage) {
    reply(garbage());
  } else if (answer.status.ok()) {
    reply(answer.bytes);
  } else {
    end(answer.status);
  }
}

void Call::wait(std::optional<milliseconds> delay, Step next) {
  const std::lock_guard lock(mutex_);
  const gpr_timespec until = delay.has_value()
                                 ? gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                                gpr_time_from_millis(delay->count(), GPR_TIMESPAN))
                                 : gpr_inf_future(GPR_CLOCK_MONOTONIC);
  alarm_.emplace();
  // Only this callback continues the call, so that the call ends only once.
  alarm_->Set(until, [this, next](bool in_time) {
    if (in_time && next != nullptr) {
      (this->*next)();
    } else {
      end({grpc::StatusCode::CANCELLED, "the client gave up"});
    }
  });
  if (is_cancelled_) alarm_->Cancel();
}

void Call::reply(const std::string& bytes) {
  log(grpc::Status::OK);
  buffer_ = to_buffer(bytes);
  StartWriteAndFinish(&buffer_, grpc::WriteOptions(), grpc::Status::OK);
}

void Call::end(const grpc::Status& status) {
  log(status);
  Finish(status);
}

void Call::log(const grpc::Status& status) const {
  const auto time = std::chrono::steady_clock::now() - start_;
  shared_.log.add(
      EndedCall{.method = method_ == nullptr ? context_->method() : std::string(method_->name()),
                .partition = partition_,
                .status = vipu::simulator::status_name(status.error_code()),
                .time = std::chrono::duration_cast<milliseconds>(time),
                .fault = fault_.has_value() ? vipu::simulator::name_of(fault_->action) : "",
                .user = user_});
}

}  // namespace simulator
