// SPDX-License-Identifier: Apache-2.0
#include "netns/filter.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <linux/netfilter.h>
#include <linux/netfilter_arp.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>

#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nft.h"
#include "netns/internal/nft_table.h"

namespace netns {

using namespace base::names;
using base::Removed;
using nft::Batch;
using nft::KeyKind;
using nft::Rule;

namespace {

constexpr nft::Table kTable{NFPROTO_INET, "ipu"};
constexpr nft::Table kArpTable{NFPROTO_ARP, "ipu"};
constexpr const char* kOutput = "output";
constexpr const char* kInput = "input";
constexpr const char* kForward = "forward";
constexpr const char* kRefuse = "refuse";
constexpr uint16_t kRoceV2Port = 4791;
constexpr uint8_t kMldReport2 = 143;  // RFC 3810, 5.2

// One interface, with its peers as sets for the rules.
struct Rail {
  const RailPlan& plan;
  nft::Set endpoints;
  nft::Set addresses;
  [[nodiscard]] Family family() const { return plan.address.family; }
  [[nodiscard]] uint8_t icmp() const {
    return family() == Family::kIpv4 ? uint8_t{IPPROTO_ICMP} : uint8_t{IPPROTO_ICMPV6};
  }
};

Rail add_peers(Batch& batch, const RailPlan& plan) {
  nft::Keys endpoints;
  nft::Keys addresses;
  for (const Peer& peer : plan.peers) {
    if (peer.port != 0) endpoints.insert(nft::endpoint_key(peer.address, peer.port));
    addresses.insert(nft::address_key(peer.address));
  }
  Rail rail{plan, {}, {}};
  const Family family = rail.family();
  rail.endpoints = batch.add_set(kTable, str("endpoints-", plan.interface), KeyKind::kEndpoint,
                                 family, endpoints);
  rail.addresses =
      batch.add_set(kTable, str("peers-", plan.interface), KeyKind::kAddress, family, addresses);
  return rail;
}

// Adds the rules for joining and leaving groups, whose messages go to the groups themselves.
void add_group_membership(Batch& batch) {
  Rule igmp(kTable, kOutput);
  igmp.is_family(Family::kIpv4).is_protocol(IPPROTO_IGMP);
  batch.add_rule(std::move(igmp).accept());
  for (const auto& [first, last] :
       {std::pair<uint8_t, uint8_t>{MLD_LISTENER_QUERY, MLD_LISTENER_REDUCTION},
        std::pair<uint8_t, uint8_t>{kMldReport2, kMldReport2}}) {
    Rule mld(kTable, kOutput);
    mld.is_family(Family::kIpv6).is_protocol(IPPROTO_ICMPV6).has_icmp_type(first, last);
    batch.add_rule(std::move(mld).accept());
  }
}

Rule neighbour_discovery(const char* chain) {
  Rule rule(kTable, chain);
  rule.is_family(Family::kIpv6).is_protocol(IPPROTO_ICMPV6);
  rule.has_icmp_type(ND_ROUTER_SOLICIT, ND_NEIGHBOR_ADVERT);
  return rule;
}

// Adds the rules for what a RoCE interface sends. Connection tracking does not help here: it does
// not know by which interface a connection was made. The source is compared, because a socket may
// be bound to another address of the container, and with IPV6_FREEBIND to any address.
void add_rail_output(Batch& batch, const Rail& rail) {
  const auto rule = [&] {
    Rule sent(kTable, kOutput);
    sent.leaves_by(rail.plan.interface);
    return sent;
  };
  const auto from_own = [&](uint8_t protocol) {
    Rule sent = rule();
    sent.is_family(rail.family()).from_address(rail.plan.address).is_protocol(protocol);
    return sent;
  };
  batch.add_rule(std::move(from_own(IPPROTO_TCP).to_endpoint_in(rail.endpoints)).accept());
  batch.add_rule(
      std::move(from_own(IPPROTO_UDP).to_address_in(rail.addresses).to_port(kRoceV2Port)).accept());
  batch.add_rule(std::move(from_own(rail.icmp()).to_address_in(rail.addresses)).accept());
  if (rail.family() == Family::kIpv6) {
    // As with ARP (see add_arp), only peers may be asked for.
    Rule solicit = from_own(IPPROTO_ICMPV6);
    solicit.has_icmp_type(ND_NEIGHBOR_SOLICIT, ND_NEIGHBOR_SOLICIT).solicits_in(rail.addresses);
    batch.add_rule(std::move(solicit).accept());
    Rule advert = from_own(IPPROTO_ICMPV6);
    advert.has_icmp_type(ND_NEIGHBOR_ADVERT, ND_NEIGHBOR_ADVERT);
    batch.add_rule(std::move(advert).accept());
  }
  batch.add_rule(rule().jump(kRefuse));
}

// Refuses routing headers, which name a destination other than the first header's and need no
// privilege. (An IPv4 source route needs CAP_NET_RAW.)
void add_routing_headers(Batch& batch) {
  Rule sent(kTable, kOutput);
  sent.is_family(Family::kIpv6).has_header(IPPROTO_ROUTING);
  batch.add_rule(std::move(sent).drop());
}

// The answer to TCP is a reset, because the kernel reports an ICMP error to a pending connect(2)
// only at the first retransmission, a second later.
void add_refuse(Batch& batch) {
  batch.add_chain(kTable, kRefuse);
  Rule tcp(kTable, kRefuse);
  batch.add_rule(std::move(tcp.is_protocol(IPPROTO_TCP)).reset_tcp());
  batch.add_rule(Rule(kTable, kRefuse).reject());
}

// Refuses packets to PREFIXES: a set and a rule for each family, however many prefixes there are.
void add_refusals(Batch& batch, const std::string& name, const std::set<Prefix>& prefixes) {
  std::map<Family, std::vector<Prefix>> by_family;
  for (const Prefix& prefix : prefixes) by_family[prefix.address.family].push_back(prefix);
  for (const auto& [family, networks] : by_family) {
    const std::string set_name = str(name, family == Family::kIpv4 ? "-ipv4" : "-ipv6");
    const nft::Set set = batch.add_networks(kTable, set_name, family, networks);
    Rule sent(kTable, kOutput);
    batch.add_rule(std::move(sent.is_family(family).to_address_in(set)).jump(kRefuse));
  }
}

// Accepts peers before it refuses the prohibited prefixes, which contain them, and accepts answers
// before it refuses the guarded prefixes, which may be answered, unlike the prohibited and the
// broadcasts. Other interfaces keep their neighbour discovery, which reaches only the link: their
// gateway may be guarded.
void add_output(Batch& batch, const std::vector<Rail>& rails, const NetworkPlan& plan) {
  add_refuse(batch);
  batch.add_chain(kTable, kOutput, NF_INET_LOCAL_OUT);
  Rule loopback(kTable, kOutput);
  batch.add_rule(std::move(loopback.leaves_by("lo")).accept());
  add_routing_headers(batch);
  for (const Rail& rail : rails) add_rail_output(batch, rail);
  batch.add_rule(neighbour_discovery(kOutput).accept());
  add_group_membership(batch);
  std::set<Prefix> prohibited(plan.prohibited.begin(), plan.prohibited.end());
  prohibited.insert(plan.broadcasts.begin(), plan.broadcasts.end());
  add_refusals(batch, "prohibited", prohibited);
  Rule answer(kTable, kOutput);
  batch.add_rule(std::move(answer.is_established().is_answer()).accept());
  add_refusals(batch, "guarded", {plan.guarded.begin(), plan.guarded.end()});
}

void add_rail_input(Batch& batch, const Rail& rail) {
  const auto to_own = [&](uint8_t protocol) {
    Rule received(kTable, kInput);
    received.arrives_by(rail.plan.interface).is_family(rail.family());
    received.to_address(rail.plan.address).is_protocol(protocol);
    return received;
  };
  batch.add_rule(
      std::move(to_own(IPPROTO_TCP).from_endpoint_in(rail.endpoints).is_established()).accept());
  batch.add_rule(
      std::move(to_own(IPPROTO_UDP).from_address_in(rail.addresses).to_port(kRoceV2Port)).accept());
  batch.add_rule(std::move(to_own(rail.icmp()).from_address_in(rail.addresses)).accept());
  if (rail.family() == Family::kIpv6) {
    Rule solicited = neighbour_discovery(kInput);
    batch.add_rule(std::move(solicited.arrives_by(rail.plan.interface)).accept());
  }
  Rule other(kTable, kInput);
  batch.add_rule(std::move(other.arrives_by(rail.plan.interface)).drop());
}

void add_rail_forward(Batch& batch, const Rail& rail) {
  Rule from(kTable, kForward);
  batch.add_rule(std::move(from.arrives_by(rail.plan.interface)).drop());
  Rule to(kTable, kForward);
  batch.add_rule(std::move(to.leaves_by(rail.plan.interface)).drop());
}

// Allows ARP requests on the fabric only for peers. This confines RDMA, whose packets bypass the
// table above: without the MAC of its peer, the kernel makes no connection. The routes alone do not
// confine it: if a program binds rdma_cm to the interface's address, every destination counts as
// on-link, as with SO_BINDTODEVICE. The interface may also announce its own address, and answer any
// host that asks for it, even one that looks for duplicates.
void add_arp(Batch& batch, const NetworkPlan& plan) {
  batch.add_chain(kArpTable, kOutput, NF_ARP_OUT);
  for (const RailPlan& rail : plan.rails) {
    const auto sent = [&] {
      Rule rule(kArpTable, kOutput);
      rule.leaves_by(rail.interface);
      return rule;
    };
    const auto from_own = [&](uint16_t operation) {
      Rule rule = sent();
      rule.is_arp(operation).arp_sender_is(rail.address);
      return rule;
    };
    if (rail.address.is_ipv4()) {
      nft::Keys peers;
      for (const Peer& peer : rail.peers) peers.insert(nft::address_key(peer.address));
      const nft::Set set = batch.add_set(kArpTable, str("peers-", rail.interface),
                                         KeyKind::kAddress, Family::kIpv4, peers);
      batch.add_rule(std::move(from_own(ARPOP_REQUEST).arp_target_in(set)).accept());
      batch.add_rule(std::move(from_own(ARPOP_REQUEST).arp_target_is(rail.address)).accept());
      batch.add_rule(from_own(ARPOP_REPLY).accept());
    }
    batch.add_rule(sent().drop());
  }
}

Status install(const NetworkPlan& plan, nl::Socket& target, nft::IfExists if_exists) {
  Batch batch;
  batch.add_table(kTable, if_exists);
  std::vector<Rail> rails;
  for (const RailPlan& rail : plan.rails) rails.push_back(add_peers(batch, rail));
  add_output(batch, rails, plan);
  batch.add_chain(kTable, kInput, NF_INET_LOCAL_IN);
  for (const Rail& rail : rails) add_rail_input(batch, rail);
  batch.add_chain(kTable, kForward, NF_INET_FORWARD);
  for (const Rail& rail : rails) add_rail_forward(batch, rail);
  batch.add_table(kArpTable, if_exists);
  add_arp(batch, plan);
  return batch.commit(target);
}

}  // namespace

Status install_filter(const NetworkPlan& plan, const Namespace& target) {
  Result<nl::Socket> socket = nl::Socket::open(target, NETLINK_NETFILTER);
  if (!socket.ok()) return explain_filter(socket.error());
  return install_filter(plan, socket.value());
}

Status install_filter(const NetworkPlan& plan, nl::Socket& target) {
  // Immediate replacement would work, but a transaction that removes anything, even its own, costs
  // an RCU grace period: 12 ms instead of 0.2 ms.
  Status status = install(plan, target, nft::IfExists::kFail);
  if (!status.ok() && status.error().sys_errno() == EEXIST) {
    status = install(plan, target, nft::IfExists::kReplace);
  }
  if (status.ok()) return status;
  return explain_filter(status.error());
}

Error explain_filter(const Error& error) {
  if (!nft::is_missing(error.sys_errno())) return error;
  return {Code::kUnsupported,
          str("this kernel cannot filter what a container sends to the fabric; load the modules "
              "nf_tables, nft_ct and nft_reject_inet (",
              error.message(), ')')};
}

Result<Removed> remove_filter(const Namespace& target) {
  return nft::remove_tables(target, {kTable, kArpTable});
}

}  // namespace netns
