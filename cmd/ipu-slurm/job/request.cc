// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/job/request.h"

#include <algorithm>
#include <chrono>

#include "base/names.h"
#include "base/text.h"

namespace slurm {
namespace {

using namespace base::names;

constexpr uint32_t kMostIpus = 4096;
constexpr size_t kLongestName = 128;
constexpr std::chrono::hours kLongestWait{24};

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= kLongestName && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), fits);
}

// A record of a job has a line for each option.
bool is_line(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

bool is_path(std::string_view text) {
  const auto fits = [](char c) { return c > ' ' && c < 127; };
  return text.size() > 1 && text.front() == '/' && text.find("/..") == text.npos &&
         std::all_of(text.begin(), text.end(), fits);
}

Error wrong(std::string_view name, std::string_view value, std::string_view expected) {
  return {Code::kInvalid, str(name, ": ", quote(value), " is no ", expected)};
}

Status read_setting(std::string_view name, const std::string& value, Settings& settings) {
  if (name == "wait") {
    const auto wait = base::parse_duration(value);
    if (!wait.ok() || wait.value() > kLongestWait)
      return wrong("wait of plugstack.conf", value, "time up to 24h, such as 2m");
    settings.wait = value;
    return {};
  }
  if (name != "cgroup" && name != "uplink")
    return Error(Code::kInvalid, str("the setting ", quote(name),
                                     " of plugstack.conf is unknown:"
                                     " the settings are wait, cgroup and uplink"));
  if (!is_path(value)) return wrong(str(name, " of plugstack.conf"), value, "absolute path");
  (name == "cgroup" ? settings.cgroup : settings.uplink) = value;
  return {};
}

Status read_option(std::string_view name, const std::string& value, Request& request) {
  if (name == "ipus") {
    if (!base::parse_int<uint32_t>(value, 1, kMostIpus).ok())
      return wrong("--ipus", value, str("number from 1 to ", kMostIpus));
    request.ipus = value;
  } else if (name == "partition") {
    if (!is_name(value)) return wrong("--ipu-partition", value, "name of a partition");
    request.partition = value;
  } else if (name == "gcd") {
    if (value != "auto" && value != "all" && !base::parse_int<uint32_t>(value, 0, kMostIpus).ok())
      return wrong("--ipu-gcd", value, "number, 'all' or 'auto'");
    request.gcd = value == "auto" ? "" : value;
  } else if (name == "account") {
    // The runtime says so if it is no tenant's.
    if (!is_line(value)) return wrong("the job's account", value, "name");
    request.account = value;
  } else if (name == "reconfigurable") {
    request.reconfigurable = true;
  } else {
    return Error(Code::kInvalid, str("the option ", quote(name), " is unknown"));
  }
  return {};
}

Status check(const Request& request, bool has_gcd) {
  if (!request.ipus.empty() && !request.partition.empty())
    return Error(Code::kInvalid, "--ipus and --ipu-partition exclude each other: give one");
  if (has_gcd && request.partition.empty())
    return Error(Code::kInvalid, "--ipu-gcd needs --ipu-partition=NAME");
  if (request.reconfigurable && request.ipus.empty())
    return Error(Code::kInvalid, "--ipu-reconfigurable needs --ipus=N");
  return {};
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& arguments) {
  Arguments read;
  bool has_gcd = false;
  bool are_settings = true;
  for (const std::string& argument : arguments) {
    if (are_settings && argument == "--") {
      are_settings = false;
      continue;
    }
    const size_t equals = argument.find('=');
    if (equals == argument.npos)
      return Error(Code::kInvalid, str(quote(argument), " is no NAME=VALUE"));
    const std::string_view name = std::string_view(argument).substr(0, equals);
    const std::string value = argument.substr(equals + 1);
    TRY(are_settings ? read_setting(name, value, read.settings)
                     : read_option(name, value, read.request));
    has_gcd = has_gcd || (!are_settings && name == "gcd");
  }
  TRY(check(read.request, has_gcd));
  return read;
}

std::vector<std::string> to_arguments(const Request& request) {
  std::vector<std::string> all = {"--"};
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) all.push_back(str(name, "=", value));
  };
  add("ipus", request.ipus);
  add("partition", request.partition);
  add("gcd", request.gcd);
  add("account", request.account);
  if (request.reconfigurable) all.emplace_back("reconfigurable=1");
  return all;
}

std::vector<std::string> to_environment(const Request& request, const Settings& settings) {
  std::vector<std::string> all;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) all.push_back(str(name, "=", value));
  };
  add("IPU_COUNT", request.ipus);
  add("IPU_PARTITION", request.partition);
  add("IPU_GCD", request.gcd);
  if (request.reconfigurable) all.emplace_back("IPU_RECONFIGURABLE=1");
  add("IPU_WAIT", settings.wait);
  add("SLURM_JOB_ACCOUNT", request.account);
  return all;
}

}  // namespace slurm
