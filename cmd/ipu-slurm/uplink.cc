// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/uplink.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "base/json.h"
#include "base/names.h"
#include "base/process.h"

namespace slurm {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kLongestList = 64 << 10;
constexpr size_t kMostOutput = 64 << 10;
constexpr std::chrono::seconds kLongestCall{30};
constexpr std::array kFolders = {"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"};

struct List {
  std::string name;
  std::string version;
  std::vector<Json> plugins;
};

Result<List> parse_list(const std::string& text, const std::string& file) {
  Json document = TRY(base::parse_json(text, file));
  List list;
  list.name = TRY(base::get_string(document, "name", file));
  list.version = TRY(base::get_string(document, "cniVersion", file));
  const auto plugins = document.find("plugins");
  if (plugins == document.end() || !plugins->is_array() || plugins->empty())
    return Error(Code::kInvalid, str(file, ": no CNI network list: it has no 'plugins'"));
  for (Json& plugin : *plugins) {
    const std::string type = TRY(base::get_string(plugin, "type", file));
    if (type.empty() || type.find('/') != type.npos)
      return Error(Code::kInvalid, str(file, ": ", quote(type), " is no name of a plugin"));
    list.plugins.push_back(std::move(plugin));
  }
  return list;
}

std::string folders(std::string_view separator) {
  std::string all;
  for (const char* const folder : kFolders) all += str(all.empty() ? "" : separator, folder);
  return all;
}

Result<std::string> find_plugin(const std::string& type) {
  for (const char* const folder : kFolders) {
    std::string path = str(folder, "/", type);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Error(Code::kNotFound, str("the CNI plugin ", quote(type), " is in none of ",
                                    folders(", "), ": install containernetworking-plugins"));
}

struct Call {
  std::string command;    // "ADD" or "DEL"
  std::string container;  // the CNI container id
  std::string netns;      // a path, or empty
};

std::vector<std::string> environment_of(const Call& call) {
  return {str("CNI_COMMAND=", call.command), str("CNI_CONTAINERID=", call.container),
          str("CNI_NETNS=", call.netns),     "CNI_IFNAME=eth0",
          str("CNI_PATH=", folders(":")),    "PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
}

// What a plugin says of its failure.
std::string reason_in(const std::string& out) {
  const Result<Json> said = base::parse_json(out, "the plugin");
  if (!said.ok() || !said.value().is_object()) return "no reason given";
  const Result<std::string> reason = base::get_string(said.value(), "msg", "the plugin");
  return reason.ok() ? base::one_line(reason.value(), 500) : "no reason given";
}

// Returns the plugin's result: PREVIOUS is that of the one before, or empty.
Result<std::string> call_plugin(const Call& call, const List& list, const Json& plugin,
                                const std::string& previous) {
  const std::string type = plugin["type"];
  Json input = plugin;
  input["name"] = list.name;
  input["cniVersion"] = list.version;
  if (!previous.empty()) input["prevResult"] = TRY(base::parse_json(previous, "a result of CNI"));
  base::Command command;
  command.path = TRY(find_plugin(type));
  command.args = {type};
  command.env = environment_of(call);
  command.input = base::to_text(input);
  command.max_output = kMostOutput;
  base::Output output = TRY(base::run(command, Deadline::after(kLongestCall)));
  if (output.exit_status == 0) return std::move(output.out);
  return Error(Code::kUnavailable, str("the CNI plugin ", quote(type), " failed to ", call.command,
                                       " eth0: ", reason_in(output.out)));
}

}  // namespace

Status attach_uplink(const Folder& folder, const std::string& list, const std::string& netns) {
  const auto text = TRY(base::read_trusted_file(list, kLongestList));
  if (!text)
    return Error(Code::kNotFound, str("uplink of plugstack.conf: there is no ", list,
                                      "; 'make install-slurm' makes one"));
  const List network = TRY(parse_list(*text, list));
  TRY(folder.write(Folder::kUplink, *text));
  std::string result;
  for (const Json& plugin : network.plugins)
    result = TRY(call_plugin({"ADD", folder.container(), netns}, network, plugin, result));
  // The way back reads it.
  if (!result.empty()) TRY(base::parse_json(result, "the result of the last CNI plugin"));
  return folder.write(Folder::kResult, result);
}

Status detach_uplink(const Folder& folder, const std::string& netns) {
  const std::string text = TRY(folder.read(Folder::kUplink));
  if (text.empty()) return {};
  const List network = TRY(parse_list(text, Folder::kUplink));
  const std::string result = TRY(folder.read(Folder::kResult));
  Status first;
  for (auto plugin = network.plugins.rbegin(); plugin != network.plugins.rend(); ++plugin) {
    const auto done = call_plugin({"DEL", folder.container(), netns}, network, *plugin, result);
    if (!done.ok() && first.ok()) first = done.error();
  }
  if (!first.ok()) return first;
  TRY(base::remove_file(folder.path(Folder::kResult)));
  TRY(base::remove_file(folder.path(Folder::kUplink)));
  return {};
}

}  // namespace slurm
