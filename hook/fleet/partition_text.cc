// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/partition_text.h"

#include <map>
#include <set>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/keys.h"
#include "vipu/wire_fields.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using base::Json;
using vipu::wire::Fields;

constexpr const char* kRecord = "record";
constexpr const char* kClaims = "claims";
constexpr size_t kMostAddresses = 256;  // of one container: far more than there are rails

const std::vector<std::string>& phase_names() {
  static const std::vector<std::string> kNames = {"MAKING", "READY", "REMOVING", "LEFT"};
  return kNames;
}

Result<PartitionView> read_partition(const Json& json) {
  const Fields fields = TRY(Fields::open(json, "partition"));
  PartitionView view;
  view.facts.maker = TRY(fields.text("maker", kMaxWord));
  view.facts.source = TRY(fields.text("source", kMaxWord));
  view.facts.ipus = TRY(fields.number("ipus", 1, kMostIpus));
  view.facts.gcds = TRY(fields.number("gcds", 1, kMostIpus));
  view.facts.shared = TRY(read_flag(fields, "shared"));
  view.facts.reconfigurable = TRY(read_flag(fields, "reconfigurable"));
  view.facts.adopted = TRY(read_flag(fields, "adopted"));
  view.phase = static_cast<PartitionPhase>(TRY(fields.choice("phase", phase_names())));
  view.changer = TRY(fields.text("changer", kMaxWord));
  view.dirty = TRY(read_flag(fields, "dirty"));
  view.resetter = TRY(fields.text("resetter", kMaxWord));
  return view;
}

Result<Claim> read_claim(const Json& json, const std::string& id, int64_t modified) {
  const Fields fields = TRY(Fields::open(json, "claim"));
  Claim claim;
  claim.id = id;
  claim.host = TRY(fields.text("host", kMaxWord));
  claim.container = TRY(fields.text("container", kMaxWord));
  claim.process = TRY(fields.text("process", kMaxWord));
  claim.gcd = TRY(fields.number("gcd", 0, kMostIpus));
  claim.gcds = TRY(fields.number("gcds", 1, kMostIpus));
  claim.uses = TRY(read_flag(fields, "uses"));
  claim.modified = modified;
  // A claim of an earlier release has none of these.
  if (fields.has("tenant")) claim.tenant = TRY(fields.text("tenant", kMaxWord));
  if (fields.has("since_ms")) claim.since_ms = TRY(fields.large_number("since_ms", kLatestMs));
  claim.addresses.reset();
  if (fields.has("addresses"))
    claim.addresses = TRY(fields.texts("addresses", kMostAddresses, kMaxWord));
  return claim;
}

// Adds KEY, whose name has PARTS below PREFIX partitions/POOL/NAME/, to VIEW.
Status add_key(const KeyValue& key, const std::vector<std::string_view>& parts,
               PartitionView& view) {
  const Json json = TRY(base::parse_json(key.value, "partition"));
  if (parts.size() == 3 && parts[2] == kRecord) {
    PartitionView read = TRY(read_partition(json));
    read.name = view.name;
    read.claims = std::move(view.claims);
    read.modified = key.modified;
    view = std::move(read);
    return {};
  }
  if (parts.size() != 4 || parts[2] != kClaims) return Error(Code::kInvalid, "no such key");
  view.claims.push_back(TRY(read_claim(json, std::string(parts[3]), key.modified)));
  return {};
}

std::string all_partitions(const std::string& prefix) { return prefix + "partitions/"; }

}  // namespace

std::string partition_prefix(const std::string& prefix, const PartitionName& name) {
  return str(all_partitions(prefix), name.pool, '/', name.name, '/');
}

std::string record_key(const std::string& prefix, const PartitionName& name) {
  return partition_prefix(prefix, name) + kRecord;
}

std::string claim_key(const std::string& prefix, const PartitionName& name, const std::string& id) {
  return str(partition_prefix(prefix, name), kClaims, '/', id);
}

std::string record_text(const PartitionView& view) {
  return base::to_text(Json{{"maker", view.facts.maker},
                            {"source", view.facts.source},
                            {"ipus", view.facts.ipus},
                            {"gcds", view.facts.gcds},
                            {"shared", view.facts.shared},
                            {"reconfigurable", view.facts.reconfigurable},
                            {"adopted", view.facts.adopted},
                            {"phase", phase_names()[static_cast<size_t>(view.phase)]},
                            {"changer", view.changer},
                            {"dirty", view.dirty},
                            {"resetter", view.resetter}});
}

std::string claim_text(const Claim& claim) {
  Json json{{"host", claim.host},     {"container", claim.container}, {"process", claim.process},
            {"gcd", claim.gcd},       {"gcds", claim.gcds},           {"uses", claim.uses},
            {"tenant", claim.tenant}, {"since_ms", claim.since_ms}};
  if (claim.addresses) json["addresses"] = *claim.addresses;
  return base::to_text(json);
}

std::vector<PartitionView> parse_partitions(const std::string& prefix, const Listing& listing,
                                            std::vector<base::Error>& obstacles) {
  const std::string all = all_partitions(prefix);
  std::map<std::string, PartitionView> views;
  std::set<std::string> broken;
  for (const KeyValue& key : listing.keys) {
    const std::vector<std::string_view> parts =
        base::split(std::string_view(key.key).substr(all.size()), '/');
    const std::string which = parts.size() < 2 ? key.key : str(parts[0], '/', parts[1]);
    PartitionView& view = views[which];
    if (parts.size() >= 2) view.name = {std::string(parts[0]), std::string(parts[1])};
    if (add_key(key, parts, view).ok()) continue;
    obstacles.push_back(something_else(key.key));
    broken.insert(which);
  }
  std::vector<PartitionView> found;
  for (auto& [which, view] : views) {
    view.revision = listing.revision;
    if (!broken.contains(which)) found.push_back(std::move(view));
  }
  return found;
}

std::string text_of(const PartitionName& name) {
  return str("partition ", quote(name.name), " of pool ", quote(name.pool));
}

Status check_ready(const PartitionView& view) {
  if (view.phase == PartitionPhase::kReady) return {};
  if (view.phase == PartitionPhase::kLeft) {
    return Error(Code::kBusy, str(text_of(view.name), " is alone that of host ", view.changer,
                                  ", which left the fleet with it; choose another name, or run"
                                  " 'ipuctl host forget ",
                                  view.changer, "' when the partition is gone"));
  }
  const bool is_made = view.phase == PartitionPhase::kRemoving;
  return Error(
      Code::kBusy,
      str(text_of(view.name), " is being ", is_made ? "removed" : "made", " by host ", view.changer,
          "; if that takes long, run 'ipuctl partition remove ", view.name.name,
          "' there, or 'ipuctl host fence ", view.changer, "' if that host is dead"));
}

std::string holder_text(const Claim& claim) {
  if (!claim.process.empty()) return str("a reset on host ", claim.host);
  return str("container ", base::short_id(claim.container), " on host ", claim.host,
             claim.gcds == 1 ? str(" (GCD ", claim.gcd, ")") : str(" (", claim.gcds, " GCDs)"));
}

Error claimed(const PartitionName& name, const std::vector<Claim>& claims) {
  std::string text;
  for (const Claim& one : claims) {
    text += str(text.empty() ? "" : ", ", holder_text(one));
  }
  return {Code::kBusy, str("partition ", quote(name.name), " is in use in the fleet by ", text,
                           "; see 'ipuctl partition show ", name.name, "'")};
}

}  // namespace hook::fleet
