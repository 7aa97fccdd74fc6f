// SPDX-License-Identifier: Apache-2.0
#include "vipu/busy.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "vipu/wire_fields.h"

namespace vipu {
namespace {

using base::Json;
using namespace base::names;
using wire::Fields;

constexpr size_t kMostIpus = 4096;
constexpr size_t kLongestName = 256;
constexpr uint32_t kHundredPercent = 10'000;  // in hundredths of a percent

Status add(BusyParts& parts, const std::string& ipu, double part) {
  if (ipu.empty()) return Error(Code::kInvalid, "output: the name of an IPU is empty");
  if (parts.emplace(ipu, part).second) return {};
  return Error(Code::kInvalid, str("output: IPU ", quote(ipu), " is there twice"));
}

Result<BusyParts> read_own_form(const Fields& fields) {
  BusyParts parts;
  const Json* const listed = TRY(fields.array("ipus", kMostIpus));
  for (const Json& json : *listed) {
    const Fields ipu = TRY(Fields::open(json, "IPU"));
    const std::string name = TRY(ipu.text("ipu", kLongestName));
    const double part = TRY(ipu.part("busy"));
    TRY(add(parts, name, part));
  }
  return parts;
}

// Reads "12.50%".
Result<double> parse_percent(const Fields& device) {
  constexpr const char* kKey = "ipu utilisation";
  const std::string text = TRY(device.text(kKey, kLongestName));
  const Error wrong = device.wrong(kKey, "a text from \"0.00%\" to \"100.00%\"");
  const size_t dot = text.find('.');
  const bool has_form = dot != std::string::npos && text.size() == dot + 4 && text.back() == '%';
  if (!has_form) return wrong;
  const Result<uint32_t> number =
      base::parse_int<uint32_t>(text.substr(0, dot) + text.substr(dot + 1, 2), 0, kHundredPercent);
  if (!number.ok()) return wrong;
  return static_cast<double>(number.value()) / kHundredPercent;
}

Result<BusyParts> read_gc_inventory(const Fields& fields) {
  BusyParts parts;
  const Json* const devices = TRY(fields.array("devices", kMostIpus));
  for (const Json& json : *devices) {
    const Fields device = TRY(Fields::open(json, "device"));
    if (!device.has("pci id")) continue;
    const std::string name = TRY(device.text("pci id", kLongestName));
    const double part = TRY(parse_percent(device));
    TRY(add(parts, name, part));
  }
  if (!parts.empty()) return parts;
  return Error(Code::kInvalid,
               "output: 'gc-inventory -j' lists no card with a \"pci id\"; for IPUs of a fabric, "
               "print {\"ipus\":[{\"ipu\":\"IP:DEVICE_ID\",\"busy\":0.5}]}");
}

}  // namespace

Result<BusyParts> parse_busy(std::string_view text) {
  const Json json = TRY(base::parse_json(text, "output"));
  const Fields fields = TRY(Fields::open(json, "output"));
  if (fields.has("devices")) return read_gc_inventory(fields);
  if (!fields.has("cards")) return read_own_form(fields);
  return Error(Code::kInvalid,
               "output: 'gc-monitor -j' does not say how busy IPUs are; print "
               "{\"ipus\":[{\"ipu\":\"IP:DEVICE_ID\",\"busy\":0.5}]}");
}

}  // namespace vipu
