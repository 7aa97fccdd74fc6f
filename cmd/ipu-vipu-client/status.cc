// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/status.h"

#include <string>

#include "base/names.h"
#include "base/text.h"

namespace client {
namespace {

using namespace base::names;
using grpc::StatusCode;

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

// Only gRPC's text distinguishes a failed handshake from a dead host.
struct TlsFailure {
  const char* text;
  const char* words;
};
constexpr TlsFailure kTlsFailures[] = {
    {"certificate verify failed",
     "cannot be reached: TLS handshake failed, its certificate is not signed by the configured CA"},
    {"is not in peer certificate",
     "cannot be reached: TLS handshake failed, its certificate is for another server name"},
    {"wrong version number", "cannot be reached: TLS handshake failed, it does not speak TLS"},
    {"Ssl handshake failed", "cannot be reached: TLS handshake failed"},
    {"empty address list",
     "cannot be reached: TLS is not possible with the configured CA, certificate and key"},
    {"Socket closed",
     "cannot be reached: it closed the connection, and may not accept our certificate"},
};

const char* words_of_unavailable(const std::string& text, const Circumstances& circumstances) {
  if (circumstances.reached == Reached::kYes) return "was lost";
  if (circumstances.tls == Tls::kNo) {
    return text.find("Socket closed") == std::string::npos
               ? "cannot be reached"
               : "cannot be reached: it closed the connection, and may want TLS";
  }
  for (const TlsFailure& failure : kTlsFailures) {
    if (text.find(failure.text) != std::string::npos) return failure.words;
  }
  return "cannot be reached";
}

}  // namespace

base::Error to_error(const grpc::Status& status, const Circumstances& circumstances) {
  const Meaning meaning = meaning_of(status.error_code());
  const std::string& text = status.error_message();
  const auto waited = circumstances.waited.count();
  // gRPC's own text for a passed deadline adds nothing.
  if (status.error_code() == StatusCode::DEADLINE_EXCEEDED) {
    return {meaning.code, str(meaning.words, " within ", waited, " ms (", meaning.name, ")")};
  }
  const char* const words = meaning.code == Code::kUnavailable
                                ? words_of_unavailable(text, circumstances)
                                : meaning.words;
  return {meaning.code, str(words, ": ", base::one_line(text, kMaxText), " (", meaning.name,
                            " after ", waited, " ms)")};
}

}  // namespace client
