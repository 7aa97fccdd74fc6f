// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/explain_bundle.h"

#include <filesystem>
#include <system_error>

#include "base/json.h"
#include "base/line_diff.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/container/inject/bundle.h"
#include "hook/lifecycle/start/preview.h"

namespace ipuctl {
namespace {

using base::Json;
using namespace base::names;
using hook::lifecycle::start::Preview;

bool is_ours(std::string_view variable) {
  return variable.starts_with("IPU_") || variable.starts_with("IPUOF_");
}

// Returns TEXT over several lines, so that a diff shows only the changes. Hides the values of
// variables that are not ours, because they may be secrets.
Result<std::string> laid_out(const std::string& text) {
  Json spec = TRY(base::parse_json(text, "config.json"));
  for (Json& variable : spec["process"]["env"]) {
    const std::string given = variable.is_string() ? variable.get<std::string>() : "";
    if (!is_ours(given)) variable = str(given.substr(0, given.find('=')), "=...");
  }
  return base::to_pretty_text(spec);
}

std::string what_is_asked(const Preview& shown) {
  if (!shown.partition.empty()) return str("partition ", base::quote(shown.partition));
  return shown.ipus == 0 ? std::string("cards")
                         : str(shown.ipus, shown.ipus == 1 ? " IPU" : " IPUs");
}

// What there is may be unreadable all the same; opening it then says why.
Status check_there(const std::string& directory) {
  for (const std::string& path : {directory, directory + "/config.json"}) {
    std::error_code err;
    if (std::filesystem::exists(path, err) || err) continue;
    return Error(Code::kNotFound, str(quote(path),
                                      " does not exist; give --bundle the folder of an"
                                      " OCI bundle, which has a config.json"));
  }
  return {};
}

Outcome unasked(const std::string& path, Output output) {
  if (output == Output::kJson) return {base::to_pretty_text({{"asks", false}})};
  return {str(path, ": asks for no IPUs; the low-level runtime gets it unchanged\n")};
}

}  // namespace

Result<Outcome> explain_bundle(const std::string& directory, Output output) {
  TRY(check_there(directory));
  const hook::inject::Bundle bundle = TRY(hook::inject::Bundle::open(directory, "config.json"));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  const std::string& text = bundle.config();
  const std::optional<Preview> shown =
      TRY(hook::lifecycle::start::preview(env, config, bundle.path(), text));
  if (!shown) return unasked(bundle.path(), output);
  if (output == Output::kJson) {
    const Json edited = TRY(base::parse_json(shown->config, "config.json"));
    return Outcome{base::to_pretty_text({{"asks", true},
                                         {"pool", shown->pool},
                                         {"ipus", shown->ipus},
                                         {"partition", shown->partition},
                                         {"ignored", shown->ignored},
                                         {"config", edited}})};
  }
  const std::string before = TRY(laid_out(text));
  const std::string after = TRY(laid_out(shown->config));
  std::string ignored;
  for (const std::string& line : shown->ignored) ignored += line + "\n";
  return Outcome{str(ignored, bundle.path(), ": asks for ", what_is_asked(*shown), " of pool \"",
                     shown->pool,
                     "\"; config.json would change as follows (the id, address and cards of the"
                     " lease are placeholders):\n",
                     base::line_diff(before, after))};
}

}  // namespace ipuctl
