// SPDX-License-Identifier: Apache-2.0
#include "vipu/cli_settings.h"

#include <string_view>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/hcl.h"
#include "vipu/wire_fields.h"

namespace vipu {
namespace {

using namespace base::names;

constexpr const char* kHostVariable = "VIPU_CLI_API_HOST";
constexpr const char* kPortVariable = "VIPU_CLI_API_PORT";
constexpr size_t kMaxFile = 65536;

// A value and its source, as messages name it.
struct Setting {
  std::string value;
  std::string where;
};

struct FileSettings {
  std::optional<Setting> host;
  std::optional<Setting> port;
};

std::optional<Setting> find_variable(const std::vector<std::string>& environment,
                                     const char* name) {
  const std::string start = str(name, '=');
  for (const std::string& entry : environment) {
    if (!entry.starts_with(start)) continue;
    if (entry.size() == start.size()) return std::nullopt;
    return Setting{entry.substr(start.size()), name};
  }
  return std::nullopt;
}

Result<FileSettings> read_settings(const std::string& file) {
  FileSettings settings;
  const std::optional<std::string> text = TRY(base::read_file_if_exists(file, kMaxFile));
  if (!text.has_value()) return settings;
  const std::vector<HclAssignment> assignments = TRY_CTX(quote(file), parse_hcl(*text));
  for (const HclAssignment& assignment : assignments) {
    const bool is_host = assignment.key == "api-host";
    if (!is_host && assignment.key != "api-port") continue;
    std::optional<Setting>& setting = is_host ? settings.host : settings.port;
    const std::string where = str(quote(file), ", line ", assignment.line, ": ", assignment.key);
    if (setting.has_value()) return Error(Code::kInvalid, str(where, ": it is there twice"));
    setting = {assignment.value, where};
  }
  return settings;
}

Result<CliSettings> checked(const Setting& host, const std::optional<Setting>& port,
                            const std::string& source) {
  CliSettings settings;
  if (port.has_value()) {
    settings.port = TRY_CTX(port->where, base::parse_int<uint16_t>(port->value, 1, 65535));
  }
  if (!wire::is_host_and_port(str(host.value, ':', settings.port))) {
    return Error(Code::kInvalid, str(host.where, ": ", quote(host.value),
                                     " is not a host name or an IPv4 address"));
  }
  settings.host = host.value;
  settings.source = source;
  return settings;
}

}  // namespace

Result<std::optional<CliSettings>> find_cli_settings(const std::vector<std::string>& environment,
                                                     const std::string& file) {
  const std::optional<Setting> host = find_variable(environment, kHostVariable);
  const std::optional<Setting> port = find_variable(environment, kPortVariable);
  if (host.has_value()) {
    return std::optional<CliSettings>(TRY(checked(*host, port, kHostVariable)));
  }
  const FileSettings in_file = TRY(read_settings(file));
  if (!in_file.host.has_value()) return std::optional<CliSettings>();
  return std::optional<CliSettings>(
      TRY(checked(*in_file.host, port.has_value() ? port : in_file.port, file)));
}

}  // namespace vipu
