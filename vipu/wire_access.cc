// SPDX-License-Identifier: Apache-2.0
#include "vipu/wire_access.h"

namespace vipu::wire {
namespace {

using base::Json;
using base::Result;

constexpr size_t kMaxAddress = 256;  // bytes
constexpr size_t kMaxCredential = 64;

Result<std::string> parse_pem(const Fields& fields, const char* key, const Json& tls) {
  const auto at = tls.find(key);
  if (at == tls.end() || !at->is_string()) return fields.wrong(key, "a text");
  const std::string& text = at->get_ref<const std::string&>();
  if (text.size() > kMaxPem || !is_pem(text)) return fields.wrong(key, "the text of a PEM file");
  return text;
}

Result<Tls> parse_tls(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "tls"));
  Tls tls;
  tls.ca = TRY(parse_pem(fields, "ca", json));
  tls.certificate = TRY(parse_pem(fields, "certificate", json));
  tls.key = TRY(parse_pem(fields, "key", json));
  tls.server_name = TRY(fields.text("server_name", kMaxAddress));
  return tls;
}

}  // namespace

Json to_json(const Access& access) {
  Json json = {{"controller", access.address}};
  if (access.tls) {
    json["tls"] = {{"ca", access.tls->ca},
                   {"certificate", access.tls->certificate},
                   {"key", access.tls->key},
                   {"server_name", access.tls->server_name}};
  }
  if (!access.credentials.empty()) json["credentials"] = access.credentials;
  return json;
}

Result<Access> parse_access(const Fields& request) {
  Access access;
  access.address = TRY(request.text("controller", kMaxAddress));
  if (!is_host_and_port(access.address)) {
    return request.wrong("controller", "HOST:PORT, such as 10.1.3.101:8090");
  }
  if (request.has("tls")) {
    const Json* tls = TRY(request.object("tls", 4));
    access.tls = TRY(parse_tls(*tls));
  }
  if (!request.has("credentials")) return access;
  const Json* credentials = TRY(request.object("credentials", kMaxCredential));
  for (const auto& [name, value] : credentials->items()) {
    if (!value.is_string() || !is_metadata(name, value.get_ref<const std::string&>())) {
      return request.wrong("credentials", "a map of what can be sent as gRPC metadata");
    }
    access.credentials.emplace(name, value.get<std::string>());
  }
  return access;
}

}  // namespace vipu::wire
