// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"
#include "base/names.h"
#include "hook/fleet/wire/wire.h"
#include "vipu/wire_fields.h"
#include "vipu/wire_names.h"

namespace hook::fleet::wire {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;
using vipu::wire::Flag;

constexpr size_t kMaxMessage = 4096;   // bytes of an error message
constexpr size_t kMaxKeys = 1U << 16;  // more would be longer than a reply

const char* code_text(Code code) {
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

const std::vector<std::string>& code_texts() {
  static const std::vector<std::string> names = vipu::wire::names_up_to(Code::kInternal, code_text);
  return names;
}

Json json_of(const KeyValue& key) {
  return {{"key", key.key},
          {"value", key.value},
          {"created", key.created},
          {"modified", key.modified},
          {"lease", key.lease}};
}
Json json_of(const std::vector<KeyValue>& keys) {
  Json all = Json::array();
  for (const KeyValue& key : keys) all.push_back(json_of(key));
  return all;
}
Json json_of(const TxnResult& result) {
  return {{"done", result.done}, {"revision", result.revision}, {"found", json_of(result.found)}};
}
Json json_of(const Listing& listing) {
  return {{"revision", listing.revision}, {"keys", json_of(listing.keys)}};
}
Json json_of(const Changes& changes) {
  Json all = Json::array();
  for (const Change& change : changes.all) {
    Json one = json_of(change.key);
    one["deleted"] = change.deleted;
    all.push_back(std::move(one));
  }
  return {{"next", changes.next}, {"changes", std::move(all)}};
}
Json json_of(const Lease& lease) { return {{"lease", lease.id}, {"ttl_s", lease.ttl_s}}; }
Json json_of(const Done&) { return Json::object(); }
Json json_of(const std::vector<Member>& members) {
  Json all = Json::array();
  for (const Member& one : members) {
    all.push_back({{"address", one.address},
                   {"version", one.version},
                   {"leads", one.leads},
                   {"trouble", one.trouble}});
  }
  return all;
}

Result<KeyValue> parse_key(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "key"));
  KeyValue key;
  key.key = TRY(fields.text("key", kMaxKey));
  key.value = TRY(fields.text("value", kMaxValue));
  key.created = TRY(base::get_int(json, "created", "key"));
  key.modified = TRY(base::get_int(json, "modified", "key"));
  key.lease = TRY(base::get_int(json, "lease", "key"));
  return key;
}

Result<std::vector<KeyValue>> parse_keys(const Fields& fields, const char* name) {
  const Json* all = TRY(fields.array(name, kMaxKeys));
  std::vector<KeyValue> keys;
  for (const Json& one : *all) keys.push_back(TRY(parse_key(one)));
  return keys;
}

Status parse(const Json& json, TxnResult& result) {
  const Fields fields = TRY(Fields::open(json, "result"));
  result.done = TRY(fields.flag("done")) == Flag::kYes;
  result.revision = TRY(base::get_int(json, "revision", "result"));
  result.found = TRY(parse_keys(fields, "found"));
  return {};
}

Status parse(const Json& json, Listing& listing) {
  const Fields fields = TRY(Fields::open(json, "listing"));
  listing.revision = TRY(base::get_int(json, "revision", "listing"));
  listing.keys = TRY(parse_keys(fields, "keys"));
  return {};
}

Status parse(const Json& json, Changes& changes) {
  const Fields fields = TRY(Fields::open(json, "changes"));
  changes.next = TRY(base::get_int(json, "next", "changes"));
  const Json* all = TRY(fields.array("changes", kMaxKeys));
  for (const Json& one : *all) {
    const Fields change = TRY(Fields::open(one, "change"));
    const bool deleted = TRY(change.flag("deleted")) == Flag::kYes;
    KeyValue key = TRY(parse_key(one));
    changes.all.push_back({std::move(key), deleted});
  }
  return {};
}

Status parse(const Json& json, Lease& lease) {
  const Fields fields = TRY(Fields::open(json, "lease"));
  lease.id = TRY(base::get_int(json, "lease", "lease"));
  lease.ttl_s = TRY(fields.number("ttl_s", 0, UINT32_MAX));
  return {};
}

Status parse(const Json& json, Done&) {
  TRY(Fields::open(json, "result"));
  return {};
}

Status parse(const Json& json, std::vector<Member>& members) {
  const Json whole = {{"members", json}};
  const Fields list = TRY(Fields::open(whole, "result"));
  const Json* all = TRY(list.array("members", kMaxEndpoints));
  for (const Json& one : *all) {
    const Fields fields = TRY(Fields::open(one, "member"));
    Member member;
    member.address = TRY(fields.text("address", kMaxKey));
    member.version = TRY(fields.text("version", kMaxKey));
    member.leads = TRY(fields.flag("leads")) == Flag::kYes;
    member.trouble = TRY(fields.text("trouble", kMaxMessage));
    members.push_back(std::move(member));
  }
  return {};
}

Error malformed_reply(const Error& why) {
  return {Code::kInternal, str("ipu-fleet-client gave a malformed reply: ", why.message())};
}

Error error_in(const Json& json) {
  const Result<Fields> fields = Fields::open(json, "error");
  if (!fields.ok()) return malformed_reply(fields.error());
  const Result<size_t> code = fields.value().choice("code", code_texts());
  if (!code.ok()) return malformed_reply(code.error());
  const Result<std::string> message = fields.value().text("message", kMaxMessage);
  if (!message.ok()) return malformed_reply(message.error());
  return {static_cast<Code>(code.value()), message.value()};
}

}  // namespace

template <typename T>
std::string reply_text(const Result<T>& result) {
  if (result.ok()) return base::to_text(Json{{"ok", json_of(result.value())}});
  const Error& error = result.error();
  // Cut early: invalid UTF-8 grows when it is written.
  return base::to_text(Json{{"error",
                             {{"code", code_text(error.code())},
                              {"message", base::one_line(error.message(), kMaxMessage / 4)}}}});
}

template <typename T>
Result<T> parse_reply(std::string_view text) {
  const Result<Json> json = base::parse_json(text, "reply");
  if (!json.ok()) return malformed_reply(json.error());
  const Result<Fields> fields = Fields::open(json.value(), "reply");
  if (!fields.ok()) return malformed_reply(fields.error());
  if (json.value().size() != 1 || fields.value().has("ok") == fields.value().has("error")) {
    return malformed_reply({Code::kInvalid, "reply: expected one of the keys 'ok' and 'error'"});
  }
  if (fields.value().has("error")) return error_in(json.value()["error"]);
  T value;
  const Status parsed = parse(json.value()["ok"], value);
  if (!parsed.ok()) return malformed_reply(parsed.error());
  return value;
}

template std::string reply_text(const Result<TxnResult>&);
template std::string reply_text(const Result<Listing>&);
template std::string reply_text(const Result<Changes>&);
template std::string reply_text(const Result<Lease>&);
template std::string reply_text(const Result<Done>&);
template std::string reply_text(const Result<std::vector<Member>>&);

template Result<TxnResult> parse_reply(std::string_view);
template Result<Listing> parse_reply(std::string_view);
template Result<Changes> parse_reply(std::string_view);
template Result<Lease> parse_reply(std::string_view);
template Result<Done> parse_reply(std::string_view);
template Result<std::vector<Member>> parse_reply(std::string_view);

}  // namespace hook::fleet::wire
