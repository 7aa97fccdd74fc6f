// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/names.h"
#include "hook/fleet/wire/wire.h"
#include "vipu/wire_access.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"

namespace hook::fleet::wire {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;

constexpr uint32_t kMaxTimeout = 24 * 3'600'000;  // ms
constexpr uint32_t kMaxTtl = 24 * 3600;           // s
constexpr size_t kMaxAddress = 256;

const std::vector<std::string>& call_names() {
  static const std::vector<std::string> names =
      vipu::wire::names_up_to(Call::kMembers, wire::name_of);
  return names;
}

constexpr std::pair<Compare::What, const char*> kWhats[] = {
    {Compare::What::kCreated, "created"},      {Compare::What::kModified, "modified"},
    {Compare::What::kExists, "exists"},        {Compare::What::kNoneBelow, "none_below"},
    {Compare::What::kNoneSince, "none_since"}, {Compare::What::kSince, "since"},
};

const char* name_of(Compare::What what) {
  for (const auto& [known, name] : kWhats)
    if (known == what) return name;
  return "";
}

Json to_json(const Txn& txn) {
  Json compares = Json::array();
  for (const Compare& one : txn.compares)
    compares.push_back({{"key", one.key}, {name_of(one.what), one.revision}});
  Json puts = Json::array();
  for (const Put& one : txn.puts) {
    puts.push_back({{"key", one.key}, {"value", one.value}, {"lease", one.lease}});
  }
  return {{"compares", std::move(compares)}, {"puts", std::move(puts)}, {"deletes", txn.deletes}};
}

Result<std::string> parse_name(const Fields& fields, const char* key) {
  std::string name = TRY(fields.text(key, kMaxKey));
  if (name.empty()) return fields.wrong(key, "a text: it is empty");
  return name;
}

Result<Compare> parse_compare(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "compare"));
  Compare one;
  one.key = TRY(parse_name(fields, "key"));
  for (const auto& [what, name] : kWhats)
    if (fields.has(name)) one.what = what;
  one.revision = TRY(base::get_int(json, name_of(one.what), "compare"));
  return one;
}

Result<Put> parse_put(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "put"));
  Put one;
  one.key = TRY(parse_name(fields, "key"));
  one.value = TRY(fields.text("value", kMaxValue));
  one.lease = TRY(base::get_int(json, "lease", "put"));
  return one;
}

Result<Txn> parse_txn(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "txn"));
  Txn txn;
  const Json* compares = TRY(fields.array("compares", kMaxOperations));
  for (const Json& one : *compares) txn.compares.push_back(TRY(parse_compare(one)));
  const Json* puts = TRY(fields.array("puts", kMaxOperations));
  for (const Json& one : *puts) txn.puts.push_back(TRY(parse_put(one)));
  txn.deletes = TRY(fields.texts("deletes", kMaxOperations, kMaxKey));
  return txn;
}

Result<std::string> parse_secret(const Json& json, const Fields& fields, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_string() || at->get_ref<const std::string&>().size() > kMaxSecret)
    return fields.wrong(key, "a text");
  return at->get<std::string>();
}

Result<Access> parse_access(const Json& json, const Fields& fields) {
  Access access;
  access.endpoints = TRY(fields.texts("endpoints", kMaxEndpoints, kMaxAddress));
  if (access.endpoints.empty()) return fields.wrong("endpoints", "one address at least");
  if (fields.has("tls")) {
    // The same members as those of a controller, which has one address.
    Json one = {{"controller", "127.0.0.1:1"}, {"tls", json["tls"]}};
    const Fields members = TRY(Fields::open(one, "request"));
    access.tls = TRY(vipu::wire::parse_access(members)).tls;
  }
  if (!fields.has("user")) return access;
  access.user = TRY(parse_secret(json, fields, "user"));
  access.password = TRY(parse_secret(json, fields, "password"));
  return access;
}

}  // namespace

const char* name_of(Call call) {
  switch (call) {
    case Call::kTxn:
      return "txn";
    case Call::kRange:
      return "range";
    case Call::kWatch:
      return "watch";
    case Call::kGrant:
      return "grant";
    case Call::kKeepAlive:
      return "keep_alive";
    case Call::kRevoke:
      return "revoke";
    case Call::kMembers:
      return "members";
  }
  return "";
}

std::string to_text(const Request& request) {
  Json json = {{"endpoints", request.access.endpoints},
               {"timeout_ms", std::max<int64_t>(0, request.timeout.count())},
               {"call", name_of(request.call)}};
  if (request.access.tls) {
    json["tls"] = vipu::wire::to_json(vipu::Access{"", request.access.tls, {}})["tls"];
  }
  if (!request.access.user.empty()) {
    json["user"] = request.access.user;
    json["password"] = request.access.password;
  }
  if (request.call == Call::kTxn) json["txn"] = to_json(request.txn);
  if (request.call == Call::kRange || request.call == Call::kWatch) json["prefix"] = request.prefix;
  if (request.call == Call::kWatch) json["revision"] = request.revision;
  if (request.call == Call::kKeepAlive || request.call == Call::kRevoke) {
    json["lease"] = request.lease;
  }
  if (request.call == Call::kGrant) json["ttl_s"] = request.ttl_s;
  return base::to_text(json);
}

Result<Request> parse_request(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "request"));
  const Fields fields = TRY(Fields::open(json, "request"));
  Request request;
  request.access = TRY(parse_access(json, fields));
  request.timeout = std::chrono::milliseconds(TRY(fields.number("timeout_ms", 0, kMaxTimeout)));
  request.call = static_cast<Call>(TRY(fields.choice("call", call_names())));
  if (request.call == Call::kTxn) {
    const Json* txn = TRY(fields.object("txn", 3));
    request.txn = TRY(parse_txn(*txn));
  }
  if (request.call == Call::kRange || request.call == Call::kWatch) {
    request.prefix = TRY(parse_name(fields, "prefix"));
  }
  if (request.call == Call::kWatch) {
    request.revision = TRY(base::get_int(json, "revision", "request"));
  }
  if (request.call == Call::kKeepAlive || request.call == Call::kRevoke) {
    request.lease = TRY(base::get_int(json, "lease", "request"));
  }
  if (request.call == Call::kGrant) request.ttl_s = TRY(fields.number("ttl_s", 1, kMaxTtl));
  return request;
}

std::string to_text(const Question& question) {
  return str(question.endpoint, ' ', std::max<int64_t>(1, question.time.count()));
}

Result<Question> parse_question(std::string_view text, size_t endpoints) {
  const std::vector<std::string_view> parts = base::split(text, ' ');
  if (parts.size() != 2 || endpoints == 0) {
    return Error(Code::kInvalid, "the question is not an endpoint and a time");
  }
  Question question;
  question.endpoint = TRY(base::parse_int<size_t>(parts[0], 0, endpoints - 1));
  const auto time = TRY(base::parse_int<int64_t>(parts[1], 1, kMaxTimeout));
  question.time = std::chrono::milliseconds(time);
  return question;
}

}  // namespace hook::fleet::wire
