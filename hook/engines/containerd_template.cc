// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/containerd_template.h"

#include "base/names.h"
#include "base/text.h"

namespace hook::engines {
namespace {

using namespace base::names;

constexpr std::string_view kGenerated = "/agent/etc/containerd/config.toml";
constexpr std::string_view kOfMicrok8s = "/args/containerd.toml";
constexpr std::string_view kTemplateOfMicrok8s = "/args/containerd-template.toml";

bool is_of_microk8s(const std::string& file, std::string_view end) {
  return file.ends_with(end) && file.find("/microk8s/") != std::string::npos;
}

// Returns the template from which k3s or RKE2 makes FILE, whose content is TEXT. A file of version
// 3, for containerd 2.0 and later, has a template of its own.
std::string template_of(const std::string& file, const std::string& text) {
  const bool is_third = text.find("version = 3") != std::string::npos;
  const std::string folder = file.substr(0, file.rfind('/'));
  return str(folder, is_third ? "/config-v3.toml.tmpl" : "/config.toml.tmpl");
}

}  // namespace

bool is_template(const std::string& file) { return file.ends_with(".toml.tmpl"); }

int64_t template_version(const std::string& file) {
  return file.ends_with("-v3.toml.tmpl") ? 3 : 2;
}

std::string without_actions(std::string_view text) {
  std::string out;
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.find("{{") == std::string_view::npos) out += line;
    out += '\n';
  }
  out.pop_back();  // the last piece ends without a newline
  return out;
}

Status check_not_generated(const std::string& file, const std::optional<std::string>& text) {
  std::string source;
  if (file.ends_with(kGenerated)) source = template_of(file, text.value_or(""));
  if (is_of_microk8s(file, kOfMicrok8s)) {
    source = str(file.substr(0, file.size() - kOfMicrok8s.size()), kTemplateOfMicrok8s);
  }
  if (source.empty()) return {};
  return Error(
      Code::kUnsupported,
      str(file, " is generated at each start; change its template instead: --config ", source));
}

std::string restart_of_template(const std::string& file) {
  if (is_of_microk8s(file, kTemplateOfMicrok8s)) return "snap restart microk8s";
  if (!is_template(file)) return "";
  if (file.find("/rke2/") != std::string::npos) {
    return "systemctl restart rke2-server' or 'systemctl restart rke2-agent";
  }
  return "systemctl restart k3s' or 'systemctl restart k3s-agent";
}

}  // namespace hook::engines
