// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/record.h"

#include <algorithm>
#include <optional>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Json;

constexpr std::string_view kWhat = "record of a lease";

// Reads members of one object. Keeps only the first error.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  std::string text(const char* key) {
    Result<std::string> value = base::get_string(object_, key, kWhat);
    if (value.ok()) return std::move(value).take();
    return fail(std::move(value).error()), std::string();
  }
  template <typename T>
  T number(const char* key) {
    const Result<int64_t> value = base::get_int(object_, key, kWhat);
    if (value.ok()) return static_cast<T>(value.value());
    return fail(value.error()), T();
  }
  template <typename T>
  T parsed(const char* key, Result<T> (*parse)(std::string_view)) {
    Result<T> value = parse(text(key));
    if (value.ok()) return std::move(value).take();
    return fail(std::move(value).error()), T();
  }
  template <typename T>
  T one_of(const char* key, std::initializer_list<T> values) {
    const std::string name = text(key);
    for (const T value : values) {
      if (name == name_of(value)) return value;
    }
    return fail(Error(Code::kInvalid, base::str(kWhat, ": unknown ", base::quote(name)))), T();
  }
  // Returns the objects of the array KEY.
  template <typename T>
  std::vector<T> list(const char* key, T (*read)(Reader&)) {
    std::vector<T> values;
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_array()) {
      fail(Error(Code::kInvalid, base::str(kWhat, ": key '", key, "' must be a list")));
      return values;
    }
    for (const Json& element : *found) {
      Reader reader(element);
      values.push_back(read(reader));
      if (reader.error_) fail(*reader.error_);
    }
    return values;
  }
  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void fail(Error error) {
    if (!error_) error_.emplace(std::move(error));
  }
  const Json& object_;
  std::optional<Error> error_;
};

// Keeps the bits: JSON readers accept only signed integers.
int64_t as_signed(uint64_t value) { return static_cast<int64_t>(value); }

Json to_json(const netns::Prefix& prefix) { return {{"prefix", netns::to_string(prefix)}}; }
netns::Prefix read_prefix(Reader& reader) {
  return reader.parsed<netns::Prefix>("prefix", netns::parse_prefix);
}

Json to_json(const netns::Peer& peer) {
  return {{"address", netns::to_string(peer.address)}, {"port", peer.port}};
}
netns::Peer read_peer(Reader& reader) {
  netns::Peer peer;
  peer.address = reader.parsed<netns::Address>("address", netns::parse_address);
  peer.port = reader.number<uint16_t>("port");
  return peer;
}

Json to_json(const LeasedIpu& ipu) {
  return {{"address", netns::to_string(ipu.address)},
          {"device", ipu.device},
          {"server_port", ipu.server_port},
          {"rdma_port", ipu.rdma_port}};
}
LeasedIpu read_ipu(Reader& reader) {
  LeasedIpu ipu;
  ipu.address = reader.parsed<netns::Address>("address", netns::parse_address);
  ipu.device = reader.number<uint32_t>("device");
  ipu.server_port = reader.number<uint16_t>("server_port");
  ipu.rdma_port = reader.number<uint16_t>("rdma_port");
  return ipu;
}

Json to_json(const RailLease& rail);

template <typename T>
Json to_array(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

Json to_json(const RailLease& rail) {
  return {{"function", rail.kind == netns::LinkKind::kFunction ? 1 : 0},
          {"parent", rail.parent},
          {"rdma_device", rail.rdma_device},
          {"bridge", rail.mode == netns::MacvlanMode::kBridge ? 1 : 0},
          {"mtu", rail.mtu},
          {"interface", rail.interface},
          {"address", netns::to_string(rail.address)},
          {"mac", netns::to_string(rail.mac)},
          {"subnet", netns::to_string(rail.subnet)},
          {"peers", to_array(rail.peers)},
          {"by_ipu", rail.by_ipu ? 1 : 0}};
}
RailLease read_rail(Reader& reader) {
  RailLease rail;
  if (reader.number<int>("function") != 0) rail.kind = netns::LinkKind::kFunction;
  if (reader.number<int>("bridge") != 0) rail.mode = netns::MacvlanMode::kBridge;
  rail.parent = reader.text("parent");
  rail.rdma_device = reader.text("rdma_device");
  rail.mtu = reader.number<uint32_t>("mtu");
  rail.interface = reader.text("interface");
  rail.address = reader.parsed<netns::Address>("address", netns::parse_address);
  rail.mac = reader.parsed<netns::MacAddress>("mac", netns::parse_mac);
  rail.subnet = reader.parsed<netns::Prefix>("subnet", netns::parse_prefix);
  rail.peers = reader.list<netns::Peer>("peers", read_peer);
  if (reader.has("by_ipu")) rail.by_ipu = reader.number<int>("by_ipu") != 0;  // not in earlier ones
  return rail;
}

void read_identity(Reader& reader, Lease& lease) {
  lease.owner = {reader.number<pid_t>("pid"), reader.number<uint64_t>("pid_start"),
                 reader.number<uint64_t>("pid_namespace")};
  lease.boot_id = reader.text("boot");
  lease.netns = {reader.number<uint64_t>("netns_device"), reader.number<uint64_t>("netns_inode"),
                 reader.number<uint64_t>("netns_cookie")};
  lease.netns_id = reader.number<int32_t>("netns_id");
  lease.host_netns_cookie = reader.number<uint64_t>("host_netns_cookie");
  lease.attachment = reader.text("attachment");
  lease.state_dir = reader.text("state_dir");
  lease.cgroup = reader.text("cgroup");
}

void read_partition(Reader& reader, Lease& lease) {
  lease.pool = reader.text("pool");
  lease.controller = reader.text("controller");
  lease.partition = reader.text("partition");
  lease.gcd = reader.number<uint32_t>("gcd");
  // Earlier builds write none. Never 0, by which others divide.
  if (reader.has("gcds")) lease.gcds = std::max(1U, reader.number<uint32_t>("gcds"));
  lease.origin = reader.one_of<Origin>(
      "origin", {Origin::kOwn, Origin::kNamed, Origin::kShared, Origin::kForeign, Origin::kJoined});
  lease.ipus = reader.number<uint32_t>("ipus");
  if (reader.has("claim")) lease.claim = reader.text("claim");  // not in earlier ones
  if (reader.has("fleet")) lease.fleet = reader.text("fleet");
}

}  // namespace

std::string to_record(const Lease& lease) {
  const Json record = {{"version", 1},
                       {"lease", lease.id},
                       {"container", lease.container},
                       {"bundle", lease.bundle},
                       {"tenant", lease.tenant},
                       {"pool", lease.pool},
                       {"controller", lease.controller},
                       {"partition", lease.partition},
                       {"gcd", lease.gcd},
                       {"gcds", lease.gcds},
                       {"origin", name_of(lease.origin)},
                       {"ipus", lease.ipus},
                       {"claim", lease.claim},
                       {"fleet", lease.fleet},
                       {"state", name_of(lease.state)},
                       {"generation", lease.generation},
                       {"pid", lease.owner.pid},
                       {"pid_start", as_signed(lease.owner.start_time)},
                       {"pid_namespace", as_signed(lease.owner.pid_namespace)},
                       {"boot", lease.boot_id},
                       {"netns_device", as_signed(lease.netns.device)},
                       {"netns_inode", as_signed(lease.netns.inode)},
                       {"netns_cookie", as_signed(lease.netns.cookie)},
                       {"netns_id", lease.netns_id},
                       {"host_netns_cookie", as_signed(lease.host_netns_cookie)},
                       {"attachment", lease.attachment},
                       {"state_dir", lease.state_dir},
                       {"cgroup", lease.cgroup},
                       {"created_ms", lease.created_ms},
                       {"prohibited", to_array(lease.prohibited)},
                       {"rails", to_array(lease.rails)},
                       {"devices", to_array(lease.devices)}};
  return base::to_text(record) + "\n";
}

Result<Lease> parse_record(std::string_view text) {
  const Json record = TRY(base::parse_json(text, kWhat));
  if (!record.is_object()) return Error(Code::kInvalid, base::str(kWhat, ": must be an object"));
  Reader reader(record);
  Lease lease;
  lease.id = reader.text("lease");
  lease.container = reader.text("container");
  lease.bundle = reader.text("bundle");
  lease.tenant = reader.text("tenant");
  read_partition(reader, lease);
  lease.state = reader.one_of<LeaseState>(
      "state", {LeaseState::kIntent, LeaseState::kAllocated, LeaseState::kRunning});
  lease.generation = reader.number<int64_t>("generation");
  lease.created_ms = lease.changed_ms = reader.number<int64_t>("created_ms");
  read_identity(reader, lease);
  lease.prohibited = reader.list<netns::Prefix>("prohibited", read_prefix);
  lease.rails = reader.list<RailLease>("rails", read_rail);
  lease.devices = reader.list<LeasedIpu>("devices", read_ipu);
  if (reader.error()) return *reader.error();
  if (is_lease_id(lease.id)) return lease;
  return Error(Code::kInvalid,
               base::str(kWhat, ": ", base::quote(lease.id), " is not the id of a lease"));
}

}  // namespace hook::ledger
