// SPDX-License-Identifier: Apache-2.0
#include "hook/container/plan/orders.h"

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::plan {

using namespace base::names;
using base::Json;

namespace {

std::string_view text_of(netns::FilterPlace place) {
  switch (place) {
    case netns::FilterPlace::kAuto:
      return "auto";
    case netns::FilterPlace::kHost:
      return "host";
    case netns::FilterPlace::kNftables:
      return "nftables";
    case netns::FilterPlace::kTc:
      return "tc";
    case netns::FilterPlace::kNamespace:
      return "namespace";
  }
  return "";
}

// Orders of an earlier release name no border.
Status parse_border(const Json& json, AttachOrders& orders) {
  if (!json.contains("filter")) return {};
  const std::string filter = TRY(base::get_string(json, "filter", kOrdersFile));
  using netns::FilterPlace;
  for (const auto place :
       {FilterPlace::kAuto, FilterPlace::kHost, FilterPlace::kNftables, FilterPlace::kTc}) {
    if (filter == text_of(place)) orders.filter = place;
  }
  const auto parents = json.find("parents");
  if (parents == json.end() || !parents->is_object()) {
    return Error(Code::kInvalid,
                 base::str(kOrdersFile, ": key ", base::quote("parents"), " must be an object"));
  }
  for (const auto& [name, others] : parents->items()) {
    orders.parents.push_back(
        {name, others == "drop" ? netns::Others::kDrop : netns::Others::kPass});
  }
  return {};
}

}  // namespace

std::string to_text(const AttachOrders& orders) {
  Json json = {{"gid_wait_ms", orders.gid_wait.count()},
               {"probe_ms", orders.probe.count()},
               {"filter", text_of(orders.filter)},
               {"parents", Json::object()},
               {"ports", Json::array()}};
  for (const netns::BorderParent& parent : orders.parents) {
    json["parents"][parent.name] = parent.others == netns::Others::kDrop ? "drop" : "pass";
  }
  for (const AttachOrders::Port& port : orders.ports) {
    json["ports"].push_back(
        {{"interface", port.interface}, {"device", port.device}, {"port", port.port}});
  }
  return base::to_pretty_text(json);
}

namespace {

Result<AttachOrders::Port> parse_port(const Json& json) {
  AttachOrders::Port port;
  port.interface = TRY(base::get_string(json, "interface", kOrdersFile));
  port.device = TRY(base::get_string(json, "device", kOrdersFile));
  port.port = static_cast<uint32_t>(TRY(base::get_int(json, "port", kOrdersFile)));
  return port;
}

}  // namespace

Result<AttachOrders> parse_orders(const std::string& text) {
  const Json json = TRY(base::parse_json(text, kOrdersFile));
  AttachOrders orders;
  orders.gid_wait = std::chrono::milliseconds(TRY(base::get_int(json, "gid_wait_ms", kOrdersFile)));
  orders.probe = std::chrono::milliseconds(TRY(base::get_int(json, "probe_ms", kOrdersFile)));
  TRY(parse_border(json, orders));
  const auto ports = json.find("ports");
  if (ports == json.end() || !ports->is_array()) {
    return Error(Code::kInvalid,
                 base::str(kOrdersFile, ": key ", base::quote("ports"), " must be a list"));
  }
  for (const Json& port : *ports) orders.ports.push_back(TRY(parse_port(port)));
  return orders;
}

std::string to_text(const ProbeReport& report) {
  Json json = Json::object();
  for (const auto& [interface, mac] : report) json[interface] = netns::to_string(mac);
  return base::to_pretty_text(json);
}

Result<ProbeReport> parse_probe_report(const std::string& text) {
  const Json json = TRY(base::parse_json(text, kProbeFile));
  ProbeReport report;
  for (const auto& [interface, value] : json.items()) {
    const std::string mac = TRY(base::get_string(json, interface.c_str(), kProbeFile));
    report[interface] = TRY_CTX(kProbeFile, netns::parse_mac(mac));
  }
  return report;
}

}  // namespace hook::plan
