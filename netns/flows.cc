// SPDX-License-Identifier: Apache-2.0
#include "netns/flows.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/internal/nl.h"

namespace netns {

using namespace base::names;
using nl::Attributes;

namespace {

constexpr size_t kMostFlows = 1000;

// One direction of a connection.
struct Tuple {
  Address source;
  Address destination;
  uint8_t protocol = 0;
  uint16_t source_port = 0;
};

std::optional<Address> address_in(const Attributes& ip, int ipv4_type, int ipv6_type) {
  const std::optional<Address> ipv4 = from_raw(ip.bytes(ipv4_type));
  return ipv4 ? ipv4 : from_raw(ip.bytes(ipv6_type));
}

uint16_t port_in(std::span<const uint8_t> bytes) {
  return bytes.size() < 2 ? uint16_t{0} : static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
}

std::optional<Tuple> tuple_in(const Attributes& connection, int type) {
  const Attributes tuple = connection.nested(type, CTA_TUPLE_MAX);
  const Attributes ip = tuple.nested(CTA_TUPLE_IP, CTA_IP_MAX);
  const Attributes protocol = tuple.nested(CTA_TUPLE_PROTO, CTA_PROTO_MAX);
  const std::optional<Address> source = address_in(ip, CTA_IP_V4_SRC, CTA_IP_V6_SRC);
  const std::optional<Address> destination = address_in(ip, CTA_IP_V4_DST, CTA_IP_V6_DST);
  const std::span<const uint8_t> number = protocol.bytes(CTA_PROTO_NUM);
  if (!source || !destination || number.empty()) return std::nullopt;
  return Tuple{*source, *destination, number.front(), port_in(protocol.bytes(CTA_PROTO_SRC_PORT))};
}

// The answers come from where the questions really go.
std::optional<Flow> flow_in(const nlmsghdr& reply) {
  const Attributes connection(reply, sizeof(nfgenmsg), CTA_MAX);
  const std::optional<Tuple> asked = tuple_in(connection, CTA_TUPLE_ORIG);
  const std::optional<Tuple> answered = tuple_in(connection, CTA_TUPLE_REPLY);
  if (!asked || !answered) return std::nullopt;
  return Flow{asked->source, answered->source, asked->protocol, answered->source_port};
}

bool is_in(const std::vector<Prefix>& prefixes, const Address& address) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const Prefix& prefix) { return prefix.contains(address); });
}

bool ends(const Guard& guard, const std::set<Address>& own, const Flow& flow) {
  const bool is_forwarded = !own.contains(flow.from) && !own.contains(flow.to);
  const bool is_allowed = is_in(guard.allowed, flow.from) || is_in(guard.allowed, flow.to);
  return is_forwarded && !is_allowed && is_in(guard.prefixes, flow.to);
}

std::string name_of(uint8_t protocol) {
  if (protocol == IPPROTO_TCP) return "tcp";
  if (protocol == IPPROTO_UDP) return "udp";
  return str("protocol ", protocol);
}

}  // namespace

std::string to_string(const Flow& flow) {
  return str(to_string(flow.from), " to ", to_string(flow.to), ' ', name_of(flow.protocol),
             flow.port == 0 ? "" : str(' ', flow.port));
}

Result<std::vector<Flow>> flows_to_end(const Namespace& host, const Guard& guard) {
  const std::vector<Address> addresses = TRY(addresses_of(host));
  const std::set<Address> own(addresses.begin(), addresses.end());
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_NETFILTER));
  nl::Message request(NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP,
                      "list what the host forwards");
  request.header(nfgenmsg{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = 0});
  std::set<Flow> flows;
  const Status listed = socket.exchange(request, [&](const nlmsghdr& reply) {
    const std::optional<Flow> flow = flow_in(reply);
    if (flow && flows.size() < kMostFlows && ends(guard, own, *flow)) flows.insert(*flow);
  });
  if (!listed.ok() && listed.error().sys_errno() == EINVAL)
    return Error(Code::kUnsupported, listed.error().message());
  TRY(listed);
  return std::vector<Flow>(flows.begin(), flows.end());
}

}  // namespace netns
