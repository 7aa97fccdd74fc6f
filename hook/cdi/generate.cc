// SPDX-License-Identifier: Apache-2.0
#include "hook/cdi/generate.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "hook/cdi/grammar.h"
#include "hook/container/request/cdi.h"
#include "hook/container/request/request.h"

namespace hook::cdi {
namespace {

using base::Json;
using base::str;

// Seconds. podman and CRI-O give a runtime 240 s, and the hook itself waits for 220 s at most.
constexpr int kCreateTime = 230;
constexpr int kPoststopTime = 15;

constexpr const char* kProgram = "ipu-container-hook";

struct Device {
  std::vector<std::string> request;  // annotations KEY=VALUE
  std::vector<std::string> nodes;
  std::vector<std::string> environment;
};

// "9" before "10".
struct ByNumber {
  bool operator()(const std::string& left, const std::string& right) const {
    const auto is_number = [](const std::string& text) {
      return text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (is_number(left) && is_number(right) && left.size() != right.size())
      return left.size() < right.size();
    return left < right;
  }
};

using Devices = std::map<std::string, Device, ByNumber>;

Json hook_of(const std::string& program, const char* stage, const std::vector<std::string>& request,
             int timeout) {
  Json args = Json::array({kProgram, stage});
  if (!request.empty()) args.push_back(request::kCdiOption);
  for (const std::string& each : request) args.push_back(each);
  // Without an environment of its own, a hook inherits the runtime's, or even the image's.
  return {{"hookName", stage},
          {"path", program},
          {"args", std::move(args)},
          {"env", Json::array({"PATH=/usr/sbin:/usr/bin:/sbin:/bin"})},
          {"timeout", timeout}};
}

// Numbers of the node are left out: the engine looks them up when it starts a container, and they
// may change when the driver is loaded again.
Json node_of(const std::string& path) {
  return {{"path", path}, {"type", "c"}, {"fileMode", 0666}, {"permissions", "rw"}};
}

Json device_of(const std::string& name, const Device& device, const std::string& program) {
  Json edits = Json::object();
  if (!device.environment.empty()) edits["env"] = device.environment;
  for (const std::string& node : device.nodes) edits["deviceNodes"].push_back(node_of(node));
  edits["hooks"] = Json::array({hook_of(program, "createRuntime", device.request, kCreateTime)});
  return {{"name", name}, {"containerEdits", std::move(edits)}};
}

std::string text_of(const char* kind, const Devices& devices, const std::string& program) {
  if (devices.empty()) return "";
  const bool has_digit = std::any_of(devices.begin(), devices.end(), [](const auto& device) {
    return !is_letter(device.first.front());
  });
  Json file = {{"cdiVersion", has_digit ? kDigitVersion : kVersions.front()}, {"kind", kind}};
  for (const auto& [name, device] : devices)
    file["devices"].push_back(device_of(name, device, program));
  // Once for a container, however many devices it has.
  file["containerEdits"]["hooks"] = Json::array({hook_of(program, "poststop", {}, kPoststopTime)});
  return base::to_pretty_text(file);
}

std::string key_value(std::string_view variable, std::string_view value) {
  return str(request::annotation_of(variable), '=', value);
}

// Returns the device of CARDS. It asks for their numbers, never for "all": what that means is
// decided at a start, and the configuration may have changed since the nodes were written.
Device cards_device(const std::string& pool, const std::vector<Card>& cards) {
  Device device;
  std::vector<std::string> numbers;
  for (const Card& card : cards) {
    numbers.push_back(std::to_string(card.number));
    device.nodes.insert(device.nodes.end(), card.nodes.begin(), card.nodes.end());
  }
  device.request = {key_value("IPU_VISIBLE_DEVICES", base::join(numbers, ",")),
                    key_value("IPU_POOL", pool)};
  return device;
}

// Adds the device NAME of CARDS, if there are some and each is there.
void add_whole(const std::string& pool, std::vector<Card> cards, const std::string& name,
               Devices& devices) {
  const bool is_whole =
      std::none_of(cards.begin(), cards.end(), [](const Card& card) { return card.nodes.empty(); });
  if (cards.empty() || !is_whole) return;
  std::sort(cards.begin(), cards.end(),
            [](const Card& left, const Card& right) { return left.number < right.number; });
  devices.try_emplace(name, cards_device(pool, cards));
}

void add_pool(const CardPool& pool, const std::string& prefix, Devices& devices) {
  std::vector<Card> all;
  for (size_t i = 0; i < pool.groups.size(); ++i) {
    const std::vector<Card>& group = pool.groups[i];
    // A number is a card's own on this host, whatever its pool.
    for (const Card& card : group)
      add_whole(pool.name, {card}, std::to_string(card.number), devices);
    add_whole(pool.name, group, str(prefix, "group", i), devices);
    all.insert(all.end(), group.begin(), group.end());
  }
  add_whole(pool.name, std::move(all), prefix + "all", devices);
}

Devices card_devices(const Inventory& inventory) {
  Devices devices;
  for (const CardPool& pool : inventory.cards) {
    const bool is_first = &pool == &inventory.cards.front();
    add_pool(pool, is_first ? "" : pool.name + ".", devices);
  }
  return devices;
}

Devices partition_devices(const Inventory& inventory) {
  Devices devices;
  for (const NamedPartition& partition : inventory.partitions) {
    const bool is_first = partition.pool == inventory.first_pool;
    const std::string name = str(is_first ? "" : partition.pool + ".", partition.name);
    Device device;
    device.request = {key_value("IPU_PARTITION", partition.name),
                      key_value("IPU_POOL", partition.pool)};
    device.environment = {"IPU_PARTITION=" + partition.name};
    devices.try_emplace(name, std::move(device));
  }
  return devices;
}

void add_file(std::string_view name, const char* kind, Devices devices, const std::string& program,
              Files& made) {
  for (auto device = devices.begin(); device != devices.end();) {
    if (is_device_name(device->first)) {
      ++device;
    } else {
      made.unnamed.push_back(str(kind, '=', device->first));
      device = devices.erase(device);
    }
  }
  made.files.push_back({std::string(name), text_of(kind, devices, program)});
}

}  // namespace

Files make_files(const Inventory& inventory, const std::string& hook_program) {
  Files made;
  add_file(kFileNames[0], "graphcore.ai/ipu", card_devices(inventory), hook_program, made);
  add_file(kFileNames[1], "graphcore.ai/partition", partition_devices(inventory), hook_program,
           made);
  return made;
}

}  // namespace hook::cdi
