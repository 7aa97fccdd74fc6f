// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "vipu/wire.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"
#include "vipu/wire_values.h"

namespace vipu::wire {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kMaxMessage = 4096;  // bytes of an error message

const char* code_name(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not_found";
    case Code::kExists:
      return "exists";
    case Code::kDenied:
      return "denied";
    case Code::kBusy:
      return "busy";
    case Code::kTimeout:
      return "timeout";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kInternal:
      return "internal";
  }
  return "";
}

const std::vector<std::string>& code_names() {
  static const std::vector<std::string> names = names_up_to(Code::kInternal, code_name);
  return names;
}

struct Failure {
  Code code = Code::kInternal;
  std::string message;
};

Error malformed(const Error& why) {
  return Error(Code::kInternal, str("ipu-vipu-client gave a malformed reply: ", why.message()));
}

// Returns the error in a reply's error member, or the error of parsing it.
Error parse_error(const Json& json) {
  const auto parse = [&]() -> Result<Failure> {
    const Fields fields = TRY(Fields::open(json, "error"));
    Failure failure;
    failure.code = static_cast<Code>(TRY(fields.choice("code", code_names())));
    failure.message = TRY(fields.text("message", kMaxMessage));
    if (failure.message.empty()) return fields.wrong("message", "a text: it is empty");
    return failure;
  };
  const Result<Failure> failure = parse();
  if (!failure.ok()) return malformed(failure.error());
  return Error(failure.value().code, failure.value().message);
}

}  // namespace

template <typename T>
std::string reply_text(const Result<T>& result) {
  if (result.ok()) return base::to_text(Json{{"ok", to_json(result.value())}});
  const Error& error = result.error();
  // Cut early: invalid UTF-8, or a cut within a character, grows when written.
  return base::to_text(Json{{"error",
                             {{"code", code_name(error.code())},
                              {"message", base::one_line(error.message(), kMaxMessage / 4)}}}});
}

template <typename T>
Result<T> parse_reply(std::string_view text) {
  const Result<Json> json = base::parse_json(text, "reply");
  if (!json.ok()) return malformed(json.error());
  const Result<Fields> fields = Fields::open(json.value(), "reply");
  if (!fields.ok()) return malformed(fields.error());
  if (json.value().size() != 1 || fields.value().has("ok") == fields.value().has("error")) {
    return malformed(Error(Code::kInvalid, "reply: expected one of the keys 'ok' and 'error'"));
  }
  if (fields.value().has("error")) return parse_error(json.value()["error"]);
  Result<T> value = from_json<T>(json.value()["ok"]);
  if (value.ok()) return value;
  // The client copies what the controller says.
  return Error(Code::kInternal,
               str("the controller's answer cannot be right: ", value.error().message()));
}

template std::string reply_text(const Result<Grant>&);
template std::string reply_text(const Result<Done>&);
template std::string reply_text(const Result<std::vector<Partition>>&);
template std::string reply_text(const Result<PartitionStatus>&);
template std::string reply_text(const Result<base::Removed>&);
template std::string reply_text(const Result<Survey>&);
template std::string reply_text(const Result<std::vector<IpuAttributes>>&);
template std::string reply_text(const Result<Addresses>&);
template std::string reply_text(const Result<std::string>&);

template Result<Grant> parse_reply(std::string_view);
template Result<Done> parse_reply(std::string_view);
template Result<std::vector<Partition>> parse_reply(std::string_view);
template Result<PartitionStatus> parse_reply(std::string_view);
template Result<base::Removed> parse_reply(std::string_view);
template Result<Survey> parse_reply(std::string_view);
template Result<std::vector<IpuAttributes>> parse_reply(std::string_view);
template Result<Addresses> parse_reply(std::string_view);
template Result<std::string> parse_reply(std::string_view);

}  // namespace vipu::wire
