// SPDX-License-Identifier: Apache-2.0
// The requests of a Batch.
#include "netns/internal/nft.h"

// First, so that the kernel's own definitions give way.
#include <netinet/in.h>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "base/text.h"

namespace netns::nft {

using namespace base::names;
using nl::Message;

namespace {

// A key with its attributes takes at most 32 bytes; the keys of one request must fit 64 KiB.
constexpr size_t kKeyBytes = 32;
constexpr size_t kKeysPerRequest = 1500;

// nft(8)'s display types, one for each part of a key, six bits each.
constexpr uint32_t kIpv4Type = 7;
constexpr uint32_t kIpv6Type = 8;
constexpr uint32_t kPortType = 13;
constexpr uint32_t kTypeBits = 6;

uint32_t type_of(KeyKind kind, Family family) {
  const uint32_t address = family == Family::kIpv4 ? kIpv4Type : kIpv6Type;
  return kind == KeyKind::kAddress ? address : address << kTypeBits | kPortType;
}

uint32_t length_of(KeyKind kind, Family family) {
  const uint32_t address = family == Family::kIpv4 ? 4 : 16;
  return kind == KeyKind::kAddress ? address : address + 4;
}

Message control(int type) {
  Message message(type, 0, "change the packet filter");
  message.header(nfgenmsg{
      .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)});
  return message;
}

void put_key(Message& message, const std::vector<uint8_t>& key) {
  message.nest(NFTA_LIST_ELEM, [&] {
    message.nest(NFTA_SET_ELEM_KEY,
                 [&] { message.put_bytes(NFTA_DATA_VALUE, key.data(), key.size()); });
  });
}

}  // namespace

Message request(int type, int flags, uint8_t family, std::string what, size_t capacity) {
  Message message(NFNL_SUBSYS_NFTABLES << 8 | type, flags, std::move(what), capacity);
  message.header(nfgenmsg{.nfgen_family = family, .version = NFNETLINK_V0, .res_id = 0});
  return message;
}

Batch::Batch() { messages_.push_back(control(NFNL_MSG_BATCH_BEGIN)); }

void Batch::remove_table(const Table& table) {
  Message message = request(NFT_MSG_DELTABLE, 0, table.family,
                            str("remove filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_TABLE_NAME, table.name);
  messages_.push_back(std::move(message));
}

void Batch::make_table(const Table& table, int flags) {
  Message message = request(NFT_MSG_NEWTABLE, NLM_F_CREATE | flags, table.family,
                            str("add filter table ", quote(table.name)), kRequestBytes);
  message.put_text(NFTA_TABLE_NAME, table.name);
  messages_.push_back(std::move(message));
}

void Batch::add_table(const Table& table, IfExists if_exists) {
  if (if_exists == IfExists::kReplace) {
    // Made first, which does nothing if it exists: removing an absent table would fail.
    make_table(table, 0);
    remove_table(table);
  }
  make_table(table, NLM_F_EXCL);
}

void Batch::add_chain(const Table& table, const std::string& chain, uint32_t hook) {
  Message message = request(NFT_MSG_NEWCHAIN, NLM_F_CREATE, table.family,
                            str("add filter chain ", quote(chain)), kRequestBytes);
  message.put_text(NFTA_CHAIN_TABLE, table.name);
  message.put_text(NFTA_CHAIN_NAME, chain);
  message.nest(NFTA_CHAIN_HOOK, [&] {
    message.put_be32(NFTA_HOOK_HOOKNUM, hook);
    message.put_be32(NFTA_HOOK_PRIORITY, 0);
  });
  message.put_be32(NFTA_CHAIN_POLICY, NF_ACCEPT);
  message.put_text(NFTA_CHAIN_TYPE, "filter");
  messages_.push_back(std::move(message));
}

Set Batch::add_set(const Table& table, const std::string& name, KeyKind kind, Family family,
                   const Keys& keys) {
  const Set set{name, ++sets_, family};
  Message message = request(NFT_MSG_NEWSET, NLM_F_CREATE, table.family,
                            str("add filter set ", quote(name)), kRequestBytes);
  message.put_text(NFTA_SET_TABLE, table.name);
  message.put_text(NFTA_SET_NAME, name);
  message.put_be32(NFTA_SET_FLAGS, 0);
  message.put_be32(NFTA_SET_KEY_TYPE, type_of(kind, family));
  message.put_be32(NFTA_SET_KEY_LEN, length_of(kind, family));
  message.put_be32(NFTA_SET_ID, set.id);
  messages_.push_back(std::move(message));
  const std::vector<std::vector<uint8_t>> all(keys.begin(), keys.end());
  for (size_t first = 0; first < all.size(); first += kKeysPerRequest) {
    const size_t count = std::min(kKeysPerRequest, all.size() - first);
    add_keys(table, set, std::span(all).subspan(first, count));
  }
  return set;
}

void Batch::add_keys(const Table& table, const Set& set,
                     std::span<const std::vector<uint8_t>> keys) {
  Message message =
      request(NFT_MSG_NEWSETELEM, NLM_F_CREATE, table.family,
              str("fill filter set ", quote(set.name)), kRequestBytes + keys.size() * kKeyBytes);
  message.put_text(NFTA_SET_ELEM_LIST_TABLE, table.name);
  message.put_text(NFTA_SET_ELEM_LIST_SET, set.name);
  message.put_be32(NFTA_SET_ELEM_LIST_SET_ID, set.id);
  message.nest(NFTA_SET_ELEM_LIST_ELEMENTS, [&] {
    for (const std::vector<uint8_t>& key : keys) put_key(message, key);
  });
  messages_.push_back(std::move(message));
}

Status Batch::commit(const Namespace& in) {
  // The kernel acknowledges the requests between the two ends of a transaction, not the ends.
  messages_.back().request_ack();
  messages_.push_back(control(NFNL_MSG_BATCH_END));
  nl::Socket socket = TRY(nl::Socket::open(in, NETLINK_NETFILTER));
  return socket.exchange(messages_);
}

std::vector<uint8_t> address_key(const Address& address) {
  return {address.raw().begin(), address.raw().end()};
}

std::vector<uint8_t> endpoint_key(const Address& address, uint16_t port) {
  std::vector<uint8_t> key = address_key(address);
  key.push_back(static_cast<uint8_t>(port >> 8));
  key.push_back(static_cast<uint8_t>(port & 0xff));
  key.resize(key.size() + 2);
  return key;
}

}  // namespace netns::nft
