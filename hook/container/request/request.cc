// SPDX-License-Identifier: Apache-2.0
#include "hook/container/request/request.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/pod.h"
#include "hook/container/request/keys.h"
#include "hook/container/request/tenant.h"
#include "hook/container/request/values.h"
#include "vipu/types.h"

namespace hook::request {
namespace {

using namespace base::names;

using Givens = std::map<Key, Given>;

// Far more than any value that is accepted. It bounds the work that a value can cause.
constexpr size_t kMaxValue = 4096;

Status check_length(std::string_view name, std::string_view value) {
  if (value.size() <= kMaxValue) return {};
  return Error(Code::kInvalid,
               str(name, " has ", value.size(), " bytes; at most ", kMaxValue, " are accepted"));
}

Status read_variables(const std::vector<std::string>& environment, Givens& givens) {
  for (const KeyName& key : kKeys) {
    for (const std::string& variable : environment) {
      const size_t equals = variable.find('=');
      if (variable.substr(0, equals) != key.variable) continue;
      const std::string value = equals == std::string::npos ? "" : variable.substr(equals + 1);
      if (givens.contains(key.key)) {
        return Error(Code::kInvalid, str(key.variable, " is set twice in the environment (",
                                         base::quote(givens[key.key].value), " and ",
                                         base::quote(value), "); give it once"));
      }
      TRY(check_length(key.variable, value));
      givens[key.key] = {key.variable, value, false};
    }
  }
  return {};
}

Status read_annotations(const std::map<std::string, std::string>& annotations, Givens& givens) {
  for (const auto& [name, value] : annotations) {
    if (!name.starts_with(kAnnotationPrefix) || is_own_annotation(name)) continue;
    const KeyName* known = nullptr;
    for (const KeyName& key : kKeys) {
      if (key.annotation == name) known = &key;
    }
    if (known == nullptr) {
      return Error(Code::kInvalid,
                   str("annotation ", base::quote(name), " is unknown; ", advice_for(name)));
    }
    TRY(check_length(name, value));
    givens[known->key] = {known->annotation, value, true};
  }
  return {};
}

Status check_policy(const Givens& givens, const config::PolicyConfig& policy) {
  for (const auto& [key, given] : givens) {
    if (key == Key::kTenant && !given.annotated && !policy.tenant_variable) {
      return Error(Code::kDenied,
                   str("IPU_TENANT=", base::quote(given.value),
                       " is not accepted: the one who starts the container may not choose who pays;"
                       " give the annotation ",
                       annotation_of("IPU_TENANT"),
                       ", or let an administrator set policy.tenant_variable = true"));
    }
    const bool allowed = given.annotated ? policy.allow_annotation : policy.allow_env;
    if (allowed) continue;
    return Error(Code::kDenied,
                 str(given.name, " may not ask for IPUs on this host: policy.sources allows only ",
                     policy.allow_env ? "environment variables" : "annotations"));
  }
  return {};
}

// The keys whose variables are not honoured if the image sets them.
constexpr std::array<Key, 4> kOfUser = {Key::kPartition, Key::kReservation, Key::kWait,
                                        Key::kTenant};

std::string not_honoured(const Given& given, bool certain) {
  return str(given.name, "=", base::quote(given.value), " is not honoured, because ",
             certain ? "only the image sets it; give it with -e, or as the annotation "
                     : "the image sets it to this value; give it as the annotation ",
             annotation_of(given.name));
}

// Drops such variables, and returns a line about each.
std::vector<std::string> ignore_image(Givens& givens, const FromImage& image) {
  std::vector<std::string> ignored;
  const auto is_of_image = [&](const auto& given) {
    return given != givens.end() && !given->second.annotated &&
           image.names.contains(std::string(given->second.name));
  };
  for (const Key key : kOfUser) {
    const auto given = givens.find(key);
    if (!is_of_image(given)) continue;
    ignored.push_back(not_honoured(given->second, image.certain));
    givens.erase(given);
    const auto gcd = givens.find(Key::kGcd);
    const bool is_named = key == Key::kPartition || key == Key::kReservation;
    if (is_named && is_of_image(gcd)) givens.erase(gcd);
  }
  return ignored;
}

// Refuses a slip of the user: a container that asks for IPUs in vain would start without them.
// Those of an image are not the user's to mend, and a policy may let all pass; each then has a
// line.
Result<std::vector<std::string>> check_spelling(const std::vector<std::string>& environment,
                                                const config::PolicyConfig& policy,
                                                const FromImage& image) {
  std::vector<std::string> lines;
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    const std::string_view meant = meant_by(name);
    if (meant.empty()) continue;
    if (policy.refuse_misspelled && !image.names.contains(name)) {
      return Error(Code::kInvalid,
                   str(name, " is unknown; did you mean ", meant,
                       "? If not, choose a name that resembles none of ipu-container-toolkit(7)"));
    }
    lines.push_back(str(name, " is unknown, and ignored; ", meant, " would ask for IPUs"));
  }
  return lines;
}

// The keys that say what the container gets. Exactly one applies.
constexpr std::array<Key, 4> kSelectors = {Key::kCount, Key::kPartition, Key::kReservation,
                                           Key::kDevices};

bool has_selector(const Givens& givens) {
  return std::any_of(kSelectors.begin(), kSelectors.end(),
                     [&](Key key) { return givens.contains(key); });
}

// Drops the variable KEY if the selector that it belongs to was overruled.
void forget_variable(Givens& givens, Key key, Key selector) {
  const auto given = givens.find(key);
  if (given == givens.end() || givens.contains(selector)) return;
  if (!given->second.annotated) givens.erase(given);
}

// Leaves one selector in GIVENS. An annotation overrides a variable here too: an image's request by
// other means does not contradict the orchestrator's.
Status choose_selector(Givens& givens) {
  std::vector<Key> annotated;
  std::vector<Key> all;
  for (const Key key : kSelectors) {
    const auto given = givens.find(key);
    if (given == givens.end()) continue;
    all.push_back(key);
    if (given->second.annotated) annotated.push_back(key);
  }
  if (annotated.size() == 1) {
    for (const Key key : all) {
      if (key != annotated.front()) givens.erase(key);
    }
    if (!givens.contains(Key::kReservation)) forget_variable(givens, Key::kGcd, Key::kPartition);
    forget_variable(givens, Key::kReconfigurable, Key::kCount);
    if (annotated.front() == Key::kDevices) forget_variable(givens, Key::kEndpoint, Key::kCount);
    return {};
  }
  if (all.empty()) {
    return Error(Code::kInvalid,
                 str(givens.begin()->second.name,
                     " is set, but the container requests no IPUs; give IPU_COUNT=N"));
  }
  if (all.size() == 1) return {};
  return Error(Code::kInvalid, str(givens.at(all[0]).name, " and ", givens.at(all[1]).name,
                                   " contradict each other: give only one of them"));
}

// Checks the keys that are valid only with a certain selector.
Status check_companions(const Givens& givens) {
  const auto gcd = givens.find(Key::kGcd);
  const bool has_partition = givens.contains(Key::kPartition) || givens.contains(Key::kReservation);
  // A new partition has one GCD, so that `all` says nothing else than the count does.
  const bool is_harmless =
      gcd != givens.end() && gcd->second.value == kAllGcds && givens.contains(Key::kCount);
  if (gcd != givens.end() && !has_partition && !is_harmless) {
    return refused(gcd->second, "a GCD belongs to an existing partition; give IPU_PARTITION too");
  }
  const auto reconfigurable = givens.find(Key::kReconfigurable);
  if (reconfigurable != givens.end() && !givens.contains(Key::kCount)) {
    return refused(reconfigurable->second,
                   "only a new partition can be reconfigurable; give IPU_COUNT=N");
  }
  return {};
}

Status read_selector(const Givens& givens, const config::PolicyConfig& policy, Request& request) {
  if (const auto count = givens.find(Key::kCount); count != givens.end()) {
    request.ipus = TRY(parse_count(count->second, policy));
  }
  for (const Key key : {Key::kPartition, Key::kReservation}) {
    const auto partition = givens.find(key);
    if (partition == givens.end()) continue;
    if (!vipu::is_partition_name(partition->second.value)) {
      return refused(partition->second, str("give the name of a ",
                                            key == Key::kPartition ? "partition" : "reservation",
                                            ": 1 to 36 letters, digits, '-' and '_'"));
    }
    request.partition = partition->second.value;
    request.is_reservation = key == Key::kReservation;
  }
  if (const auto gcd = givens.find(Key::kGcd); gcd != givens.end()) {
    request.all_gcds = gcd->second.value == kAllGcds;
    if (!request.all_gcds) request.gcd = TRY(parse_gcd(gcd->second));
  }
  if (const auto devices = givens.find(Key::kDevices); devices != givens.end()) {
    request.all_cards = devices->second.value == "all";
    if (!request.all_cards) request.cards = TRY(parse_cards(devices->second));
  }
  return {};
}

// The endpoint answers for a whole partition.
Status check_endpoint(const Given& given, const Givens& givens, const config::PolicyConfig& policy,
                      const Request& request) {
  if (!request.vipu_endpoint) return {};
  if (!policy.vipu_endpoint) {
    return Error(Code::kDenied, str(given.name,
                                    "=1 is not allowed: policy.vipu_endpoint of this"
                                    " host is false"));
  }
  if (givens.contains(Key::kDevices)) {
    return refused(given, "cards have no V-IPU partition; leave it out");
  }
  if (!request.gcd) return {};
  return refused(given, "a V-IPU endpoint answers for a whole partition; give IPU_GCD=all too");
}

Status read_options(const Givens& givens, const config::PolicyConfig& policy,
                    const WaitLimit& limit, Request& request) {
  if (const auto wait = givens.find(Key::kWait); wait != givens.end()) {
    request.wait = TRY(parse_wait(wait->second, limit));
  }
  if (const auto network = givens.find(Key::kNetwork); network != givens.end()) {
    if (network->second.value != "roce" && network->second.value != "none")
      return refused(network->second, "give 'roce', or 'none' for cards");
    request.network = network->second.value == "roce";
  }
  if (const auto flag = givens.find(Key::kReconfigurable); flag != givens.end()) {
    request.reconfigurable = TRY(parse_flag(flag->second)) == Flag::kYes;
  }
  if (const auto flag = givens.find(Key::kEndpoint); flag != givens.end()) {
    request.vipu_endpoint = TRY(parse_flag(flag->second)) == Flag::kYes;
    TRY(check_endpoint(flag->second, givens, policy, request));
  }
  if (const auto pool = givens.find(Key::kPool); pool != givens.end()) {
    if (pool->second.value.empty()) return refused(pool->second, "give the name of a pool");
    request.pool = pool->second.value;
  }
  return {};
}

// A tenant alone does not ask for IPUs.
bool asks_nothing(const Givens& givens) {
  return std::all_of(givens.begin(), givens.end(),
                     [](const auto& entry) { return entry.first == Key::kTenant; });
}

bool is_none(const Given& given) { return given.value == "none"; }

// With `none`, a user declines an image's request. A variable cannot decline an annotation's
// request.
bool declines(const Givens& givens) {
  const auto devices = givens.find(Key::kDevices);
  if (devices == givens.end() || !is_none(devices->second)) return false;
  return devices->second.annotated ||
         std::none_of(givens.begin(), givens.end(),
                      [](const auto& entry) { return entry.second.annotated; });
}

}  // namespace

std::string_view annotation_of(std::string_view variable) {
  for (const KeyName& key : kKeys) {
    if (key.variable == variable) return key.annotation;
  }
  return "";
}

bool may_ignore(const std::vector<std::string>& environment) {
  if (!first_slip(environment).empty()) return true;
  return std::any_of(environment.begin(), environment.end(), [](const std::string& variable) {
    if (variable.substr(0, variable.find('=')) == kSlurmAccount) return true;
    return std::any_of(kKeys.begin(), kKeys.end(), [&](const KeyName& key) {
      const bool is_it = variable.substr(0, variable.find('=')) == key.variable;
      return is_it && std::find(kOfUser.begin(), kOfUser.end(), key.key) != kOfUser.end();
    });
  });
}

bool asks_for_ipus(const std::vector<std::string>& environment,
                   const std::map<std::string, std::string>& annotations) {
  Givens givens;
  if (!read_variables(environment, givens).ok() || !read_annotations(annotations, givens).ok())
    return true;
  const bool has_any = !asks_nothing(givens) || !first_slip(environment).empty();
  return has_any && !declines(givens);
}

Result<std::optional<Request>> parse_request(const std::vector<std::string>& environment,
                                             const std::map<std::string, std::string>& annotations,
                                             const config::PolicyConfig& policy,
                                             const FromImage& image) {
  if (!asks_for_ipus(environment, annotations)) return std::optional<Request>();
  Request request;
  request.ignored = TRY(check_spelling(environment, policy, image));
  Givens givens;
  TRY(read_variables(environment, givens));
  TRY(read_annotations(annotations, givens));
  if (asks_nothing(givens)) return std::optional<Request>();
  if (const auto devices = givens.find(Key::kDevices);
      devices != givens.end() && is_none(devices->second)) {
    givens.erase(devices);  // it was overruled
  }
  const std::vector<std::string> of_image = ignore_image(givens, image);
  if (!of_image.empty() && !has_selector(givens)) {
    return Error(Code::kDenied,
                 str(of_image.front(), "; without it the container asks for no IPUs"));
  }
  request.ignored.insert(request.ignored.end(), of_image.begin(), of_image.end());
  TRY(check_policy(givens, policy));
  TRY(choose_selector(givens));
  TRY(check_companions(givens));
  TRY(read_selector(givens, policy, request));
  const WaitLimit limit = wait_limit(policy, oci::is_of_pod(annotations));
  TRY(read_options(givens, policy, limit, request));
  TenantWords words{annotations, environment};
  if (const auto tenant = givens.find(Key::kTenant); tenant != givens.end()) {
    words.given = tenant->second.value;
    words.annotated = tenant->second.annotated;
  }
  words.image_account = image.names.contains(kSlurmAccount);
  request.tenant = TRY(tenant_by(words, policy, request.ignored));
  return std::optional<Request>(std::move(request));
}

}  // namespace hook::request
