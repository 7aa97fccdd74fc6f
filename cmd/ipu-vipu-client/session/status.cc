// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/status.h"

#include <string>

#include "base/names.h"
#include "base/text.h"

namespace client {
namespace {

using namespace base::names;

constexpr size_t kMaxText = 400;  // bytes of the controller's own words

struct Meaning {
  Code code;
  const char* name;
  const char* words;
};

Meaning meaning_of(StatusCode code) {
  switch (code) {
    case StatusCode::RESOURCE_EXHAUSTED:
      return {Code::kBusy, "RESOURCE_EXHAUSTED", "no capacity"};
    case StatusCode::FAILED_PRECONDITION:
      return {Code::kBusy, "FAILED_PRECONDITION", "not possible in its present state"};
    case StatusCode::ABORTED:
      return {Code::kBusy, "ABORTED", "gave way to another request"};
    case StatusCode::INVALID_ARGUMENT:
      return {Code::kInvalid, "INVALID_ARGUMENT", "refused as invalid"};
    case StatusCode::OUT_OF_RANGE:
      return {Code::kInvalid, "OUT_OF_RANGE", "refused as invalid"};
    case StatusCode::ALREADY_EXISTS:
      return {Code::kExists, "ALREADY_EXISTS", "exists already"};
    case StatusCode::NOT_FOUND:
      return {Code::kNotFound, "NOT_FOUND", "not found"};
    case StatusCode::PERMISSION_DENIED:
      return {Code::kDenied, "PERMISSION_DENIED", "not allowed"};
    case StatusCode::UNAUTHENTICATED:
      return {Code::kDenied, "UNAUTHENTICATED", "not allowed: the credentials are not accepted"};
    case StatusCode::UNIMPLEMENTED:
      return {Code::kUnsupported, "UNIMPLEMENTED", "not supported by this controller"};
    case StatusCode::UNAVAILABLE:
      return {Code::kUnavailable, "UNAVAILABLE", "cannot be reached"};
    case StatusCode::DEADLINE_EXCEEDED:
      return {Code::kTimeout, "DEADLINE_EXCEEDED", "no answer"};
    case StatusCode::CANCELLED:
      return {Code::kInternal, "CANCELLED", "failed"};
    case StatusCode::DATA_LOSS:
      return {Code::kInternal, "DATA_LOSS", "failed"};
    case StatusCode::INTERNAL:
      return {Code::kInternal, "INTERNAL", "failed"};
    default:
      return {Code::kInternal, "UNKNOWN", "failed"};
  }
}

}  // namespace

base::Error to_error(const RpcStatus& status, const Circumstances& circumstances) {
  const Meaning meaning = meaning_of(status.code);
  const std::string& text = status.message;
  const auto waited = circumstances.waited.count();
  if (status.code == StatusCode::DEADLINE_EXCEEDED) {
    return {meaning.code, str(meaning.words, " within ", waited, " ms (", meaning.name, ")")};
  }
  const bool was_lost =
      meaning.code == Code::kUnavailable && circumstances.reached == Reached::kYes;
  const char* const words = was_lost ? "was lost" : meaning.words;
  const std::string reason = text.empty() ? "no reason given" : base::one_line(text, kMaxText);
  return {meaning.code, str(words, ": ", reason, " (", meaning.name, " after ", waited, " ms)")};
}

}  // namespace client
