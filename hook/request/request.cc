// SPDX-License-Identifier: Apache-2.0
#include "hook/request/request.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

enum class Key { kCount, kPartition, kGcd, kDevices, kWait, kNetwork, kReconfigurable, kTenant };

struct KeyName {
  Key key;
  std::string_view variable;  // empty: only as an annotation
  std::string_view annotation;
};

constexpr std::string_view kAnnotationPrefix = "graphcore.ai/ipu.";
constexpr std::string_view kLeaseAnnotation =
    "graphcore.ai/ipu.lease";  // ours, from an earlier edit

constexpr std::array<KeyName, 8> kKeys = {{
    {Key::kCount, "IPU_COUNT", "graphcore.ai/ipu.count"},
    {Key::kPartition, "IPU_PARTITION", "graphcore.ai/ipu.partition"},
    {Key::kGcd, "IPU_GCD", "graphcore.ai/ipu.gcd"},
    {Key::kDevices, "IPU_VISIBLE_DEVICES", "graphcore.ai/ipu.devices"},
    {Key::kWait, "IPU_WAIT", "graphcore.ai/ipu.wait"},
    {Key::kNetwork, "IPU_NETWORK", "graphcore.ai/ipu.network"},
    {Key::kReconfigurable, "IPU_RECONFIGURABLE", "graphcore.ai/ipu.reconfigurable"},
    {Key::kTenant, "", "graphcore.ai/ipu.tenant"},
}};

enum class Source { kVariable, kAnnotation };

// One key as it was given. NAME is how the user wrote it.
struct Given {
  std::string_view name;
  std::string value;
  Source source = Source::kVariable;
};

using Givens = std::map<Key, Given>;

Error refused(const Given& given, std::string_view accepted) {
  return Error(Code::kInvalid,
               str(given.name, "=", base::quote(given.value), " is not accepted: ", accepted));
}

Status read_variables(const std::vector<std::string>& environment, Givens& givens) {
  for (const KeyName& key : kKeys) {
    for (const std::string& variable : environment) {
      const size_t equals = variable.find('=');
      if (key.variable.empty() || variable.substr(0, equals) != key.variable) continue;
      const std::string value = equals == std::string::npos ? "" : variable.substr(equals + 1);
      if (givens.contains(key.key)) {
        return Error(Code::kInvalid, str(key.variable, " stands twice in the environment (",
                                         base::quote(givens[key.key].value), " and ",
                                         base::quote(value), "); give it once"));
      }
      givens[key.key] = {key.variable, value, Source::kVariable};
    }
  }
  return {};
}

Status read_annotations(const std::map<std::string, std::string>& annotations, Givens& givens) {
  for (const auto& [name, value] : annotations) {
    if (!name.starts_with(kAnnotationPrefix) || name == kLeaseAnnotation) continue;
    const KeyName* known = nullptr;
    for (const KeyName& key : kKeys) {
      if (key.annotation == name) known = &key;
    }
    if (known == nullptr) {
      return Error(Code::kInvalid, str("annotation ", base::quote(name),
                                       " is unknown; see ipu-container-toolkit(7)"));
    }
    givens[known->key] = {known->annotation, value, Source::kAnnotation};
  }
  return {};
}

Result<uint32_t> parse_count(const Given& given, const PolicyConfig& policy) {
  const Result<uint32_t> count = base::parse_int<uint32_t>(given.value, 1, policy.max_ipus);
  if (count.ok() && std::has_single_bit(count.value())) return count;
  return refused(given, str("give a power of two from 1 to ", std::bit_floor(policy.max_ipus)));
}

Status check_unserved(const Givens& givens) {
  for (const Key key : {Key::kPartition, Key::kGcd, Key::kDevices}) {
    if (!givens.contains(key)) continue;
    return Error(Code::kUnsupported,
                 str(givens.at(key).name, " is not served by this version; ask with IPU_COUNT=N"));
  }
  if (const auto network = givens.find(Key::kNetwork);
      network != givens.end() && network->second.value != "roce") {
    return refused(network->second,
                   "a partition is reached over the network, give 'roce' or leave it out");
  }
  return {};
}

Status check_policy(const Givens& givens, const PolicyConfig& policy) {
  for (const auto& [key, given] : givens) {
    const bool allowed =
        given.source == Source::kVariable ? policy.allow_env : policy.allow_annotation;
    if (allowed) continue;
    return Error(Code::kDenied,
                 str(given.name, " may not ask for IPUs on this host: policy.sources allows only ",
                     policy.allow_env ? "environment variables" : "annotations"));
  }
  return {};
}

bool is_none(const Given& given) { return given.value == "none"; }

// `none` is how a user says that an image's request is not wanted. A variable cannot decline what
// an annotation asks for.
bool declines(const Givens& givens) {
  const auto devices = givens.find(Key::kDevices);
  if (devices == givens.end() || !is_none(devices->second)) return false;
  return devices->second.source == Source::kAnnotation ||
         std::none_of(givens.begin(), givens.end(),
                      [](const auto& entry) { return entry.second.source == Source::kAnnotation; });
}

}  // namespace

bool asks_for_ipus(const std::vector<std::string>& environment,
                   const std::map<std::string, std::string>& annotations) {
  Givens givens;
  if (!read_variables(environment, givens).ok() || !read_annotations(annotations, givens).ok())
    return true;
  givens.erase(Key::kTenant);
  return !givens.empty() && !declines(givens);
}

Result<std::optional<Request>> parse_request(const std::vector<std::string>& environment,
                                             const std::map<std::string, std::string>& annotations,
                                             const PolicyConfig& policy) {
  if (!asks_for_ipus(environment, annotations)) return std::optional<Request>();
  Givens givens;
  TRY(read_variables(environment, givens));
  TRY(read_annotations(annotations, givens));
  if (const auto devices = givens.find(Key::kDevices);
      devices != givens.end() && is_none(devices->second)) {
    givens.erase(devices);  // it was overruled
  }
  TRY(check_policy(givens, policy));
  TRY(check_unserved(givens));
  const auto count = givens.find(Key::kCount);
  if (count == givens.end()) {
    return Error(Code::kInvalid, str(givens.begin()->second.name,
                                     " is set, but nothing says how many IPUs; give IPU_COUNT=N"));
  }
  Request request;
  request.ipus = TRY(parse_count(count->second, policy));
  if (const auto wait = givens.find(Key::kWait); wait != givens.end()) {
    const Result<std::chrono::milliseconds> time = base::parse_duration(wait->second.value);
    if (!time.ok())
      return refused(wait->second, "give a duration such as 90s, 5m or 1h (at most 24h)");
    request.wait = time.value();
  }
  if (const auto flag = givens.find(Key::kReconfigurable); flag != givens.end()) {
    if (flag->second.value != "0" && flag->second.value != "1")
      return refused(flag->second, "give 0 or 1");
    request.reconfigurable = flag->second.value == "1";
  }
  if (const auto tenant = givens.find(Key::kTenant); tenant != givens.end()) {
    request.tenant = base::one_line(tenant->second.value, 64);
  }
  return std::optional<Request>(std::move(request));
}

}  // namespace hook
