// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi/validate.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/cdi/grammar.h"

namespace hook::cdi {
namespace {

using namespace base::names;
using base::Json;

constexpr size_t kMostFaults = 20;
constexpr size_t kLongest = 80;  // bytes of a value in an error

enum class Type { kText, kPath, kNumber, kFlag, kTexts, kNumbers, kList, kObject };
enum class Needed : bool { kNo, kYes };

// A member of an object: the first version that has it, and whether every object must have it.
struct Member {
  std::string_view name;
  Type type;
  Needed needed = Needed::kNo;
  std::string_view since = kVersions.front();
};
using Members = std::initializer_list<Member>;

const Members kFile = {{"cdiVersion", Type::kText, Needed::kYes},
                       {"kind", Type::kText, Needed::kYes},
                       {"annotations", Type::kObject, Needed::kNo, "0.6.0"},
                       {"devices", Type::kList, Needed::kYes},
                       {"containerEdits", Type::kObject}};
const Members kDevice = {{"name", Type::kText, Needed::kYes},
                         {"annotations", Type::kObject, Needed::kNo, "0.6.0"},
                         {"containerEdits", Type::kObject, Needed::kYes}};
const Members kEdits = {{"env", Type::kTexts},
                        {"deviceNodes", Type::kList},
                        {"netDevices", Type::kList, Needed::kNo, "1.1.0"},
                        {"hooks", Type::kList},
                        {"mounts", Type::kList},
                        {"intelRdt", Type::kObject, Needed::kNo, "0.7.0"},
                        {"additionalGids", Type::kNumbers, Needed::kNo, "0.7.0"}};
const Members kNode = {{"path", Type::kPath, Needed::kYes},
                       {"hostPath", Type::kPath, Needed::kNo, "0.5.0"},
                       {"type", Type::kText},
                       {"major", Type::kNumber},
                       {"minor", Type::kNumber},
                       {"fileMode", Type::kNumber},
                       {"permissions", Type::kText},
                       {"uid", Type::kNumber},
                       {"gid", Type::kNumber}};
const Members kNetDevice = {{"hostInterfaceName", Type::kText, Needed::kYes},
                            {"name", Type::kText, Needed::kYes}};
const Members kMount = {{"hostPath", Type::kText, Needed::kYes},
                        {"containerPath", Type::kPath, Needed::kYes},
                        {"options", Type::kTexts},
                        {"type", Type::kText, Needed::kNo, "0.4.0"}};
const Members kHook = {{"hookName", Type::kText, Needed::kYes},
                       {"path", Type::kPath, Needed::kYes},
                       {"args", Type::kTexts},
                       {"env", Type::kTexts},
                       {"timeout", Type::kNumber}};
const Members kIntelRdt = {{"closID", Type::kText},
                           {"l3CacheSchema", Type::kText},
                           {"memBwSchema", Type::kText},
                           {"schemata", Type::kTexts, Needed::kNo, "1.1.0"},
                           {"enableMonitoring", Type::kFlag, Needed::kNo, "1.1.0"},
                           {"enableCMT", Type::kFlag},
                           {"enableMBM", Type::kFlag}};

constexpr std::string_view kHookNames[] = {"prestart",       "createRuntime", "createContainer",
                                           "startContainer", "poststart",     "poststop"};

bool all_of_list(const Json& value, bool (*is_right)(const Json&)) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_right);
}

bool has_type(const Json& value, Type type) {
  switch (type) {
    case Type::kText:
    case Type::kPath:
      return value.is_string();
    case Type::kNumber:
      return value.is_number_unsigned();
    case Type::kFlag:
      return value.is_boolean();
    case Type::kTexts:
      return all_of_list(value, [](const Json& each) { return each.is_string(); });
    case Type::kNumbers:
      return all_of_list(value, [](const Json& each) { return each.is_number_unsigned(); });
    case Type::kList:
      return value.is_array();
    case Type::kObject:
      return value.is_object();
  }
  return false;
}

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kText:
      return "a string";
    case Type::kPath:
      return "an absolute path";
    case Type::kNumber:
      return "a number from 0 on";
    case Type::kFlag:
      return "true or false";
    case Type::kTexts:
      return "a list of strings";
    case Type::kNumbers:
      return "a list of numbers from 0 on";
    case Type::kList:
      return "a list of objects";
    case Type::kObject:
      return "an object";
  }
  return "";
}

size_t place_of(std::string_view version) {
  const auto* const found = std::find(kVersions.begin(), kVersions.end(), version);
  return static_cast<size_t>(found - kVersions.begin());
}

std::string shown(const Json& value) {
  return base::quote(base::one_line(value.get<std::string>(), kLongest));
}

class Check {
 public:
  Contents run(const Json& file);

 private:
  void fault(const std::string& path, std::string_view what) {
    if (contents_.faults.size() < kMostFaults) contents_.faults.push_back(str(path, ": ", what));
  }

  // Of what is there only since this version.
  void need(const std::string& path, std::string_view since) {
    if (place_of(version_) >= place_of(since)) return;
    fault(path, str("needs cdiVersion ", since, " or later, and the file says ", version_));
  }

  // Checks the members of OBJECT; those that are right can be read then by text() and list().
  void members(const Json& object, const std::string& path, const Members& known) {
    for (const auto& [name, value] : object.items()) {
      const std::string at = path.empty() ? name : str(path, '.', name);
      const auto* const member =
          std::find_if(known.begin(), known.end(),
                       [&, &key = name](const Member& each) { return each.name == key; });
      if (member == known.end()) {
        fault(base::one_line(at, kLongest), "is no member that the specification knows");
      } else if (!has_type(value, member->type)) {
        fault(at, str("must be ", name_of(member->type)));
      } else {
        need(at, member->since);
        const bool is_relative =
            member->type == Type::kPath && !value.get_ref<const std::string&>().starts_with('/');
        if (is_relative) fault(at, str(shown(value), " must be an absolute path"));
      }
    }
    for (const Member& member : known) {
      if (member.needed == Needed::kYes && !object.contains(member.name))
        fault(path.empty() ? std::string(member.name) : str(path, '.', member.name), "is missing");
    }
  }

  void kind(const Json& file);
  void annotations(const Json& holder, const std::string& path);
  void device(const Json& device, const std::string& path);
  void edits(const Json& holder, const std::string& path, Needed some);
  void node(const Json& node, const std::string& path);
  void hook(const Json& hook, const std::string& path);

  std::string version_;
  std::set<std::string> names_;
  Contents contents_;
};

// Returns the member NAME of OBJECT if it is a string, and an empty text otherwise.
std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Calls EACH for every object of the list NAME of OBJECT, with its path.
template <typename Each>
void list(const Json& object, const std::string& path, const char* name, Each each) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return;
  for (size_t i = 0; i < found->size(); ++i) {
    each((*found)[i], str(path.empty() ? "" : path + ".", name, '[', i, ']'));
  }
}

void Check::kind(const Json& file) {
  contents_.kind = text(file, "kind");
  const size_t slash = contents_.kind.find('/');
  const std::string name = contents_.kind.substr(std::min(slash, contents_.kind.size()));
  const bool is_right = slash != std::string::npos &&
                        is_vendor(std::string_view(contents_.kind).substr(0, slash)) &&
                        is_class(std::string_view(contents_.kind).substr(slash + 1));
  if (file.contains("kind") && file["kind"].is_string() && !is_right) {
    fault("kind", str(shown(file["kind"]),
                      " must be VENDOR/CLASS, such as graphcore.ai/ipu: each begins with a letter,"
                      " ends with a letter or digit, and has letters, digits, '_', '-' and '.'"));
  }
  if (name.find('.') != std::string::npos) need("kind", "0.6.0");
}

void Check::annotations(const Json& holder, const std::string& path) {
  const auto found = holder.find("annotations");
  if (found == holder.end() || !found->is_object()) return;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string())
      fault(str(path, "annotations.", base::one_line(key, kLongest)), "must be a string");
  }
}

void Check::node(const Json& node, const std::string& path) {
  const std::string type = text(node, "type");
  if (!type.empty() && type != "b" && type != "c" && type != "u" && type != "p")
    fault(path + ".type", "must be b, c, u or p");
  const std::string permissions = text(node, "permissions");
  if (permissions.find_first_not_of("rwm") != std::string::npos)
    fault(path + ".permissions", "may have only r, w and m");
  const std::string host = text(node, "hostPath");
  contents_.nodes.push_back(host.empty() ? text(node, "path") : host);
}

void Check::hook(const Json& hook, const std::string& path) {
  const std::string name = text(hook, "hookName");
  const bool is_known =
      std::find(std::begin(kHookNames), std::end(kHookNames), name) != std::end(kHookNames);
  if (!name.empty() && !is_known) {
    fault(path + ".hookName",
          "must be prestart, createRuntime, createContainer, startContainer,"
          " poststart or poststop");
  }
  if (hook.contains("timeout") && hook["timeout"] == 0)
    fault(path + ".timeout", "must be greater than 0");
  contents_.programs.push_back(text(hook, "path"));
}

void Check::edits(const Json& holder, const std::string& path, Needed some) {
  const auto found = holder.find("containerEdits");
  if (found == holder.end() || !found->is_object()) return;
  const std::string at = path + "containerEdits";
  members(*found, at, kEdits);
  if (some == Needed::kYes && found->empty()) fault(at, "must change something");
  const auto each = [&](const char* name, const Members& known,
                        void (Check::*more)(const Json&, const std::string&)) {
    list(*found, at, name, [&](const Json& item, const std::string& where) {
      if (!item.is_object()) return fault(where, "must be an object");
      members(item, where, known);
      if (more != nullptr) (this->*more)(item, where);
    });
  };
  each("deviceNodes", kNode, &Check::node);
  each("netDevices", kNetDevice, nullptr);
  each("mounts", kMount, nullptr);
  each("hooks", kHook, &Check::hook);
  if (found->contains("intelRdt") && (*found)["intelRdt"].is_object())
    members((*found)["intelRdt"], at + ".intelRdt", kIntelRdt);
  list(*found, at, "env", [&](const Json& variable, const std::string& where) {
    const std::string pair = variable.is_string() ? variable.get<std::string>() : "A=";
    if (pair.find('=') == std::string::npos || pair.front() == '=')
      fault(where, "must be NAME=VALUE");
  });
}

void Check::device(const Json& device, const std::string& path) {
  if (!device.is_object()) return fault(path, "must be an object");
  members(device, path, kDevice);
  annotations(device, path + ".");
  edits(device, path + ".", Needed::kYes);
  if (!device.contains("name") || !device["name"].is_string()) return;
  const std::string name = text(device, "name");
  if (!is_device_name(name)) {
    return fault(path + ".name",
                 str(shown(device["name"]),
                     " must begin and end with a letter or digit, and have letters, digits, '_',"
                     " '-', '.' and ':'"));
  }
  if (!is_letter(name.front())) need(path + ".name", kDigitVersion);
  if (!names_.insert(name).second)
    fault(path + ".name", str(base::quote(name), " is the name of another device of the file"));
  contents_.devices.push_back(name);
}

Contents Check::run(const Json& file) {
  if (!file.is_object()) {
    contents_.faults.emplace_back("the file must be a JSON object");
    return std::move(contents_);
  }
  version_ = text(file, "cdiVersion");
  if (place_of(version_) == kVersions.size()) {
    // Without a version nothing else can be judged by it.
    const bool is_text = file.contains("cdiVersion") && file["cdiVersion"].is_string();
    if (is_text) {
      fault("cdiVersion", str(shown(file["cdiVersion"]), " is none of ",
                              base::join({kVersions.begin(), kVersions.end()}, ", ")));
    }
    version_ = kVersions.back();
  }
  members(file, "", kFile);
  kind(file);
  annotations(file, "");
  list(file, "", "devices", [&](const Json& each, const std::string& path) { device(each, path); });
  if (file.contains("devices") && file["devices"].is_array() && file["devices"].empty())
    fault("devices", "must have a device");
  edits(file, "", Needed::kNo);
  return std::move(contents_);
}

}  // namespace

Contents validate(std::string_view text) {
  const Result<Json> file = base::parse_json(text, "the file");
  if (file.ok()) return Check().run(file.value());
  Contents contents;
  contents.faults.push_back(file.error().message());
  return contents;
}

}  // namespace hook::cdi
