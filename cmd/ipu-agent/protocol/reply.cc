// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/protocol/reply.h"

#include "base/json.h"
#include "base/names.h"

namespace agent {

using namespace base::names;
using base::Json;

namespace {

constexpr std::string_view kAnswer = "the answer of ipu-agent";

Error wrong() { return {Code::kInternal, "the answer of ipu-agent cannot be understood"}; }

}  // namespace

std::string reply_line(const Reply& reply) {
  if (!reply.progress.empty()) return base::to_text({{"progress", reply.progress}}) + "\n";
  return base::to_text({{"exit", reply.exit}, {"text", reply.text}, {"errors", reply.errors}}) +
         "\n";
}

std::string error_line(const Error& error) {
  return reply_line({exit_code(error.code()), "", {error.message()}, ""});
}

Result<Reply> parse_reply(std::string_view line) {
  const Json json = TRY(base::parse_json(line, kAnswer));
  Reply reply;
  if (!json.is_object()) return wrong();
  if (json.contains("progress")) {
    reply.progress = TRY(base::get_string(json, "progress", kAnswer));
    if (reply.progress.empty()) return wrong();
    return reply;
  }
  reply.exit = static_cast<int>(TRY(base::get_int(json, "exit", kAnswer)));
  reply.text = TRY(base::get_string(json, "text", kAnswer));
  if (!json.contains("errors") || !json["errors"].is_array()) return wrong();
  for (const Json& error : json["errors"]) {
    if (!error.is_string()) return wrong();
    reply.errors.push_back(error.get<std::string>());
  }
  return reply;
}

int exit_code(Code code) {
  switch (code) {
    case Code::kInvalid:
      return 2;
    case Code::kBusy:
    case Code::kTimeout:
    case Code::kUnavailable:
      return 3;
    default:
      return 1;
  }
}

Code code_of(int exit) {
  if (exit == 2) return Code::kInvalid;
  return exit == 3 ? Code::kBusy : Code::kInternal;
}

}  // namespace agent
